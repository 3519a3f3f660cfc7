"""Mistakes of a first day: histograms, stencils and blurs."""

from __future__ import annotations

import numpy as np
import pytest
from mistakes import Mistake, check

import gpuprims
from gpuprims import errors

X = np.arange(6.0).reshape(2, 3)

MISTAKES: dict[str, Mistake] = {
    "negative bins": (
        lambda: gpuprims.histogram(X, bins=-1), errors.ArgumentError,
        ("a positive number of bins, or", "-1"),
    ),
    "zero bins": (
        lambda: gpuprims.histogram(X, bins=0), errors.ArgumentError,
        ("a positive number of bins, or", "0"),
    ),
    "bins float": (
        lambda: gpuprims.histogram(X, bins=10.0), errors.ArgumentError,
        ("a positive number of bins, or", "10.0", "write 10"),
    ),
    "bins auto": (
        lambda: gpuprims.histogram(X, bins="atuo"), errors.ArgumentError,
        ("bins= a number, edges, or a rule among auto, doane", "'atuo'", "did you mean 'auto'?"),
    ),
    "bins edges decrease": (
        lambda: gpuprims.histogram(X, bins=[3, 2, 1]), errors.ArgumentError,
        ("bin edges must not decrease or be", "3 before 2", "sort them"),
    ),
    "bins one edge": (
        lambda: gpuprims.histogram(X, bins=[1]), errors.ArgumentError,
        ("two edges or more, of real numbers", "1 of dtype int64"),
    ),
    "bins None": (
        lambda: gpuprims.histogram(X, bins=None), errors.ArgumentError,
        ("a positive number of bins, or", "None"),
    ),
    "range swapped": (
        lambda: gpuprims.histogram(X, range=(4, 0)), errors.ArgumentError,
        ("range=(low, high), finite numbers", "(4, 0)", "exchange them"),
    ),
    "range NaN": (
        lambda: gpuprims.histogram(X, range=(0, np.nan)), errors.ArgumentError,
        ("range=(low, high), finite numbers", "(0, nan)"),
    ),
    "range of one": (
        lambda: gpuprims.histogram(X, range=(0,)), errors.ArgumentError,
        ("range=(low, high), two real", "(0,)"),
    ),
    "range a number": (
        lambda: gpuprims.histogram(X, range=5), errors.ArgumentError,
        ("range=(low, high), two real", "5"),
    ),
    "range strings": (
        lambda: gpuprims.histogram(X, range=("a", "b")), errors.ArgumentError,
        ("range=(low, high), two real", "('a', 'b')"),
    ),
    "elements NaN without range": (
        lambda: gpuprims.histogram([1.0, np.nan]), errors.ArgumentError,
        ("finite elements where range= is", "elements from nan to nan", "pass range=(low, high); NaN is then not"),
    ),
    "weights of another shape": (
        lambda: gpuprims.histogram(X, weights=[1, 2]), errors.ShapeError,
        ("weights of the array's shape", "(2, 3) and (2,)"),
    ),
    "weights complex": (
        lambda: gpuprims.histogram(X, weights=X + 1j), errors.DtypeError,
        ("real weights", "dtype complex128"),
    ),
    "weights strings": (
        lambda: gpuprims.histogram(X, weights="ab"), errors.ArrayError,
        ("an array of numbers or bools", "str 'ab'"),
    ),
    "histogram of complex": (
        lambda: gpuprims.histogram(X + 1j), errors.DtypeError,
        ("real numbers, which have an order", "dtype complex128"),
    ),
    "bincount of floats": (
        lambda: gpuprims.bincount(X[0]), errors.DtypeError,
        ("integers", "dtype float64", "pass x.astype(np.int64), or call histogram"),
    ),
    "bincount of negatives": (
        lambda: gpuprims.bincount([-1, 2]), errors.ArgumentError,
        ("non-negative elements", "-1", "pass x - x.min(), or call histogram"),
    ),
    "bincount of a matrix": (
        lambda: gpuprims.bincount([[1, 2], [3, 4]]), errors.ShapeError,
        ("an array of one dimension, or", "shape (2, 2)", "pass x.ravel(), or axis="),
    ),
    "bincount minlength negative": (
        lambda: gpuprims.bincount([1], minlength=-1), errors.ArgumentError,
        ("minlength= a non-negative integer", "-1"),
    ),
    "bincount minlength float": (
        lambda: gpuprims.bincount([1], minlength=2.5), errors.ArgumentError,
        ("minlength= a non-negative integer", "2.5"),
    ),
    "bincount of strings": (
        lambda: gpuprims.bincount(["a"]), errors.DtypeError,
        ("an array of numbers or bools", "dtype <U1 (ndarray"),
    ),
    "bincount of weights shape": (
        lambda: gpuprims.bincount([1, 2], weights=[1.0]), errors.ShapeError,
        ("weights of the array's shape", "(2,) and (1,)"),
    ),
    "bincount huge": (
        lambda: gpuprims.bincount([2**62]), errors.ArgumentError,
        ("at most 2^30 bins", "4611686018427387905"),
    ),
    "stencil of even size": (
        lambda: gpuprims.stencil(X, [1, 1]), errors.ShapeError,
        ("weights of odd lengths up to 65535", "shape (2,)", "append a weight of 0 to an even length"),
    ),
    "stencil of four axes": (
        lambda: gpuprims.stencil(X, np.ones((3, 3, 3, 3))), errors.ShapeError,
        ("weights of one to three axes", "shape (3, 3, 3, 3)"),
    ),
    "stencil of more axes than x": (
        lambda: gpuprims.stencil(X[0], np.ones((3, 3))), errors.ShapeError,
        ("an array of 2 axes or more", "shape (3,)"),
    ),
    "stencil NaN weights": (
        lambda: gpuprims.stencil(X, [1, np.nan, 1]), errors.ArgumentError,
        ("finite weights", "nan"),
    ),
    "stencil too wide": (
        lambda: gpuprims.stencil(X, np.ones(2**16 + 1)), errors.ShapeError,
        ("weights of odd lengths up to 65535", "shape (65537,)"),
    ),
    "stencil text": (
        lambda: gpuprims.stencil(X, "laplace"), errors.ArgumentError,
        ("real weights, or a function of a", "'laplace'", "such as [1, -2, 1]"),
    ),
    "stencil unknown mode": (
        lambda: gpuprims.stencil(X, [1, 2, 1], mode="zero"), errors.ArgumentError,
        ("mode= among nearest, reflect,", "'zero'", "did you mean 'constant'?"),
    ),
    "stencil numpy's mode": (
        lambda: gpuprims.stencil(X, [1, 2, 1], mode="edge"), errors.ArgumentError,
        ("mode= among nearest, reflect,", "'edge'", "did you mean 'nearest'?"),
    ),
    "stencil misspelt mode": (
        lambda: gpuprims.stencil(X, [1, 2, 1], mode="reflct"), errors.ArgumentError,
        ("mode= among nearest, reflect,", "'reflct'", "did you mean 'reflect'?"),
    ),
    "stencil mode None": (
        lambda: gpuprims.stencil(X, [1, 2, 1], mode=None), errors.ArgumentError,
        ("mode= among nearest, reflect,", "None"),
    ),
    "stencil function without index": (
        lambda: gpuprims.stencil(X, lambda n: n * 2), errors.ExpressionError,
        ("one argument n, with neighbours", "unsupported operand", "is the element itself"),
    ),
    "stencil function of far index": (
        lambda: gpuprims.stencil(X, lambda n: n[0, 99]), errors.ArgumentError,
        ("offsets from -15 to 15", "(0, 99)"),
    ),
    "stencil function of float index": (
        lambda: gpuprims.stencil(X, lambda n: n[0.5, 0]), errors.ExpressionError,
        ("whole numbers as an index", "(0.5, 0)"),
    ),
    "stencil function of variable index": (
        lambda: gpuprims.stencil(X, lambda n: n[n[0, 0], 0]), errors.ExpressionError,
        ("whole numbers as an index", "(<element of a traced"),
    ),
    "stencil function of mixed ranks": (
        lambda: gpuprims.stencil(X, lambda n: n[0] + n[0, 1]), errors.ExpressionError,
        ("the same one to three axes in", "(0, 1)"),
    ),
    "stencil function of two": (
        lambda: gpuprims.stencil(X, lambda a, b: a[0] + b[0]), errors.ExpressionError,
        ("one argument n, with neighbours", "<lambda>() missing 1"),
    ),
    "stencil function branches": (
        lambda: gpuprims.stencil(X, lambda n: n[0] if n[0] > n[1] else n[1]), errors.ExpressionError,
        ("np.where(condition, a, b), (a <", "if, while, and, or, not,"),
    ),
    "stencil iterations zero": (
        lambda: gpuprims.stencil(X, [1, 2, 1], iterations=0), errors.ArgumentError,
        ("iterations= a whole number from 1", "0"),
    ),
    "stencil cval text": (
        lambda: gpuprims.stencil(X, [1, 2, 1], mode="constant", cval="0"), errors.ArgumentError,
        ("cval= one number", "'0'"),
    ),
    "stencil cval too large": (
        lambda: gpuprims.stencil(X.astype("u1"), [1, 2, 1], mode="constant", cval=999), errors.ArgumentError,
        ("cval= one number that uint8 holds", "999"),
    ),
    "stencil complex": (
        lambda: gpuprims.stencil(X + 1j, [1, 2, 1]), errors.DtypeError,
        ("real numbers", "dtype complex128"),
    ),
    "stencil empty weights": (
        lambda: gpuprims.stencil(X, []), errors.ShapeError,
        ("weights of odd lengths up to 65535", "shape (0,)"),
    ),
    "blur kind": (
        lambda: gpuprims.blur(X, "gausian"), errors.ArgumentError,
        ("kind= among cross, box, gaussian", "'gausian'", "did you mean 'gaussian'?"),
    ),
    "blur kind median": (
        lambda: gpuprims.blur(X, "median"), errors.ArgumentError,
        ("kind= among cross, box, gaussian", "'median'"),
    ),
    "blur sigma by position": (
        lambda: gpuprims.blur(X, 2.0), errors.ArgumentError,
        ("kind= among cross, box, gaussian", "2.0", 'write kind="gaussian", sigma=2.0'),
    ),
    "blur even size": (
        lambda: gpuprims.blur(X, "box", size=4), errors.ArgumentError,
        ("size= odd whole numbers", "4", "write 5"),
    ),
    "blur negative sigma": (
        lambda: gpuprims.blur(X, "gaussian", sigma=-1), errors.ArgumentError,
        ("sigma= positive numbers", "-1"),
    ),
    "blur sigma of a box": (
        lambda: gpuprims.blur(X, "box", sigma=2), errors.ArgumentError,
        ('sigma= with kind="gaussian" alone', "kind='box'"),
    ),
    "blur radius": (
        lambda: gpuprims.blur(X, "box", radius=2), errors.UnknownKeywordError,
        ("keywords among image, kind, size,", "radius", "did you mean 'size'?"),
    ),
    "blur of one dimension": (
        lambda: gpuprims.blur(X[0]), errors.ShapeError,
        ("an array of 2 axes or more", "shape (3,)"),
    ),
    "blur channel axis too far": (
        lambda: gpuprims.blur(X, channel_axis=4), errors.AxisError,
        ("channel_axis from -2 to 1", "4"),
    ),
    "hash_counts one text": (
        lambda: gpuprims.hash_counts("one text", 16), errors.ArrayError,
        ("a sequence of documents", "str 'one text'", "pass a list of texts"),
    ),
    "hash_counts no features": (
        lambda: gpuprims.hash_counts(["a"], 0), errors.ArgumentError,
        ("n_features from 1 to 2^30", "0"),
    ),
    "hash_counts of numbers": (
        lambda: gpuprims.hash_counts([1, 2], 16), errors.ShapeError,
        ("a text, or a sequence of integers, as document 0", "int 1"),
    ),
    "hash_counts misspelt analyzer": (
        lambda: gpuprims.hash_counts(["a"], 16, analyzer="wrod"), errors.ArgumentError,
        ("analyzer= a function of a text,", "str 'wrod'"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_message_says_the_rule_what_was_got_and_what_to_do(name: str) -> None:
    check(MISTAKES[name])
