"""Arguments that calls with segments refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpuprims
from gpuprims.errors import ArgumentError, AxisError, DtypeError, ShapeError

X = np.arange(6, dtype=np.float32)
BAD = {
    "do not begin at 0": ({"segments": [1, 6]}, ArgumentError, r"segments= from 0 to 6, .*; got 1 to 6"),
    "do not end at the end": ({"segments": [0, 5]}, ArgumentError, r"segments= from 0 to 6, .*; got 0 to 5"),
    "go past the end": ({"segments": [0, 7]}, ArgumentError, r"segments= from 0 to 6, .*; got 0 to 7"),
    "are below 0": ({"segments": [0, -1, 6]}, ArgumentError, r"that never decrease; got 0 before -1 at index 0"),
    "fall": ({"segments": [0, 2, 4, 3, 6]}, ArgumentError, r"that never decrease; got 4 before 3 at index 2"),
    "are floats": ({"segments": [0.0, 6.0]}, DtypeError, r"of integers; got dtype float64"),
    "are truths": ({"segments": [False, True]}, DtypeError, r"of integers; got dtype bool"),
    "have two dimensions": ({"segments": [[0, 6]]}, ShapeError, r"of one dimension.*; got \(1, 2\)"),
    "are a number": ({"segments": 6}, ShapeError, r"of one dimension.*; got \(\)"),
    "are none": ({"segments": np.empty(0, np.int64)}, ShapeError, r"of one dimension.*; got \(0,\)"),
}


@pytest.mark.parametrize("function", [gpuprims.scan, gpuprims.reduce], ids=["scan", "reduce"])
@pytest.mark.parametrize("name", list(BAD))
def test_segments_that_are_none_are_named(device: gpuprims.Device, function: Callable[..., Any], name: str) -> None:
    keywords, error, said = BAD[name]
    with pytest.raises(error, match=f"^{function.__name__}: .*{said}"):
        function(X, device=device, **keywords)


def test_dimensions_are_not_kept(device: gpuprims.Device) -> None:
    with pytest.raises(ArgumentError, match=r"reduce: no keepdims= with segments=, which keep an axis; got .*True"):
        gpuprims.reduce(X, segments=[0, 6], keepdims=True, device=device)


@pytest.mark.parametrize("function", [gpuprims.scan, gpuprims.reduce], ids=["scan", "reduce"])
def test_arrays_are_of_one_dimension_and_one_length(device: gpuprims.Device, function: Callable[..., Any]) -> None:
    said = f"^{function.__name__}: arrays of one dimension and one length with segments=; got "
    with pytest.raises(ShapeError, match=said + r"\(2, 3\)"):
        function(X.reshape(2, 3), segments=[0, 6], device=device)
    with pytest.raises(ShapeError, match=said + r"\(6,\) and \(3,\)"):
        function(X, X[:3], map="x*y", segments=[0, 6], device=device)
    with pytest.raises(ShapeError, match=said + r"\(\)"):
        function(np.float32(3), segments=[0, 1], device=device)


def test_a_place_of_nothing_cannot_be_told(device: gpuprims.Device) -> None:
    with pytest.raises(ArgumentError, match=r"scan with argmax: inclusive=True.*; got inclusive=False"):
        gpuprims.scan(X, op="argmax", inclusive=False, segments=[0, 6], device=device)


def test_results_of_another_shape_are_refused(device: gpuprims.Device) -> None:
    with pytest.raises(ShapeError, match=r"reduce: .*\(2,\).*; got \(6,\)"):
        gpuprims.reduce(X, segments=[0, 3, 6], out=np.empty(6, np.float32), device=device)
    with pytest.raises(AxisError, match="'rows'"):
        gpuprims.scan(X, segments=[0, 6], axis="rows", device=device)
