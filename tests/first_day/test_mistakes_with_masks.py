"""Mistakes of a first day: where=, initial= and reverse=, functions as operators, and batches of models."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest
from mistakes import Mistake, check

import gpuprims
from gpuprims import errors
from gpuprims.models import LogReg, LogRegBatch

V, N = np.arange(6.0), np.arange(6)
X, Y = np.arange(24.0).reshape(2, 4, 3), np.array([[0, 1, 0, 1], [1, 0, 1, 0]])


class Sparse:
    """A sparse matrix, as far as its class tells."""

    shape = 4, 3

    def toarray(self) -> np.ndarray:
        """Return the elements."""
        return X[0]


MISTAKES: dict[str, Mistake] = {
    "a condition in words": (
        lambda: gpuprims.reduce(V, where="x > 2"), errors.ArrayError,
        ("reduce: where= an array of bools", "'x > 2'", "write where=gpuprims.map('x > 2', x)"),
    ),
    "a condition as a function": (
        lambda: gpuprims.reduce(V, where=lambda v: v > 2), errors.ArrayError,
        ("reduce: where= an array of bools", "function", "write where=gpuprims.map(fn, x)"),
    ),
    "a condition by key": (
        lambda: gpuprims.reduce(V, by=N, where="x > 2"), errors.ArrayError,
        ("reduce: where= an array of bools", "'x > 2'"),
    ),
    "a mask of ints": (
        lambda: gpuprims.reduce(V, where=N), errors.DtypeError,
        ("reduce with sum: where= of bools", "int64", "write where=mask != 0"),
    ),
    "a mask that may leave nothing": (
        lambda: gpuprims.reduce(V, op="max", where=V > 9), errors.ArgumentError,
        ("reduce with max: initial= beside where=", "where= alone"),
    ),
    "a mask in scan": (
        lambda: gpuprims.scan(V, where="x > 2"), errors.ArrayError,
        ("scan: where= an array of bools", "'x > 2'", "where=gpuprims.map('x > 2', x)"),
    ),
    "initial a word": (
        lambda: gpuprims.reduce(V, initial="0"), errors.ArgumentError, ("reduce with sum: initial= a number", "'0'"),
    ),
    "initial an array": (
        lambda: gpuprims.reduce(V, initial=V), errors.ArgumentError, ("reduce with sum: initial= a number", "array"),
    ),
    "initial of a mean": (
        lambda: gpuprims.reduce(V, op="mean", initial=3), errors.ArgumentError, ("reduce with mean: no initial=", "3"),
    ),
    "initial complex": (
        lambda: gpuprims.reduce(V, initial=1j), errors.DtypeError, ("Op 'sum': initial= that float64 can hold", "1j"),
    ),
    "initial of half": (
        lambda: gpuprims.reduce(N, op="max", initial=2.5), errors.DtypeError,
        ("Op 'max': initial= that int64 can hold", "2.5"),
    ),
    "reverse a word": (
        lambda: gpuprims.scan(V, reverse="yes"), errors.ArgumentError, ("scan: reverse= True or False", "'yes'"),
    ),
    "reverse a step": (
        lambda: gpuprims.scan(V, reverse=-1), errors.ArgumentError, ("scan: reverse= True or False", "-1"),
    ),
    "reverse a word in a plan": (
        lambda: gpuprims.plan("scan", V, reverse="yes"), errors.ArgumentError,
        ("scan: reverse= True or False", "'yes'"),
    ),
    "inclusive a word": (
        lambda: gpuprims.scan(V, inclusive="no"), errors.ArgumentError, ("scan: inclusive= True or False", "'no'"),
    ),
    "np.median as an operator": (
        lambda: gpuprims.reduce(V, op=np.median), errors.UnknownOperatorError,
        ("op: an Op or one of sum,", "function median", "write gpuprims.median(x)"),
    ),
    "sorted as an operator": (
        lambda: gpuprims.reduce(V, op=sorted), errors.UnknownOperatorError,
        ("op: an Op or one of sum,", "sorted", "write gpuprims.sort(x)"),
    ),
    "a difference as an operator": (
        lambda: gpuprims.reduce(V, op=operator.sub), errors.UnknownOperatorError,
        ("op: an Op or one of sum,", "function sub", "make an operator of an associative function"),
    ),
    "a class as an operator": (
        lambda: gpuprims.reduce(V, op=int), errors.UnknownOperatorError,
        ("op: an Op or one of sum,", "<class 'int'>", "make an operator of an associative function"),
    ),
    "math.fsum as an operator": (
        lambda: gpuprims.scan(V, op=math.fsum), errors.UnknownOperatorError,
        ("op: an Op or one of sum,", "fsum", "make an operator of an associative function"),
    ),
    "several operators": (
        lambda: gpuprims.group_by(N, V, op=["sum", "mean"]), errors.UnknownOperatorError,
        ("op: an Op or one of sum,", "['sum', 'mean']", "one operator in each call"),
    ),
    "solver of many models": (
        lambda: LogRegBatch(solver="lbfgs"), errors.UnknownKeywordError,
        ("LogRegBatch: keywords among device, C,", "solver", "every problem is fitted by Newton's method"),
    ),
    "penalty of many models": (
        lambda: LogRegBatch(penalty=None), errors.UnknownKeywordError,
        ("LogRegBatch: keywords among device, C,", "penalty", "C=np.inf has none"),
    ),
    "penalty of scikit-learn": (
        lambda: LogReg(penalty="lasso").fit(X, Y), errors.ArgumentError,
        ("LogReg: penalty= one of 'elasticnet',", "'lasso'", "'l1'"),
    ),
    "a parameter misspelt": (
        lambda: LogReg(class_wieght="balanced"), errors.UnknownKeywordError,
        ("LogReg: keywords among backend,", "class_wieght", "did you mean 'class_weight'?"),
    ),
    "fit_intercept a word": (
        lambda: LogRegBatch(fit_intercept="no").fit(X, Y), errors.ArgumentError,
        ("LogRegBatch: fit_intercept= True or False", "'no'"),
    ),
    "three penalties of two problems": (
        lambda: LogRegBatch(C=[1, 2, 3]).fit(X, Y), errors.ShapeError,
        ("LogRegBatch: one number of problems", "2 of X, 2 of y, 3 of C"),
    ),
    "weights of another length": (
        lambda: LogRegBatch().fit(X, Y, np.ones(3)), errors.ShapeError,
        ("LogRegBatch: sample_weight of shape (B, 4) or (4,)", "(3,)"),
    ),
    "labels minus one and one": (
        lambda: LogRegBatch().fit(X, 2 * Y - 1), errors.ArgumentError,
        ("LogRegBatch: labels 0 and 1, or bools", "other ones in problems 0, 1", "such as y == 1"),
    ),
    "labels that are words": (
        lambda: LogRegBatch().fit(X, Y.astype(str)), errors.DtypeError,
        ("LogRegBatch: labels 0 and 1, or bools", "dtype <U", 'y == "yes"'),
    ),
    "samples of one axis": (
        lambda: LogRegBatch().fit(V, N > 2), errors.ShapeError,
        ("LogRegBatch: X of shape (n_problems, n_samples, n_features) or (n_samples, n_features)", "(6,)"),
    ),
    "sparse samples of many models": (
        lambda: LogRegBatch().fit(Sparse(), Y[0]), errors.ArrayError,
        ("LogRegBatch: dense samples", "Sparse", "pass X.toarray(), or fit each problem by LogReg"),
    ),
    "offsets that fall": (
        lambda: LogRegBatch().fit(X[0], Y[0], offsets=[0, 3, 2]), errors.ArgumentError,
        ("LogRegBatch: offsets that rise from 0 to 4, the rows of X", "[0, 3, 2]"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_message_says_the_rule_what_was_got_and_what_to_do(name: str) -> None:
    check(MISTAKES[name])
