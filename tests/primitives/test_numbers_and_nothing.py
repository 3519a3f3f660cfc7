"""Sorts, partitions and medians of numbers and of nothing, against NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import assert_equal, need, on_device, on_host

import gpuprims
from gpuprims.errors import AxisError

SHAPES: list[tuple[int, ...]] = [(), (0,), (0, 3), (3, 0), (0, 0), (2, 0, 3)]
DTYPES = ["bool", "int16", "float16", "float32", "float64"]
NAMES = ["sort", "argsort", "partition", "argpartition", "median"]


@pytest.mark.filterwarnings("ignore:(Mean of empty|invalid value):RuntimeWarning")  # NumPy's own, of medians
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_results_and_errors_are_numpys(device: gpuprims.Device, name: str, dtype: str) -> None:
    need(device, dtype, *["float64"] * (name == "median"))
    call, numpy_call = getattr(gpuprims, name), getattr(np, name)
    ranks = (0,) if "partition" in name else ()
    for shape in SHAPES:
        x = np.full(shape, 1, dtype)
        for axis in (None, 0, -1, 1):
            try:
                expected = np.asarray(numpy_call(x, *ranks, axis=axis))
            except np.exceptions.AxisError:
                with pytest.raises(AxisError):
                    call(x, *ranks, axis=axis, device=device)
                continue
            assert_equal(np.asarray(call(x, *ranks, axis=axis, device=device)), expected)


def test_medians_of_nothing_on_the_device(device: gpuprims.Device) -> None:
    x = np.zeros((4, 0), np.float32)
    there = on_device(device, x)
    for how in ({"axis": 1}, {"axis": 1, "keepdims": True}, {"axis": (0, 1)}):
        expected: Any = np.full({1: 4, (0, 1): ()}[how["axis"]], np.nan, np.float32)  # type: ignore[index]  # an axis
        got = np.asarray(on_host(device, gpuprims.median(there, **how)))  # type: ignore[arg-type]  # keywords
        assert_equal(got, expected.reshape(-1, 1) if "keepdims" in how else expected)
    out = np.zeros(4, np.float32)
    assert gpuprims.median(x, 1, out, device=device) is out
    assert np.isnan(out).all()
