"""Bins, elements and oracles for tests of histogram and bincount."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from kernel_cases import Kernel, assert_equal

import gpuprims
from gpuprims.errors import NoVariantError

# Even bins with exact edges, even bins with rounded edges, uneven bins, one bin, and more bins than guide cells.
BINS: dict[str, tuple[Any, Any]] = {
    "cells": (16, (-2.0, 2.0)),
    "rounded": (100, (-1.1, 1.7)),
    "edges": ([-2, -1.5, -1.4999, 0, 1e-3, 1e-3, 2.5], None),
    "one": (1, (-0.5, 0.5)),
    "many": (5000, (-1.0, 1.0)),
}


def histogram(kernel: Kernel, x: Any, *how: Any, **keywords: Any) -> Any:
    """Count by this variant; skip the test if the variant refuses the call."""
    try:
        return gpuprims.histogram(x, *how, device=kernel.device, variant=kernel.variant.name, **keywords)
    except NoVariantError as error:
        pytest.skip(str(error))


def bincount(kernel: Kernel, x: Any, **keywords: Any) -> Any:
    """Count by this variant; skip the test if the variant refuses the call."""
    try:
        return gpuprims.bincount(x, device=kernel.device, variant=kernel.variant.name, **keywords)
    except NoVariantError as error:
        pytest.skip(str(error))


def numpys(x: np.ndarray, *how: Any, **keywords: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy warns that it converts bools to bytes
        return np.histogram(x, *how, **keywords)


def assert_histogram(got: Any, expected: Any) -> None:
    for one, other in zip(got, expected, strict=True):
        assert_equal(one, other)


def spread_values(rng: np.random.Generator, dtype: Any, size: int) -> np.ndarray:
    """Return values around 0; floats include NaN, infinities, subnormals and both zeros."""
    dtype = np.dtype(dtype)
    if dtype.kind != "f":
        return rng.integers(0 if dtype.kind in "ub" else -3, 4, size).astype(dtype)
    x = rng.standard_normal(size).astype(dtype)
    special = [0, -0.0, np.nan, np.inf, -np.inf, np.finfo(dtype).tiny / 2, -np.finfo(dtype).tiny / 2, 2, -2, 1.7, -1.1]
    x[: min(size, 11)] = np.array(special, dtype)[: min(size, 11)]
    return x
