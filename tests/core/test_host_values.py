"""Arguments that the host reads: they may lie on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpuprims
from gpuprims import ndimage

LINE, TABLE = np.float32([1, 2, 3]), np.float32([[0, 1, 0], [1, 2, 1], [0, 1, 0]])
EDGES = np.linspace(-3, 3, 9, dtype=np.float32)
CALLS = {
    "stencil": (lambda x, w, on: gpuprims.stencil(x, w, **on), TABLE),
    "correlate": (lambda x, w, on: ndimage.correlate(x, w, **on), TABLE),
    "convolve1d": (lambda x, w, on: ndimage.convolve1d(x, w, **on), LINE),
    "median_filter": (lambda x, w, on: ndimage.median_filter(x, footprint=w, **on), TABLE > 0),
    "grey_dilation": (lambda x, w, on: ndimage.grey_dilation(x, structure=w, **on), TABLE),
    "binary_erosion": (lambda x, w, on: ndimage.binary_erosion(x, w, **on), TABLE > 0),
    "quantile": (lambda x, w, on: gpuprims.quantile(x, w, **on), np.array([0.1, 0.5])),
    "histogram": (lambda x, w, on: gpuprims.histogram(x, w, **on), EDGES),
    "histogramdd": (lambda x, w, on: gpuprims.histogramdd((x[0], x[1]), [w, w], **on), EDGES),
}


@pytest.mark.parametrize("name", CALLS)
def test_on_a_device(device: gpuprims.Device, rng: np.random.Generator, name: str) -> None:
    call, values = CALLS[name]
    x, on = rng.standard_normal((20, 30)).astype(np.float32), {"device": device}
    expected = call(x, values, on)
    there = device.asarray(x)
    for given in (values, device.asarray(values)):
        assert_alike(device, call(there, given, {}), expected)
        assert_alike(device, call(x, given, on), expected)


def assert_alike(device: gpuprims.Device, found: Any, expected: Any) -> None:
    if isinstance(expected, tuple | list):
        for one, other in zip(found, expected, strict=True):
            assert_alike(device, one, other)
    else:
        array = found if isinstance(found, np.ndarray | np.generic) else device.to_host(found)
        np.testing.assert_array_equal(array, expected)
