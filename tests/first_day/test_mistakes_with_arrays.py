"""Mistakes of a first day: arrays, dtypes, shapes, axes, masks and out=."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
from mistakes import Mistake, check
from scipy import sparse

import gpuprims
from gpuprims import errors

X = np.arange(6.0).reshape(2, 3)


def read_only() -> np.ndarray:
    array = np.zeros((2, 3))
    array.flags.writeable = False
    return array


MISTAKES: dict[str, Mistake] = {
    "a string": (
        lambda: gpuprims.reduce("hello"), errors.ArrayError,
        ("arrays by position, op= and map=", "the text 'hello'"),
    ),
    "None for an array": (
        lambda: gpuprims.reduce(None), errors.ArrayError,
        ("an array of numbers or bools", "NoneType None", "pass a list or an array"),
    ),
    "a dictionary": (
        lambda: gpuprims.map("x", {"a": 1}), errors.ArrayError,
        ("an array of numbers or bools", "dict {'a': 1}", "pass list(x.values())"),
    ),
    "a set": (
        lambda: gpuprims.reduce({1, 2}), errors.ArrayError,
        ("an array of numbers or bools", "set {1, 2}", "pass list(x)"),
    ),
    "a generator": (
        lambda: gpuprims.reduce(i for i in range(3)), errors.ArrayError,
        ("an array of numbers or bools", "generator <generator", "pass list(x)"),
    ),
    "a map of Python's": (
        lambda: gpuprims.reduce(map(abs, [1])), errors.ArrayError,
        ("an array of numbers or bools", "map <map object>", "pass list(x)"),
    ),
    "ragged list": (
        lambda: gpuprims.reduce([[1, 2], [3]]), errors.ArrayError,
        ("an array, or nested lists of", "list [[1, 2], [3]]"),
    ),
    "strings in a list": (
        lambda: gpuprims.map("x", ["1", "2"]), errors.DtypeError,
        ("an array of numbers or bools", "dtype <U1 (ndarray"),
    ),
    "None in a list": (
        lambda: gpuprims.reduce([1, None]), errors.DtypeError,
        ("an array of numbers or bools", "dtype object (ndarray"),
    ),
    "object array": (
        lambda: gpuprims.reduce(np.array([1, 2], object)), errors.DtypeError,
        ("an array of numbers or bools", "dtype object (ndarray"),
    ),
    "dates": (
        lambda: gpuprims.reduce(np.array(["2026-01-01"], "M8[D]")), errors.DtypeError,
        ("an array of numbers or bools", "dtype datetime64[D]"),
    ),
    "long double": (
        lambda: gpuprims.reduce(np.zeros(3, np.longdouble)), errors.DtypeError,
        ("bool, an integer, float16 to", "float128", "pass float64"),
    ),
    "structured": (
        lambda: gpuprims.reduce(np.zeros(3, "i4,f4")), errors.DtypeError,
        ("an array of numbers or bools", "dtype [('f0', '<i4'),"),
    ),
    "masked array": (
        lambda: gpuprims.reduce(np.ma.masked_less(X, 2)), errors.ArrayError,
        ("arrays without a mask", "a masked array of shape", "pass x.compressed(), which leaves masked"),
    ),
    "sparse matrix": (
        lambda: gpuprims.reduce(sparse.csr_matrix(X)), errors.ArrayError,
        ("an array of numbers or bools", "csr_matrix <Compressed", "pass x.toarray(), or x.data for its stored"),
    ),
    "data frame": (
        lambda: gpuprims.reduce(pandas.DataFrame({"a": ["x", "y"]})), errors.DtypeError,
        ("an array of numbers or bools", "dtype object (ndarray"),
    ),
    "filename": (
        lambda: gpuprims.map("x + 1", "data.npy"), errors.ArrayError,
        ("an array of numbers or bools", "str 'data.npy'", "pass the contents of a file, such as"),
    ),
    "misspelt dtype": (
        lambda: gpuprims.reduce(X, dtype="flaot32"), errors.DtypeError,
        ("a dtype that NumPy knows", "'flaot32'", "did you mean 'float32'?"),
    ),
    "dtype of c": (
        lambda: gpuprims.reduce(X, dtype="double2"), errors.DtypeError,
        ("a dtype that NumPy knows", "'double2'", "did you mean 'complex128'?"),
    ),
    "dtype string object": (
        lambda: gpuprims.reduce(X, dtype=str), errors.DtypeError,
        ("bool, an integer, float16 to", "<U0", "pass float64"),
    ),
    "dtype of complex to real": (
        lambda: gpuprims.reduce(X + 1j, dtype="float32"), errors.DtypeError,
        ("a complex dtype, or real(x) or", "complex128 to float32"),
    ),
    "max of complex": (
        lambda: gpuprims.blur(X + 1j), errors.DtypeError,
        ("real numbers", "dtype complex128"),
    ),
    "axis too far": (
        lambda: gpuprims.reduce(X, axis=2), errors.AxisError,
        ("from -2 to 1 for 2 dimension(s)", "2"),
    ),
    "axis of a number": (
        lambda: gpuprims.reduce(2.5, axis=1), errors.AxisError,
        ("axis: none, as a 0-dimensional array has no axis", "1"),
    ),
    "axis text": (
        lambda: gpuprims.reduce(X, axis="rows"), errors.AxisError,
        ("an int or a tuple of ints", "'rows'", "count axes from 0, rows first"),
    ),
    "axis list": (
        lambda: gpuprims.reduce(X, axis=[0, 1]), errors.AxisError,
        ("an int or a tuple of ints", "[0, 1]", "write (0, 1)"),
    ),
    "axis float": (
        lambda: gpuprims.reduce(X, axis=1.0), errors.AxisError,
        ("an int or a tuple of ints", "1.0", "write 1"),
    ),
    "axis twice": (
        lambda: gpuprims.reduce(X, axis=(0, 0)), errors.AxisError,
        ("each axis once", "(0, 0)"),
    ),
    "scan axis tuple": (
        lambda: gpuprims.scan(X, axis=(0, 1)), errors.AxisError,
        ("an int", "(0, 1)", "a scan goes along one axis"),
    ),
    "scan axis too far": (
        lambda: gpuprims.scan(X, axis=3), errors.AxisError,
        ("from -2 to 1 for 2 dimension(s)", "3"),
    ),
    "shapes": (
        lambda: gpuprims.map("x+y", X, X.T), errors.ShapeError,
        ("shapes that broadcast together", "(2, 3) and (3, 2)"),
    ),
    "overflowing number": (
        lambda: gpuprims.map("x + y", np.zeros(3, np.uint8), 300), errors.NumberOverflowError,
        ("a number that uint8 can hold", "300 (Python integer 300 out of bounds for uint8; int64(300) gives a wider"),
    ),
    "mask too short": (
        lambda: gpuprims.compact(X, [True, False]), errors.ShapeError,
        ("a mask of the array's shape, (2,", "(2,)"),
    ),
    "mask of ints": (
        lambda: gpuprims.compact(X, np.ones((2, 3), int)), errors.DtypeError,
        ("a mask of dtype bool, or a", "int64", "pass mask != 0, or x[indices] for indices"),
    ),
    "mask of floats": (
        lambda: gpuprims.compact(X, X), errors.DtypeError,
        ("a mask of dtype bool, or a", "float64", "pass mask != 0"),
    ),
    "mask of indices": (
        lambda: gpuprims.compact(X[0], [0, 2]), errors.DtypeError,
        ("a mask of dtype bool, or a", "int64", "pass mask != 0, or x[indices] for indices"),
    ),
    "mask one bool": (
        lambda: gpuprims.compact(X, True), errors.ShapeError,
        ("a mask of the array's shape, (2,", "()"),
    ),
    "mask None": (
        lambda: gpuprims.compact(X, None), errors.ArrayError,
        ("an array of numbers or bools", "NoneType None", "pass a list or an array"),
    ),
    "out of wrong dtype": (
        lambda: gpuprims.map("x+1", X, out=np.zeros((2, 3), np.float32)), errors.DtypeError,
        ("out= of the result's dtype,", "float32", "make it with dtype=float64"),
    ),
    "out of wrong shape": (
        lambda: gpuprims.map("x+1", X, out=np.zeros(6)), errors.ShapeError,
        ("out= of the result's shape, (2, 3)", "(6,)"),
    ),
    "out read-only": (
        lambda: gpuprims.map("x+1", X, out=read_only()), errors.ArgumentError,
        ("out= an array that can be written", "a read-only one of shape", "pass a copy"),
    ),
    "out a list": (
        lambda: gpuprims.map("x+1", X, out=[0] * 6), errors.ArgumentError,
        ("out= an array, or a tuple of", "list [0, 0, 0, 0, 0, 0]", "make one with np.empty(shape, dtype)"),
    ),
    "out True": (
        lambda: gpuprims.map("x+1", X, out=True), errors.ArgumentError,
        ("out= an array, or a tuple of", "bool True", "make one with np.empty(shape, dtype)"),
    ),
    "out overlapping": (
        lambda: gpuprims.map("x+1", X[:, 1:], out=X[:, :-1]), errors.ArgumentError,
        ("out= apart from the arrays in", "one that overlaps an input", "pass a copy"),
    ),
    "out too few": (
        lambda: gpuprims.map("(x, -x)", X, out=np.zeros((2, 3))), errors.ArgumentError,
        ("out= 2 array(s), one for each result", "1"),
    ),
    "out scalar": (
        lambda: gpuprims.reduce(X, out=0.0), errors.ArgumentError,
        ("out= an array, or a tuple of", "float 0.0", "make one with np.empty(shape, dtype)"),
    ),
    "out of broadcast memory": (
        lambda: gpuprims.map("x+1", X, out=np.broadcast_to(np.zeros(1), (2, 3))), errors.ArgumentError,
        ("out= an array that can be written", "a read-only one of shape", "pass a copy"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_message_says_the_rule_what_was_got_and_what_to_do(name: str) -> None:
    check(MISTAKES[name])
