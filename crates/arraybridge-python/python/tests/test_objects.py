"""Objects of other libraries: what is read of them, and what is refused rather than changed."""

import numpy as np
import pytest
from conftest import NUMPY_2

import arraybridge_rs as ab


def holder(**attributes):
    return type("Holder", (), attributes)()


def test_lazy_views_of_torch_are_refused_rather_than_read_without_their_meaning(package):
    torch = package("torch")
    conjugate = torch.tensor([1 + 2j, 3 - 4j]).conj()
    for tensor, remedy in [
        (conjugate, "resolve_conj"),
        (conjugate.imag, "resolve_neg"),
        (torch.ones(3, requires_grad=True), "detach"),
        (torch.nn.Parameter(torch.ones(3)), "detach"),
        (torch.ones(3, requires_grad=True) * 2, "detach"),
    ]:
        for read in (ab.Array, lambda tensor: ab.convert(tensor, "ndarray")):
            with pytest.raises(BufferError, match=remedy):
                read(tensor)
    resolved = ab.convert(conjugate.resolve_conj(), "ndarray")
    assert np.asarray(resolved).tolist() == [1 - 2j, 3 + 4j]
    imaginary = ab.convert(conjugate.imag.resolve_neg(), "ndarray")
    assert np.asarray(imaginary).tolist() == [-2, 4]
    array = ab.Array(torch.ones(2))
    array.unwrap().requires_grad_()
    with pytest.raises(BufferError, match="detach"):
        np.asarray(array.to("ndarray"))


def test_sparse_and_masked_tensors_are_refused(package):
    torch = package("torch")
    from torch.masked import masked_tensor

    for tensor in (torch.eye(3).to_sparse(), masked_tensor(torch.ones(2), torch.tensor([True, False]))):
        with pytest.raises((BufferError, RuntimeError, TypeError, NotImplementedError)):
            ab.convert(tensor, "ndarray")


def test_masks_are_never_dropped(package):
    masked = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
    for read in (ab.Array, lambda array: ab.convert(array, "ndarray")):
        with pytest.raises(BufferError, match="filled"):
            read(masked)
    array = ab.convert(np.arange(3.0), "ndarray")
    for made in (np.add(array, masked), array + masked, masked + array):
        assert isinstance(made, np.ma.MaskedArray) and made.mask.tolist() == [False, True, False]
    assert np.asarray(ab.convert(masked.filled(0), "ndarray")).tolist() == [1, 0, 3]
    da = package("dask.array")
    with pytest.raises(BufferError, match="filled"):
        ab.convert(da.ma.masked_less(da.arange(4.0, chunks=2), 2), "ndarray")


def test_subclasses_of_ndarray_keep_their_meaning():
    class Quantity(np.ndarray):
        def __array_ufunc__(self, ufunc, method, *inputs, **keywords):
            plain = [np.asarray(value) for value in inputs]
            return getattr(ufunc, method)(*plain, **keywords).view(Quantity)

    quantity = np.ones(3).view(Quantity)
    array = ab.convert(np.arange(3.0), "ndarray")
    for made in (np.add(array, quantity), array + quantity, quantity + array):
        assert type(made) is Quantity
    assert type(np.add(array, np.ones(3).view(np.recarray))) is np.recarray


class DlpackAlone:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return (1, 0)


@pytest.mark.skipif(not NUMPY_2, reason="NumPy 1.26 knows no version of DLPack")
def test_what_speaks_dlpack_alone_is_an_array_for_all_purposes(package):
    plain = np.arange(6.0).reshape(2, 3)
    array = ab.Array(DlpackAlone(plain))
    assert np.shares_memory(np.asarray(array), plain) and np.max(array) == 5
    assert np.asarray(array + 1)[0, 0] == 1 and np.asarray(array == plain).all()
    assert np.shares_memory(np.from_dlpack(array), plain)
    np.add(array, 1, out=array)
    assert plain[0, 0] == 1
    torch = package("torch")
    assert array.give("torch").sum() == plain.sum()


def test_protocols_that_are_switched_off_are_passed_over():
    plain = np.arange(3.0)
    for names in (["__dlpack__"], ["__array_struct__"], ["__dlpack__", "__array_struct__", "__array__"]):
        array = ab.Array(holder(**dict.fromkeys(names), __array_interface__=plain.__array_interface__))
        assert np.asarray(ab.convert(array, "ndarray")).tolist() == [0, 1, 2]


def test_the_array_interface_is_read_as_numpy_reads_it():
    plain = np.arange(3.0)
    assert ab.Array(holder(__array_struct__=plain.__array_struct__)).shape == (3,)
    told = plain.__array_interface__
    for flag in (0, 1, True):
        data = (told["data"][0], flag)
        array = ab.Array(holder(__array_interface__={**told, "data": data}))
        assert np.asarray(ab.convert(array, "ndarray")).tolist() == [0, 1, 2]
    for address in (2**64 - 8, 2**64 - 16):
        wrong = {**told, "data": (address, False), "shape": (4,)}
        with pytest.raises(BufferError, match="address space"):
            ab.Array(holder(__array_interface__=wrong))


def test_results_are_not_written_into_copies(package):
    da = package("dask.array")
    pd = package("pandas")

    class Copies:
        def __array__(self, dtype=None, copy=None):
            return np.zeros((2, 2))

    frame = pd.DataFrame({"x": [1.0, 2.0], "y": [3, 4]})
    for source in (da.zeros((2, 2)), frame, Copies()):
        array = ab.Array(source)
        for write in (
            lambda: np.add(array, 1, out=array),
            lambda: np.add(np.ones((2, 2)), 1, out=array),
            lambda: np.add.at(array, 0, 1),
            lambda: np.copyto(array, 1),
            lambda: np.fill_diagonal(array, 1),
        ):
            with pytest.raises(ValueError, match="read-only"):
                write()
        with pytest.raises(ValueError, match="read-only"):
            array += 1
        assert np.asarray(array + 1).shape == (2, 2)
    torch = package("torch")
    tensor = torch.zeros(2)
    np.add(ab.Array(tensor), 1, out=ab.Array(tensor))
    assert tensor.tolist() == [1, 1]


def test_a_view_that_is_changed_does_not_change_the_array():
    for array in (ab.convert(np.zeros((2, 3)), "ndarray"), ab.Array(np.zeros((2, 3)))):
        view = array.__array__()
        try:
            view.shape, view.dtype = (3, 2), "int64"
        except AttributeError:
            pytest.skip("this NumPy does not let them be set")
        assert array.shape == (2, 3) and array.dtype == np.float64
        view[0, 0] = 1
        assert np.asarray(array)[0, 0] != 0


def test_bfloat16_is_so_in_numpy(package):
    ml_dtypes = package("ml_dtypes")
    for dtype in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn):
        array = ab.convert(np.arange(3).astype(dtype), "ndarray")
        assert not hasattr(array, "__array_interface__")
        for made in (np.asarray(array), np.array(array), array.__array__(), np.asarray(array + array)):
            assert made.dtype == dtype
        np.asarray(array)[0] = 2
        assert np.asarray(array)[0] == 2


def test_functions_are_known_by_what_they_are_and_not_by_name():
    array = ab.convert(np.array([[1.0, 5.0], [2.0, 3.0]]), "ndarray")
    class Named:
        __name__ = "add"

        def reduce(self, values, **keywords):
            return "theirs"

        def __call__(self, *values):
            return "theirs"

    assert array.__array_ufunc__(Named(), "reduce", array) == "theirs"

    assert array.__array_function__(max, (ab.Array,), (array[0],), {}) == 5
