"""PyTorch's tensors: what is shared, what is copied, what is refused."""

import gc
import subprocess
import sys
import threading

import numpy as np
import pytest

import arraybridge_rs as ab


@pytest.fixture
def torch(package):
    return package("torch")


def address(array):
    return array.__array_interface__["data"][0]


def capsule_of(function):
    """An object that hands out one capsule, whatever is asked."""

    class Once:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **keywords):
            return function()

    return Once()


def test_a_tensor_goes_through_an_array_at_one_address(torch):
    tensor = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    array = ab.Array(tensor)
    assert array.library == "python:torch" and array.dtype == np.float32 and array.shape == (2, 3)
    assert array.unwrap() is tensor
    legacy, versioned = array.__dlpack__(), array.__dlpack__(max_version=(1, 0))
    for back in (
        torch.from_dlpack(array),
        torch.utils.dlpack.from_dlpack(array),
        torch.utils.dlpack.from_dlpack(legacy),
        torch.from_dlpack(versioned),
        torch.from_dlpack(array, device="cpu", copy=False),
        torch.from_numpy(np.asarray(array)),
        array.give("torch"),
    ):
        assert torch.equal(back, tensor) and back.data_ptr() == tensor.data_ptr()
    assert address(np.asarray(array)) == address(np.from_dlpack(array)) == tensor.data_ptr()
    tensor[0, 0] = 7
    assert np.asarray(array)[0, 0] == 7
    assert torch.from_dlpack(array, copy=True).data_ptr() != tensor.data_ptr()


def test_an_array_of_rust_is_given_at_one_address(torch):
    array = ab.convert(np.arange(6.0).reshape(2, 3), "ndarray")
    tensor = array.give("torch")
    assert tensor.data_ptr() == address(np.asarray(array)) == torch.from_dlpack(array).data_ptr()
    tensor[1, 2] = 50
    assert np.max(array) == 50
    here = array.__array_interface__["data"][0]
    del tensor
    made = ab.convert(np.arange(4.0), "python:torch")
    assert made.library == "python:torch" and isinstance(made.unwrap(), torch.Tensor)
    assert here == torch.from_dlpack(array).data_ptr()


def test_conversions_copy_and_records_name_the_library(torch):
    tensor = torch.arange(6.0)
    with ab.Counters() as counters:
        array = ab.convert(tensor, "ndarray")
    (row,) = counters.rows()
    assert row["source_library"] == "python:torch" and row["copied"]
    assert "numpy.ndarray" in pytest.raises(
        BufferError, ab.convert, tensor, "ndarray", copy=False
    ).value.args[0]
    tensor.zero_()
    assert np.max(array) == 5


DTYPES = "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
EXTENSIONS = "bfloat16 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu".split()


@pytest.mark.parametrize("name", DTYPES + EXTENSIONS)
def test_every_dtype_crosses(torch, name):
    dtype = getattr(torch, name)
    tensor = torch.tensor([0, 1, 2, 1]).to(torch.float32).to(dtype)
    bits = torch.uint8 if tensor.element_size() == 1 else torch.int16 if tensor.element_size() == 2 else dtype
    here = ab.convert(tensor, "ndarray")
    assert str(here.dtype) == name
    for back in (here.give("torch"), torch.from_dlpack(here), torch.from_dlpack(ab.Array(tensor))):
        assert back.dtype == dtype and torch.equal(back.view(bits), tensor.view(bits))
    view = np.asarray(ab.Array(tensor))
    assert view.dtype == here.dtype and view.ctypes.data == tensor.data_ptr()
    assert np.asarray(here).dtype == here.dtype
    np.testing.assert_array_equal(np.asarray(here), view)


LAYOUTS = "transposed stepped offset repeated overlapping channels_last no_axes empty one_element".split()


def made(torch, name):
    whole = torch.arange(24, dtype=torch.int32).reshape(2, 3, 4)
    return {
        "transposed": whole.mT,
        "stepped": whole[:, ::2, 1::2],
        "offset": whole[1:, 1:],
        "repeated": whole[:1].expand(5, 3, 4),
        "overlapping": torch.arange(8).unfold(0, 4, 2),
        "channels_last": torch.arange(120.0).reshape(1, 4, 5, 6).contiguous(memory_format=torch.channels_last),
        "no_axes": torch.tensor(3.5),
        "empty": torch.zeros(2, 0, 3),
        "one_element": torch.ones(1, 1),
    }[name]


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts_cross_as_they_are(torch, name):
    tensor = made(torch, name)
    array = ab.Array(tensor)
    back = torch.from_dlpack(array)
    assert torch.equal(back, tensor) and back.data_ptr() == tensor.data_ptr()
    # Nobody steps along an axis of length one.
    steps = [(left, right) for left, right, n in zip(back.stride(), tensor.stride(), tensor.shape) if n > 1]
    assert all(left == right for left, right in steps)
    np.testing.assert_array_equal(np.asarray(array), tensor.numpy())
    here = ab.convert(tensor, "ndarray")
    np.testing.assert_array_equal(np.asarray(here), tensor.numpy())
    assert torch.equal(here.give("torch"), tensor)


def test_what_runs_backwards_or_is_read_only_is_given_as_a_copy(torch):
    # PyTorch ends the process at a negative stride, and writes what is marked as read-only.
    plain = np.arange(6.0).reshape(2, 3)
    for view in (plain[::-1], plain[:, ::-1], plain[::-1, ::-1].T):
        array = ab.Array(view)
        tensor = array.give("torch")
        np.testing.assert_array_equal(tensor.numpy(), view)
        with pytest.raises(BufferError, match="runs backwards"):
            torch.from_dlpack(array)
        np.testing.assert_array_equal(torch.from_dlpack(array, copy=True).numpy(), view)
    fixed = np.arange(3.0)
    fixed.flags.writeable = False
    tensor = ab.Array(fixed).give("torch")
    tensor[0] = 9
    assert fixed[0] == 0
    with pytest.raises(BufferError, match="read-only"):
        ab.Array(fixed).__dlpack__()


def test_arrays_that_never_change_are_given_as_a_copy(torch, package):
    jnp = package("jax.numpy")
    fixed = jnp.arange(6.0)
    for tensor in (ab.Array(fixed).give("torch"), ab.Array(fixed).to("python:torch").unwrap()):
        tensor.zero_()
        assert fixed[5] == 5


def test_tensors_with_a_gradient_are_refused_and_detached_ones_shared(torch):
    leaf = torch.arange(3.0, requires_grad=True)
    for tensor in (leaf, leaf * 2, torch.nn.Parameter(torch.arange(3.0))):
        for use in (ab.Array, lambda tensor: ab.convert(tensor, "ndarray")):
            with pytest.raises(BufferError, match=r"tensor.detach\(\)"):
                use(tensor)
        assert np.asarray(ab.Array(tensor.detach())).ctypes.data == tensor.data_ptr()


def test_lazily_conjugated_and_negated_tensors_are_refused_and_resolved_ones_read(torch):
    plain = torch.complex(torch.arange(3.0), torch.ones(3))
    for lazy in (plain.conj(), plain.conj().imag, plain.conj().reshape(3, 1).mT, plain.conj()[1:]):
        assert lazy.is_conj() or lazy.is_neg()
        with pytest.raises(BufferError, match=r"tensor.resolve_(conj|neg)\(\)"):
            ab.convert(lazy, "ndarray")
        resolved = lazy.resolve_conj().resolve_neg()
        np.testing.assert_array_equal(np.asarray(ab.convert(resolved, "ndarray")), resolved.numpy())


def test_what_is_no_plain_memory_is_refused_by_name(torch):
    with pytest.warns(Warning):
        quantised = torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)
    refused = [
        (torch.eye(3).to_sparse(), BufferError, "torch.strided"),
        (quantised, BufferError, "QUInt/QInt"),
        (torch.ones(3, device="meta"), (BufferError, ValueError), "meta"),
        (torch.zeros(3, dtype=torch.float4_e2m1fn_x2), BufferError, "lanes"),
        (torch._efficientzerotensor(3), (BufferError, RuntimeError), "."),
    ]
    for tensor, kind, text in refused:
        with pytest.raises(kind, match=text):
            ab.convert(tensor, "ndarray")


def test_subclasses_and_views_of_a_model(torch):
    class Own(torch.Tensor):
        pass

    assert ab.Array(torch.ones(2).as_subclass(Own)).library == "python:torch"
    model = torch.nn.Linear(3, 2)
    weight = ab.Array(model.weight.detach())
    np.asarray(weight)[:] = 1
    assert torch.equal(model.weight.detach(), torch.ones(2, 3))


def test_ufuncs_keep_results_in_pytorch(torch):
    assert np.exp(ab.Array(torch.arange(3))).unwrap().dtype == torch.float64
    array = ab.Array(torch.arange(3, dtype=torch.float32))
    made = np.add(array, ab.convert(np.ones(3, "float32"), "ndarray")).unwrap()
    assert isinstance(made, torch.Tensor) and made.tolist() == [1, 2, 3]
    assert (torch.ones(3) + torch.from_dlpack(array)).tolist() == [1, 2, 3]
    assert array[1].unwrap().item() == 1


def test_pytorchs_table_of_functions_comes_before_its_methods(torch):
    if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        pytest.skip(f"PyTorch {torch.__version__} has no C exchange API")

    class Counted(torch.Tensor):
        asked = 0

        def __dlpack__(self, **keywords):
            Counted.asked += 1
            return super().__dlpack__(**keywords)

    tensor = torch.arange(3.0).as_subclass(Counted)
    assert np.asarray(ab.convert(tensor, "ndarray")).tolist() == [0, 1, 2] and Counted.asked == 0


def test_capsules_of_pytorch_are_consumed_once_and_released(torch):
    tensor = torch.arange(1000.0)
    count = tensor._use_count()
    for version in (None, (1, 0)):
        capsule = tensor.__dlpack__(max_version=version)
        assert tensor._use_count() > count
        again = capsule_of(lambda: capsule)
        assert ab.Array(again).library == "python"
        with pytest.raises(BufferError, match="taken already"):
            ab.Array(again)
        del again, capsule
        gc.collect()
        assert tensor._use_count() == count

    def failing():
        kept.append(tensor.__dlpack__())
        raise ValueError("after the export")

    kept = []
    with pytest.raises(ValueError, match="after the export"):
        ab.convert(capsule_of(failing), "ndarray")
    kept.clear()
    gc.collect()
    assert tensor._use_count() == count
    array = ab.Array(tensor)
    unused = [array.__dlpack__(), array.__dlpack__(max_version=(1, 0)), np.asarray(array), torch.from_dlpack(array)]
    del array, unused
    gc.collect()
    assert tensor._use_count() == count


def test_tensors_are_used_by_many_threads(torch):
    tensor = torch.arange(1000.0)
    array = ab.convert(np.arange(1000.0), "ndarray")
    count, references = tensor._use_count(), sys.getrefcount(tensor)
    failures = []

    def work():
        try:
            for _ in range(100):
                here = ab.convert(tensor, "ndarray")
                assert np.max(here) == 999
                assert here.give("torch").sum() == tensor.sum()
                assert torch.from_dlpack(array)[7] == 7
                assert torch.from_dlpack(ab.Array(tensor)).data_ptr() == tensor.data_ptr()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a deadlock"
    assert not failures, failures[0]
    gc.collect()
    assert tensor._use_count() == count
    # Not within the assertion, which pytest rewrites to hold references of its own.
    after = sys.getrefcount(tensor)
    assert after == references


def test_a_tensor_outlives_the_array_and_the_interpreter(torch):
    tensor = ab.convert(np.arange(6.0), "ndarray").give("torch")
    gc.collect()
    assert tensor.sum() == 15
    code = "import numpy as np, torch, arraybridge_rs as ab; kept = [ab.convert(np.ones(5), 'ndarray').give('torch'), \
ab.Array(torch.ones(5))]; kept.append(torch.from_dlpack(kept[1])); kept.append(kept)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
