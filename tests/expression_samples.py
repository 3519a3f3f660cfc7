"""Arrays that tests evaluate expressions on."""

from __future__ import annotations

from typing import Any

import numpy as np

SAMPLE = np.array([-2.5, -1.0, -0.0, 0.5, 3.0])
OTHER = np.array([2.0, -3.0, 4.0, 0.25, 1.5])
WHOLE = np.array([-7, -1, 0, 5, 100])
STEP = np.array([3, 2, 1, 4, 6])


def same(got: Any, expected: Any) -> None:
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)
