"""Stencils, blurs and linear filters at the level "device": bits of each device against the reference's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpuprims
from gpuprims import ndimage

# Its factors are floats, so a product and a sum that are rounded once give other bits.
WEIGHTS = np.outer([0.1, 0.7, 0.3], [0.2, 0.9, 0.4, 0.8, 0.1])
UNEVEN = WEIGHTS + np.eye(3, 5) / 7
CALLS: dict[str, Callable[..., Any]] = {
    "two passes": lambda x, **how: gpuprims.stencil(x, WEIGHTS, **how),
    "one pass, twice": lambda x, **how: gpuprims.stencil(x, UNEVEN, mode="constant", cval=0.3, iterations=2, **how),
    "weights from memory": lambda x, **how: gpuprims.stencil(x, np.sin(np.arange(195).reshape(13, 15)), **how),
    "function": lambda x, **how: gpuprims.stencil(x, lambda n: np.exp(n[0, 1] * n[1, 0]) - n[-1, 0] / 3, **how),
    "gaussian": lambda x, **how: gpuprims.blur(x, "gaussian", sigma=1.2, mode="constant", cval=0.1, **how),
    "wide gaussian": lambda x, **how: gpuprims.blur(x, "gaussian", sigma=6, **how),
    "cross": lambda x, **how: gpuprims.blur(x, iterations=3, **how),
    "filter": lambda x, **how: ndimage.gaussian_filter(x, 1.5, **how),
    "convolve": lambda x, **how: gpuprims.convolve(x[0], [0.1, 0.2, 0.7], **how),
}


# Calls of the tests by default, which compile few kernels.
FEW = ("two passes", "weights from memory", "convolve")


def image(rng: np.random.Generator, dtype: Any) -> np.ndarray:
    x = rng.standard_normal((37, 131)).astype(dtype)
    x[3, 7], x[20, 100:102] = -np.nan, [np.inf, -np.inf]
    x[30, :40] = -0.0
    return x


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", [one if one in FEW else pytest.param(one, marks=pytest.mark.whole) for one in CALLS])
def test_same_bits_on_every_device(device: gpuprims.Device, rng: np.random.Generator, name: str, dtype: Any) -> None:
    if dtype is np.float64 and not device.capabilities.fp64:
        pytest.skip("needs float64")
    x = image(rng, dtype)
    with gpuprims.use_determinism("device"):
        got, expected = (CALLS[name](x, device=one) for one in (device, "reference"))
    assert got.tobytes() == expected.tobytes()
    np.testing.assert_allclose(got, CALLS[name](x, device=device), rtol=1e-3, atol=1e-4)
