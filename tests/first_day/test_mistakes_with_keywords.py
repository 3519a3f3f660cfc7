"""Mistakes of a first day: keywords."""

from __future__ import annotations

import numpy as np
import pytest
from mistakes import Mistake, check

import gpuprims
from gpuprims import errors

X = np.arange(6.0).reshape(2, 3)

MISTAKES: dict[str, Mistake] = {
    "axes in reduce": (
        lambda: gpuprims.reduce(X, axes=1), errors.UnknownKeywordError,
        ("keywords among op, map, axis,", "axes", "did you mean 'axis'?"),
    ),
    "operator keyword": (
        lambda: gpuprims.reduce(X, operator="max"), errors.UnknownKeywordError,
        ("keywords among op, map, axis,", "operator", "did you mean 'op'?"),
    ),
    "keepdim of torch": (
        lambda: gpuprims.reduce(X, axis=0, keepdim=True), errors.UnknownKeywordError,
        ("keywords among op, map, axis,", "keepdim", "did you mean 'keepdims'?"),
    ),
    "dim of torch": (
        lambda: gpuprims.reduce(X, dim=0), errors.UnknownKeywordError,
        ("keywords among op, map, axis,", "dim", "did you mean 'axis'?"),
    ),
    "exclusive in scan": (
        lambda: gpuprims.scan(X, exclusive=True), errors.UnknownKeywordError,
        ("keywords among op, map,", "exclusive", "did you mean 'inclusive'?"),
    ),
    "weight in histogram": (
        lambda: gpuprims.histogram(X, weight=X), errors.UnknownKeywordError,
        ("keywords among x, bins, range,", "weight", "did you mean 'weights'?"),
    ),
    "nbins in histogram": (
        lambda: gpuprims.histogram(X, nbins=5), errors.UnknownKeywordError,
        ("keywords among x, bins, range,", "nbins", "did you mean 'bins'?"),
    ),
    "density typo": (
        lambda: gpuprims.histogram(X, densty=True), errors.UnknownKeywordError,
        ("keywords among x, bins, range,", "densty", "did you mean 'density'?"),
    ),
    "minlen in bincount": (
        lambda: gpuprims.bincount([1], minlen=4), errors.UnknownKeywordError,
        ("keywords among x, weights,", "minlen", "did you mean 'minlength'?"),
    ),
    "sigm in blur": (
        lambda: gpuprims.blur(X, "gaussian", sigm=2), errors.UnknownKeywordError,
        ("keywords among image, kind, size,", "sigm", "did you mean 'sigma'?"),
    ),
    "boundary in stencil": (
        lambda: gpuprims.stencil(X, [1, 2, 1], boundary="wrap"), errors.UnknownKeywordError,
        ("keywords among x, weights, mode,", "boundary", "did you mean 'mode'?"),
    ),
    "devic in map": (
        lambda: gpuprims.map("x", X, devic="cpu"), errors.UnknownKeywordError,
        ("keywords among out, vector_axis,", "devic", "did you mean 'device'?"),
    ),
    "name the string lacks": (
        lambda: gpuprims.map("a*x", X, b=2), errors.UnknownKeywordError,
        ("keywords among out, vector_axis,", "b"),
    ),
    "unknown keyword in plan": (
        lambda: gpuprims.plan("reduce", X, opp="max"), errors.UnknownKeywordError,
        ("keywords among op, map, axis,", "opp", "did you mean 'op'?"),
    ),
    "unknown keyword in plan of map": (
        lambda: gpuprims.plan("map", "x+1", X, varient="grid"), errors.UnknownKeywordError,
        ("keywords among out, vector_axis,", "varient", "did you mean 'variant'?"),
    ),
    "unknown keyword in plan of histogram": (
        lambda: gpuprims.plan("histogram", X, bin=4), errors.UnknownKeywordError,
        ("keywords among bins, range,", "bin", "did you mean 'bins'?"),
    ),
    "variable of another name": (
        lambda: gpuprims.map(lambda x, y: x + y, X, z=X), errors.UnknownKeywordError,
        ("keywords among out, vector_axis,", "z"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_message_says_the_rule_what_was_got_and_what_to_do(name: str) -> None:
    check(MISTAKES[name])
