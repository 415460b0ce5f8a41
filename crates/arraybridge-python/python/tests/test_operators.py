"""Python's operators and conversions, as NumPy's arrays have them."""

import operator
from collections.abc import Iterable

import numpy as np
import pytest

import arraybridge_rs as ab

LIBRARIES = ["ndarray", "xla", "python"]


def made(plain, library="ndarray"):
    if library == "xla" and not ab.libraries()["xla"]["available"]:
        pytest.skip("no plugin of XLA")
    return ab.convert(plain, library)


def test_every_operator_of_numpys_mixin_is_there():
    wanted = {name for name in vars(np.lib.mixins.NDArrayOperatorsMixin) if name.startswith("__")}
    wanted -= {"__module__", "__doc__", "__dict__", "__weakref__", "__slots__", "__static_attributes__"}
    wanted -= {"__firstlineno__", "__array_priority__"}
    assert wanted <= set(dir(ab.Array)), sorted(wanted - set(dir(ab.Array)))


BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "le", "eq", "ne", "gt", "ge"]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", BINARY + ["matmul"])
def test_operators_compute_what_numpys_arrays_do(name, library):
    function, left = getattr(operator, name), np.arange(1.0, 4.0)
    others = [np.arange(3.0, 0.0, -1.0)] + ([] if name == "matmul" else [2.0, [4.0, 5.0, 6.0]])
    for other in others:
        for arguments in [(made(left, library), other), (other, made(left, library))]:
            ours = function(*arguments)
            theirs = function(*(np.asarray(argument) for argument in arguments))
            assert isinstance(ours, ab.Array) and ours.dtype == theirs.dtype
            np.testing.assert_array_equal(np.asarray(ours), theirs)


@pytest.mark.parametrize("name", ["and_", "or_", "xor", "lshift", "rshift"])
def test_operators_of_bits(name):
    function, left = getattr(operator, name), np.arange(1, 4)
    for ours in (function(made(left), 2), function(np.int64(2), made(left)), function(2, made(left))):
        assert isinstance(ours, ab.Array)
    np.testing.assert_array_equal(np.asarray(function(2, made(left))), function(2, left))


@pytest.mark.parametrize("name", ["pos", "neg", "abs", "invert"])
def test_operators_of_one_operand(name):
    plain = np.array([-1, 2])
    np.testing.assert_array_equal(np.asarray(getattr(operator, name)(made(plain))), getattr(operator, name)(plain))


def test_divmod_and_powers():
    plain = np.array([5.0, 7.0])
    for ours, theirs in zip(divmod(made(plain), 2), divmod(plain, 2)):
        np.testing.assert_array_equal(np.asarray(ours), theirs)
    for ours, theirs in zip(divmod(2, made(plain)), divmod(2, plain)):
        np.testing.assert_array_equal(np.asarray(ours), theirs)
    np.testing.assert_array_equal(np.asarray(2**made(plain)), 2**plain)
    with pytest.raises(TypeError):
        pow(made(plain), 2, 5)


@pytest.mark.parametrize("library", ["ndarray", "python"])
def test_operators_in_place_write_into_the_array(library):
    array = made(np.arange(3.0), library)
    same, view = array, np.asarray(array)
    array += 1
    array *= np.array([1.0, 2.0, 3.0])
    array -= array
    array += [1, 2, 3]
    array **= 2
    assert array is same and view.tolist() == [1, 4, 9] == np.asarray(array).tolist()
    whole = made(np.arange(3), library)
    with pytest.raises(TypeError):
        whole += 0.5
    assert np.asarray(whole).tolist() == [0, 1, 2]


def test_what_cannot_be_compared_is_unequal():
    array = made(np.arange(2.0))
    for other in ("x", None, object()):
        assert np.asarray(array == other).tolist() == [False, False]
        assert np.asarray(array != other).tolist() == [True, True]
    with pytest.raises(TypeError):
        array < "x"
    assert 1 in array and 5 not in array
    assert 3 in made(np.arange(6).reshape(2, 3))
    with pytest.raises(TypeError):
        hash(array)


def test_operators_are_left_to_others_as_numpys_are():
    class Refuses:
        __array_ufunc__ = None

        def answer(self, other):
            return "theirs"

        __radd__ = __rpow__ = __rdivmod__ = __eq__ = __gt__ = answer

    class Above:
        __array_priority__ = 10

        def __radd__(self, other):
            return "theirs"

    class Below:
        __array_priority__ = -10

        def __radd__(self, other):
            return "theirs"

    for array in (np.arange(3.0), made(np.arange(3.0))):
        other = Refuses()
        answers = [array + other, array**other, divmod(array, other), array == other, array < other]
        assert answers == ["theirs"] * 5
        assert array + Above() == "theirs"
        assert not isinstance(array + Below(), str)


def test_arrays_are_iterated_over_by_the_first_axis():
    array = made(np.arange(6).reshape(2, 3))
    assert isinstance(array, Iterable)
    rows = list(array)
    assert [row.library for row in rows] == ["ndarray"] * 2
    assert [np.asarray(row).tolist() for row in rows] == [[0, 1, 2], [3, 4, 5]]
    assert [int(item) for item in rows[1]] == [3, 4, 5] and list(reversed(array))[0].shape == (3,)
    with pytest.raises(TypeError, match="without axes"):
        iter(rows[0][0])


def test_operators_with_pandas_are_those_of_pandas(package):
    pd = package("pandas")
    series = pd.Series([1.0, 2.0, 3.0], index=["a", "b", "c"])
    for made_by_pandas in (made(np.arange(3.0)) + series, series + made(np.arange(3.0))):
        assert isinstance(made_by_pandas, pd.Series) and made_by_pandas.tolist() == [1, 3, 5]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("dtype", ["bool", "int32", "float32", "complex64"])
def test_results_without_axes_are_arrays_that_work_as_numbers(library, dtype):
    plain = np.ones((2, 3), dtype)
    functions = [np.sum, np.prod, np.mean, np.std, np.any] + ([np.max, np.argmin] if dtype != "complex64" else [])
    for function in functions:
        ours, theirs = function(made(plain, library)), function(plain)
        assert isinstance(ours, ab.Array) and ours.shape == () and ours.dtype == theirs.dtype, function
        assert ours.library == made(plain, library).library
        assert complex(ours) == complex(theirs) and bool(ours) == bool(theirs)
        assert ours.item() == theirs.item() and type(ours.item()) is type(theirs.item())
        assert f"{ours}" if dtype == "complex64" else f"{ours:>8}" == f"{theirs.item():>8}"
    if dtype == "int32":
        assert range(np.sum(made(plain, library))) == range(6) and [1, 2, 3][made(plain, library)[0, 1]] == 2
    if dtype == "float32":
        assert float(np.mean(made(plain, library))) == 1 and f"{np.sum(made(plain, library)):.2f}" == "6.00"
        with pytest.raises(TypeError):
            range(np.sum(made(plain, library)))
    if dtype == "complex64":
        with pytest.raises(TypeError):
            float(np.sum(made(plain, library)))


def test_results_with_names_keep_them():
    made_by_numpy = np.linalg.slogdet(made(np.eye(2) * 2))
    assert made_by_numpy[1].library == "ndarray"
    if type(made_by_numpy) is not tuple:
        assert made_by_numpy.logabsdet.library == "ndarray" and float(made_by_numpy.sign) == 1


def test_arrays_with_axes_are_no_numbers():
    array = made(np.arange(2.0))
    with pytest.raises(TypeError):
        float(array)
    with pytest.raises(TypeError):
        operator.index(made(np.arange(2)))
    with pytest.raises(ValueError, match="ambiguous"):
        bool(array)
    with pytest.raises(TypeError):
        f"{array:.2f}"
    assert f"{array}" == str(array)
