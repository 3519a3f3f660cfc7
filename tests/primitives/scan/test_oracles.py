"""The oracles of scan, held against loops."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from kernel_cases import affine_scan
from scan_cases import places

INT64 = st.integers(-(2**63), 2**63 - 1)


@given(maps=st.lists(st.tuples(INT64, INT64), min_size=1, max_size=101))
def test_the_oracle_of_affine_maps_composes_one_by_one(maps: list[tuple[int, int]]) -> None:
    slopes, offsets = np.array(maps, np.int64).T
    a, b = [slopes[0]], [offsets[0]]
    with np.errstate(over="ignore"):
        for slope, offset in zip(slopes[1:], offsets[1:], strict=True):
            b.append(b[-1] * slope + offset)
            a.append(a[-1] * slope)
    for got, expected in zip(affine_scan(slopes, offsets), (a, b), strict=True):
        assert got.tolist() == expected


@given(x=hnp.arrays(np.float32, st.integers(1, 60), elements=st.integers(0, 20) | st.floats(width=32)))
def test_the_oracle_of_places_is_argmax_of_each_beginning(x: np.ndarray) -> None:
    assert places(x).tolist() == [np.argmax(x[: k + 1]) for k in range(x.size)]
    assert places(x, np.less).tolist() == [np.argmin(x[: k + 1]) for k in range(x.size)]
