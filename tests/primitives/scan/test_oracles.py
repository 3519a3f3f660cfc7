"""The oracles of scan, held against loops."""

from __future__ import annotations

import numpy as np
from kernel_cases import affine_scan
from scan_cases import affine_pair, places


def test_the_oracle_of_affine_maps_composes_one_by_one(rng: np.random.Generator) -> None:
    for size in (1, 2, 3, 4, 5, 99, 100, 101):
        slopes, offsets = affine_pair(rng, size)
        a, b = [slopes[0]], [offsets[0]]
        with np.errstate(over="ignore"):
            for slope, offset in zip(slopes[1:], offsets[1:], strict=True):
                b.append(b[-1] * slope + offset)
                a.append(a[-1] * slope)
        for got, expected in zip(affine_scan(slopes, offsets), (a, b), strict=True):
            assert got.tolist() == expected


def test_the_oracle_of_places_is_argmax_of_each_beginning(rng: np.random.Generator) -> None:
    x = rng.integers(0, 20, 60).astype(np.float32)
    for nans in ([], [17, 40]):
        x[nans] = np.nan
        assert places(x).tolist() == [np.argmax(x[: k + 1]) for k in range(60)]
        assert places(x, np.less).tolist() == [np.argmin(x[: k + 1]) for k in range(60)]
