"""Exact sums that are not rounded: words of devices are the reference's, add up, and round to what reduce gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpuprims
from gpuprims.errors import NoVariantError
from gpuprims.operators import find_op
from gpuprims.primitives.exact_sums import add_limbs, round_limbs, words_of
from gpuprims.primitives.reduce.limbs import sum_limbs

SUM = find_op("sum")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_words_of_parts_add_up_to_the_exact_sum(device: gpuprims.Device, dtype: str, rng: np.random.Generator) -> None:
    if not device.capabilities.fp64:
        pytest.skip("exact sums need float64")
    for shape, axis in (((70_001,), None), ((5, 40, 6), 1), ((5, 40, 6), (0, 2)), ((3, 0), 1), ((2049, 3), 0)):
        x = (rng.standard_normal(shape) * 2.0 ** rng.integers(-90, 90, shape)).astype(dtype)
        given = device.asarray(x)
        words = device.to_host(sum_limbs(given, op=SUM, axis=axis))
        wanted = gpuprims.reduce(x, axis=axis, device="reference", determinism="order")
        assert words.shape == (*np.shape(wanted), words_of(np.dtype(dtype)))
        np.testing.assert_array_equal(words, sum_limbs(x, op=SUM, axis=axis, device="reference"))
        np.testing.assert_array_equal(round_limbs(words, np.dtype(dtype)), wanted)
        assert round_limbs(words, np.dtype(dtype)).shape == np.shape(wanted)
        parts: list[Any] = [words, words, device.to_host(sum_limbs(device.asarray(-x), op=SUM, axis=axis))]
        np.testing.assert_array_equal(round_limbs(add_limbs(parts), np.dtype(dtype)), wanted)


def test_other_folds_are_refused() -> None:
    for name in ("prod", "var"):
        with pytest.raises(NoVariantError, match="a fold that adds"):
            sum_limbs(np.ones(3), op=find_op(name), device="reference")
    with pytest.raises(NoVariantError, match="a fold that adds"):
        sum_limbs(np.arange(3), op=SUM, device="reference")
