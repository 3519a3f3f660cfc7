"""Arguments that scan refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpuprims
from gpuprims import errors

X = np.arange(6.0, dtype=np.float32).reshape(2, 3)

WRONG: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "no array": (lambda: gpuprims.scan(), errors.ArgumentError, "scan: at least one array; got none"),
    "an unknown operator": (lambda: gpuprims.scan(X, op="median"), errors.UnknownOperatorError, "op: .*; got 'median'"),
    "an operator of no kind": (lambda: gpuprims.scan(X, op=[1]), errors.UnknownOperatorError, r"op: .*; got \[1\]"),
    "an axis of half": (lambda: gpuprims.scan(X, axis=0.5), errors.AxisError, "axis: an int; got 0.5"),
    "an axis of truth": (lambda: gpuprims.scan(X, axis=True), errors.AxisError, "axis: an int; got True"),
    "two axes": (lambda: gpuprims.scan(X, axis=(0, 1)), errors.AxisError, r"axis: an int; got \(0, 1\)"),
    "an axis too far": (lambda: gpuprims.scan(X, axis=2), errors.AxisError, "from -2 to 1 for 2 dimension.*; got 2"),
    "an axis too far back": (lambda: gpuprims.scan(X, axis=-3), errors.AxisError, "from -2 to 1 .*; got -3"),
    "two arrays to sum": (lambda: gpuprims.scan(X, X), errors.ArgumentError, "got 2"),
    "too few arrays for a map": (lambda: gpuprims.scan(X, map=lambda x, y: x + y), errors.ArgumentError, "got 1"),
    "shapes that do not match": (
        lambda: gpuprims.scan(X, X[:, :2], map="x*y"), errors.ShapeError, r"\(2, 3\) and \(2, 2\)",
    ),
    "out= of another shape": (
        lambda: gpuprims.scan(X, axis=0, out=np.empty((3, 2), np.float32)), errors.ShapeError,
        r"scan: out= of the result's shape, \(2, 3\); got \(3, 2\)",
    ),
    "out= of another shape, of a flat scan": (
        lambda: gpuprims.scan(X, out=np.empty((2, 3), np.float32)), errors.ShapeError, r"\(6,\); got \(2, 3\)",
    ),
    "out= of another dtype": (
        lambda: gpuprims.scan(X, axis=0, out=np.empty((2, 3))), errors.DtypeError, "float32; got float64",
    ),
    "out= of too many": (
        lambda: gpuprims.scan(X, axis=0, out=(X.copy(), X.copy())), errors.ArgumentError, r"1 array\(s\).*; got 2",
    ),
    "an unknown variant": (lambda: gpuprims.scan(X, variant="fast"), errors.UnknownVariantError, "; got 'fast'"),
    "an unknown dtype": (lambda: gpuprims.scan(X, dtype="float33"), errors.DtypeError, "float33"),
    "strings": (lambda: gpuprims.scan(["a"]), errors.DtypeError, "<U1"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_scanned_is_named(case: str) -> None:
    call, error, message = WRONG[case]
    with gpuprims.use_device("reference"), pytest.raises(error, match=message) as raised:
        call()
    assert ": " in str(raised.value)
    assert "; got " in str(raised.value)


def test_an_unknown_keyword_is_not_swallowed() -> None:
    for function in (gpuprims.scan, gpuprims.cumsum, gpuprims.cumprod):
        with pytest.raises(TypeError, match="keepdims"):
            function(X, keepdims=True)
