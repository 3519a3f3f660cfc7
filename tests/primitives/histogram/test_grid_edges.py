"""Grids of even bins: elements near edges, on the outer ones, outside, and not finite."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from histogram_cases import spread_values
from kernel_cases import Kernel, assert_equal

import gpuprims
from gpuprims.errors import NoVariantError

LIMITS = [(0.0, 1.0), (-2.0, 2.0), (-1.1, 1.7), (0.3, 0.30001), (-1e30, 3e30), (1000.1, 1000.9), (0.0, 1e-38)]


def around(elements: np.ndarray) -> np.ndarray:
    """Return elements, and their neighbours up to the third on both sides."""
    if elements.dtype.kind != "f":
        return np.concatenate([elements.astype(np.int64) + k for k in range(-3, 4)]).astype(elements.dtype)
    found = [elements]
    for end in (-np.inf, np.inf):
        near = elements
        for _ in range(3):
            near = np.nextafter(near, elements.dtype.type(end))
            found.append(near)
    return np.concatenate(found)


def counted(kernel: Kernel, x: Any, y: Any, how: dict[str, Any]) -> Any:
    try:
        return gpuprims.histogram2d(x, y, device=kernel.device, variant=kernel.variant.name, **how)[0]
    except NoVariantError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("limits", LIMITS)
def test_elements_near_edges_and_outside(
    histogram_kernel: Kernel, rng: np.random.Generator, dtype: str, limits: tuple[float, float]
) -> None:
    histogram_kernel.need(dtype)
    for bins in (1, 2, 7, 64, 213):
        how = {"bins": (bins, 3), "range": (limits, (0, 1))}
        edges = np.linspace(*limits, bins + 1).astype(dtype)
        extremes = np.array([np.inf, -np.inf, np.nan, 0, -0.0, np.finfo(dtype).max, np.finfo(dtype).min], dtype)
        inside = rng.uniform(*limits, 3000).astype(dtype)
        x = rng.permutation(
            np.concatenate([around(edges), extremes, inside, inside * 3 - inside[::-1], np.repeat(edges[[0, -1]], 500)])
        )
        y = rng.uniform(-0.2, 1.2, x.size).astype(dtype)
        known = ~np.isnan(x)
        expected = np.histogram2d(x[known], y[known], **how)[0]
        assert_equal(counted(histogram_kernel, x, y, how), expected)
        turned = {name: pair[::-1] for name, pair in how.items()}
        assert_equal(counted(histogram_kernel, y, x, turned), expected.T)


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64", "int16"])
def test_integers_that_wrap(histogram_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    histogram_kernel.need(dtype)
    ends = np.iinfo(dtype)
    x = np.concatenate([spread_values(rng, dtype, 3000), around(np.arange(100, 200, 9).astype(dtype))])
    x = np.concatenate([x, np.array([ends.min, ends.min + 1, ends.max, ends.max - 1], dtype)])
    y = rng.permutation(x)
    for low, high, bins in ((100, 200, 10), (100, 199, 33), (101.5, 150.5, 49), (0, 2**15 - 1, 64)):
        how = {"bins": bins, "range": ((low, high), (low, high))}
        assert_equal(counted(histogram_kernel, x, y, how), np.histogram2d(x, y, **how)[0])
