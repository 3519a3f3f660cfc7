"""Arguments that histogram and bincount refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import on_device

import gpuprims
from gpuprims.errors import ArgumentError, AxisError, DeviceMismatchError, DtypeError, ShapeError, UnknownVariantError


@pytest.mark.parametrize(
    ("error", "message", "how"),
    [
        (ArgumentError, "a positive number of bins, or their edges; got 0", {"bins": 0}),
        (ArgumentError, "a positive number of bins, or their edges; got 2.5", {"bins": 2.5}),
        (ArgumentError, "a rule among auto, doane, fd, rice, scott, sqrt, stone, sturges; got 'f'", {"bins": "f"}),
        (ArgumentError, "bin edges must not decrease or be NaN", {"bins": [0, 2, 1]}),
        (ArgumentError, "bin edges must not decrease or be NaN", {"bins": [0, np.nan]}),
        (ArgumentError, "two edges or more", {"bins": [1]}),
        (ArgumentError, "two edges or more, of real numbers", {"bins": ["a", "b"]}),
        (ShapeError, "edges of one dimension", {"bins": [[0, 1], [2, 3]]}),
        (ArgumentError, r"range=\(low, high\), finite numbers with low <= high", {"range": (1, 0)}),
        (ArgumentError, r"range=\(low, high\), finite numbers with low <= high", {"range": (0, np.inf)}),
        (ArgumentError, r"range=\(low, high\)", {"range": 3}),
        (ArgumentError, r"range=\(low, high\)", {"range": (0j, 1j)}),
        (ArgumentError, "a number of bins, or their edges", {"bins": [[1], [2, 3]]}),
        (ArgumentError, "at most 2\\^30 bins", {"bins": 2**31}),
        (ArgumentError, "bins that floats can tell apart", {"bins": 10, "range": (1.0, np.nextafter(1, 2))}),
        (ShapeError, "weights of the array's shape", {"weights": [1, 2]}),
        (DtypeError, "real weights", {"weights": [1j, 2, 3]}),
        (AxisError, "from -1 to 0 for 1 dimension.*; got 1", {"axis": 1}),
        (AxisError, "an int or a tuple of ints; got True", {"axis": True}),
        (AxisError, "each axis once", {"axis": (0, 0)}),
    ],
)
def test_arguments_that_do_not_fit(device: gpuprims.Device, error: type, message: str, how: dict[str, Any]) -> None:
    with pytest.raises(error, match=message):
        gpuprims.histogram([1.0, 2.0, 3.0], device=device, **how)


def test_a_range_of_whole_numbers_beyond_int64(device: gpuprims.Device) -> None:
    with pytest.raises(ArgumentError, match="a range of whole numbers that int64 holds"):
        gpuprims.histogram(np.arange(3, dtype=np.uint64), range=(0, 2**63), device=device)


def test_an_unknown_variant_of_nothing(device: gpuprims.Device) -> None:
    for call in (gpuprims.histogram, gpuprims.bincount):
        with pytest.raises(UnknownVariantError, match="abacus"):
            call(np.zeros(0, np.int64), device=device, variant="abacus")


def test_elements_that_have_no_bin_at_all(device: gpuprims.Device) -> None:
    with pytest.raises(DtypeError, match="real numbers, which have an order; got dtype complex128"):
        gpuprims.histogram([1j], device=device)
    for bad in (np.nan, np.inf):
        with pytest.raises(ArgumentError, match="finite elements where range= is not given"):
            gpuprims.histogram([1, bad], device=device)
    with pytest.raises(DtypeError, match="integers; got dtype float64"):
        gpuprims.bincount([1.0], device=device)
    with pytest.raises(ArgumentError, match="at most 2\\^30 bins; got 18446744073709551616"):
        gpuprims.bincount(np.uint64([1, 2**64 - 1]), device=device)
    with pytest.raises(ShapeError, match="an array of one dimension, or axis="):
        gpuprims.bincount([[1]], device=device)
    for minlength in (-1, 2.5, None, True):
        with pytest.raises(ArgumentError, match=f"minlength= a non-negative integer; got {minlength}"):
            gpuprims.bincount([1], minlength=minlength, device=device)


def test_arrays_of_two_places(device: gpuprims.Device) -> None:
    if device.backend == "reference":
        pytest.skip("the reference device has no arrays of its own")
    resident = on_device(device, np.ones(3, np.float32))
    with pytest.raises(DeviceMismatchError):
        gpuprims.histogram(resident, weights=np.ones(3), device=device)
