"""The type stubs against the module."""

import ast
import inspect
import pathlib

import pytest

import arraybridge_rs as ab

STUBS = ast.parse((pathlib.Path(ab.__file__).parent / "__init__.pyi").read_text())


def members(name):
    (found,) = (node for node in STUBS.body if isinstance(node, ast.ClassDef) and node.name == name)
    told = {node.name: node for node in found.body if isinstance(node, ast.FunctionDef)}
    values = {node.target.id: node for node in found.body if isinstance(node, ast.AnnAssign)}
    return told | values


@pytest.mark.parametrize("name", ["Array", "Counters"])
def test_the_stubs_have_what_the_class_has(name):
    # Every object has these, and Python makes `__init__` of the class's own `__new__`. `__buffer__`
    # is Python's own from 3.12 on.
    common = {"__module__", "__doc__", "__new__", "__init__", "__repr__", "__buffer__", "__slotnames__"}
    common |= {"__release_buffer__", "__weakref__"}
    assert set(members(name)) - common == set(vars(getattr(ab, name))) - common


@pytest.mark.parametrize("name", ["Array", "Counters"])
def test_the_stubs_have_the_parameters_of_the_methods(name):
    for method, node in members(name).items():
        found = getattr(getattr(ab, name), method, None)
        if method.startswith("__") or not callable(found):
            continue
        told = node.args
        names = [argument.arg for argument in told.posonlyargs + told.args + told.kwonlyargs]
        assert names == list(inspect.signature(found).parameters), method


def test_the_stubs_have_what_the_package_has():
    functions = [node.name for node in STUBS.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    assert set(ab.__all__) - {"__version__"} <= set(functions)
    for node in STUBS.body:
        if isinstance(node, ast.FunctionDef):
            told = [argument.arg for argument in node.args.args + node.args.kwonlyargs]
            assert told == list(inspect.signature(getattr(ab, node.name)).parameters)
