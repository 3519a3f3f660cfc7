"""Mistakes of a first day: operators and segments."""

from __future__ import annotations

import numpy as np
import pytest
from mistakes import Mistake, check

import gpuprims
from gpuprims import errors

X = np.arange(6.0).reshape(2, 3)

MISTAKES: dict[str, Mistake] = {
    "misspelt operator": (
        lambda: gpuprims.reduce(X, op="summ"), errors.UnknownOperatorError,
        ("an Op or one of sum, prod, mean,", "'summ'", "did you mean 'sum'?"),
    ),
    "numpy's operator": (
        lambda: gpuprims.reduce(X, op="maximum"), errors.UnknownOperatorError,
        ("an Op or one of sum, prod, mean,", "'maximum'", "did you mean 'max'?"),
    ),
    "operator of another library": (
        lambda: gpuprims.reduce(X, op="average"), errors.UnknownOperatorError,
        ("an Op or one of sum, prod, mean,", "'average'", "did you mean 'mean'?"),
    ),
    "operator in capitals": (
        lambda: gpuprims.reduce(X, op="MAX"), errors.UnknownOperatorError,
        ("an Op or one of sum, prod, mean,", "'MAX'", "did you mean 'max'?"),
    ),
    "plus sign": (
        lambda: gpuprims.reduce(X, op="+"), errors.UnknownOperatorError,
        ("an Op or one of sum, prod, mean,", "'+'", "did you mean 'sum'?"),
    ),
    "a running sum as operator": (
        lambda: gpuprims.reduce(X, op=np.cumsum), errors.UnknownOperatorError,
        ("an Op or one of sum, prod, mean,", "NumPy's function for one", "function cumsum", "did you mean 'sum'?"),
    ),
    "numpy's function that folds nothing": (
        lambda: gpuprims.reduce(X, op=np.subtract), errors.UnknownOperatorError,
        ("an Op or one of sum, prod, mean,", "<ufunc 'subtract'>", "gpuprims.Op(fn, identity=...)"),
    ),
    "lambda as operator": (
        lambda: gpuprims.reduce(X, op=lambda a, b: a + b), errors.UnknownOperatorError,
        ("an Op or one of sum,", "<lambda>>", "make an operator of an associative function: gpuprims.Op(fn,"),
    ),
    "no operator": (
        lambda: gpuprims.reduce(X, op=None), errors.UnknownOperatorError,
        ("an Op or one of sum, prod, mean,", "None"),
    ),
    "commutative a word": (
        lambda: gpuprims.Op("a + b", 0, commutative="no"), errors.ArgumentError,
        ("Op 'user operator': commutative= True or False", "'no'"),
    ),
    "components a word": (
        lambda: gpuprims.Op("a + b", 0, components="two"), errors.ArgumentError,
        ("Op 'user operator': components= a whole number from 1 on", "'two'"),
    ),
    "a list as identity": (
        lambda: gpuprims.reduce(X, op=gpuprims.Op("a + b", [0])), errors.DtypeError,
        ("Op 'user operator': an identity that float64 can hold", "[0]"),
    ),
    "operator by position": (
        lambda: gpuprims.reduce(X, "max"), errors.ArrayError,
        ("arrays by position, op= and map=", "the text 'max'", 'write op="max"'),
    ),
    "misspelt operator by position": (
        lambda: gpuprims.reduce(X, "maxx"), errors.ArrayError,
        ("arrays by position, op= and map=", "the text 'maxx'", "did you mean 'max'?; write op= and the name"),
    ),
    "operator first": (
        lambda: gpuprims.reduce("sum", X), errors.ArrayError,
        ("arrays by position, op= and map=", "the text 'sum'", 'write op="sum"'),
    ),
    "numpy's axis by position": (
        lambda: gpuprims.reduce(X, X, 0), errors.ArgumentError,
        ("1 array(s), or a map with as many", "3", "write axis= by its name, join arrays such"),
    ),
    "op by position in scan": (
        lambda: gpuprims.scan(X, "max"), errors.ArrayError,
        ("arrays by position, op= and map=", "the text 'max'", 'write op="max"'),
    ),
    "expression by position": (
        lambda: gpuprims.reduce(X, X, "x*y"), errors.ArrayError,
        ("arrays by position, op= and map=", "the text 'x*y'", "write map='x*y'"),
    ),
    "misspelt scan operator": (
        lambda: gpuprims.scan(X, op="cumsum"), errors.UnknownOperatorError,
        ("an Op or one of sum, prod, mean,", "'cumsum'", "did you mean 'sum'?"),
    ),
    "operator argument of cumsum": (
        lambda: gpuprims.cumsum(X, "max"), errors.AxisError,
        ("an int", "'max'", "a scan goes along one axis"),
    ),
    "Op of a name": (
        lambda: gpuprims.Op("sum", 0), errors.ExpressionError,
        ("a function of two values of 1", "one of (sum)", "such as 'a + b'; operators with names need"),
    ),
    "Op of three values": (
        lambda: gpuprims.Op(lambda a, b, c: a + b + c, 0), errors.ExpressionError,
        ("a function of two values of 1", "one of (a, b, c)"),
    ),
    "Op of one value": (
        lambda: gpuprims.Op(lambda a: a, 0), errors.ExpressionError,
        ("a function of two values of 1", "one of (a)"),
    ),
    "Op without call": (
        lambda: gpuprims.Op(3, 0), errors.ExpressionError,
        ("a Python function or a string", "int"),
    ),
    "Op identity string": (
        lambda: gpuprims.reduce(X, op=gpuprims.Op(lambda a, b: a + b, "0")), errors.DtypeError,
        ("an identity that float64 can", "'0'"),
    ),
    "Op identity None": (
        lambda: gpuprims.reduce(X, op=gpuprims.Op(lambda a, b: a + b, None)), errors.DtypeError,
        ("an identity that float64 can", "None"),
    ),
    "Op with wrong components": (
        lambda: gpuprims.Op(lambda a, b: (a, b), 0), errors.ArgumentError,
        ("1 component(s), as the identity", "2"),
    ),
    "ddof of a sum": (
        lambda: gpuprims.reduce(X, op="sum", ddof=1), errors.ArgumentError,
        ("ddof for var, std, nanvar, nanstd only", "ddof=1"),
    ),
    "ddof text": (
        lambda: gpuprims.reduce(X, op="std", ddof="1"), errors.ArgumentError,
        ("a number", "'1'"),
    ),
    "compensated max": (
        lambda: gpuprims.reduce(X, op="max", compensated=True), errors.ArgumentError,
        ("compensated=True for sum and mean", "'max'"),
    ),
    "minimum of nothing": (
        lambda: gpuprims.reduce(np.zeros(0), op="min"), errors.EmptyReductionError,
        ("at least one element to fold", "shape (0,)"),
    ),
    "argmax of nothing along an axis": (
        lambda: gpuprims.reduce(np.zeros((3, 0)), op="argmax", axis=1), errors.EmptyReductionError,
        ("at least one element to fold", "shape (3, 0)"),
    ),
    "two arrays to sum": (
        lambda: gpuprims.reduce(X, X), errors.ArgumentError,
        ("1 array(s), or a map with as many", "2", "write axis= by its name, join arrays such"),
    ),
    "segments that decrease": (
        lambda: gpuprims.reduce(X[0], segments=[0, 2, 1, 3]), errors.ArgumentError,
        ("segments= that never decrease", "2 before 1 at index 1"),
    ),
    "segments beyond the end": (
        lambda: gpuprims.reduce(X[0], segments=[0, 2, 9]), errors.ArgumentError,
        ("segments= from 0 to 3, the number", "0 to 9"),
    ),
    "segments from one": (
        lambda: gpuprims.reduce(X[0], segments=[1, 3]), errors.ArgumentError,
        ("segments= from 0 to 3, the number", "1 to 3"),
    ),
    "segments of floats": (
        lambda: gpuprims.reduce(X[0], segments=[0.0, 3.0]), errors.DtypeError,
        ("segments= of integers", "dtype float64"),
    ),
    "segments of a matrix": (
        lambda: gpuprims.reduce(X, segments=[0, 3]), errors.ShapeError,
        ("arrays of one dimension and one", "(2, 3)", "write axis="),
    ),
    "segments with axis": (
        lambda: gpuprims.reduce(X[0], segments=[0, 3], axis=1), errors.AxisError,
        ("axis: from -1 to 0 for 1 dimension(s)", "1"),
    ),
    "segments a number": (
        lambda: gpuprims.reduce(X[0], segments=3), errors.ShapeError,
        ("segments= of one dimension, an", "()"),
    ),
    "segment starts alone": (
        lambda: gpuprims.scan(X[0], segments=[0, 2]), errors.ArgumentError,
        ("segments= from 0 to 3, the number", "0 to 2"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_message_says_the_rule_what_was_got_and_what_to_do(name: str) -> None:
    check(MISTAKES[name])
