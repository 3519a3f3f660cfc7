"""Sorts of segments against NumPy's sorts of each."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from grouping_cases import repeated
from tricky_data import tricky

from gpuprims.errors import ArgumentError, AxisError, DtypeError
from gpuprims.primitives.sort.segments import argsort_segments, sort_segments

USUAL: dict[str, Any] = {"axis": -1, "descending": False, "out": None, "variant": None}
# Row offsets: none, one, empty ones, of one length, and so many that their numbers take 1, 2 and 4 bytes.
LENGTHS = {
    "nothing": [0, 0],
    "no segments": [],
    "one": [5000],
    "empty ones": [0, 0, 7, 0, 1, 0],
    "rows": [40] * 200,
    "pairs": [2] * 500,
    "skewed": [1] * 254 + [9000],
    "256": [3] * 255 + [4],
    "many": [3] * 65535 + [2] * 3,
}


def offsets_of(name: str) -> np.ndarray:
    return np.cumsum([0, *LENGTHS[name]])


@pytest.mark.parametrize("name", LENGTHS)
@pytest.mark.parametrize("descending", [False, True])
def test_each_segment_in_order(place, rng, name, descending):
    offsets = offsets_of(name)
    x = repeated(rng, offsets[-1], "float32")
    how = USUAL | {"descending": descending, "device": place.device}
    given = place.given(x), place.given(offsets)
    found, order = place.host(sort_segments(*given, **how)), place.host(argsort_segments(*given, **how))
    assert order.dtype == np.int64
    number = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    falls = -np.nan_to_num(x, nan=1e9) if descending else x  # NaN after all numbers, first if descending
    expected = np.lexsort((falls, number))
    np.testing.assert_array_equal(order, expected)
    np.testing.assert_array_equal(found, x[expected])


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "uint64", "float16", "float64"])
def test_dtypes(device, rng, dtype):
    offsets = offsets_of("skewed")
    x = repeated(rng, offsets[-1], dtype)
    found, order = sort_segments(x, offsets, device, **USUAL), argsort_segments(x, offsets, device, **USUAL)
    assert found.dtype == x.dtype
    for first, end in itertools.pairwise(offsets):
        np.testing.assert_array_equal(found[first:end], np.sort(x[first:end]))
        np.testing.assert_array_equal(order[first:end] - first, np.argsort(x[first:end], kind="stable"))


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_segments_that_are_hard(device, rng, dtype):
    lengths = [0, 1, 5000, 30, 0, 2, 9000, 300]
    parts = [x for n in lengths for x in tricky(rng, n, dtype).values()]
    x, offsets = np.concatenate(parts), np.cumsum([0, *map(len, parts)])
    found, order = sort_segments(x, offsets, device, **USUAL), argsort_segments(x, offsets, device, **USUAL)
    places = [first + np.argsort(part, kind="stable") for first, part in zip(offsets, parts, strict=False)]
    np.testing.assert_array_equal(order, np.concatenate(places))
    assert found.tobytes() == x[np.concatenate(places)].tobytes()


def test_strided_elements(place, rng):
    whole = repeated(rng, 3000, "int32")
    x, offsets = place.given(whole)[::3], [0, 10, 10, 1000]
    expected = [*np.sort(whole[::3][:10]), *np.sort(whole[::3][10:])]
    np.testing.assert_array_equal(place.host(sort_segments(x, offsets, place.device, **USUAL)), expected)


def test_refusals():
    x, at = np.arange(6.0), {"device": "reference"}
    with pytest.raises(AxisError, match="sort: one axis with segments=; got axis=None"):
        sort_segments(x, [0, 6], **USUAL | {"axis": None}, **at)
    with pytest.raises(DtypeError, match="argsort: out= of the result's dtype, int64"):
        argsort_segments(x, [0, 6], **USUAL | {"out": x.copy()}, **at)
    with pytest.raises(ArgumentError, match="sort: segments= from 0 to 6"):
        sort_segments(x, [0, 5], **USUAL, **at)
    with pytest.raises(ArgumentError, match="never decrease; got 4 before 3"):
        sort_segments(x, [0, 4, 3, 6], **USUAL, **at)
    with pytest.raises(DtypeError, match="argsort: real elements"):
        argsort_segments(x.astype(complex), [0, 1, 6], **USUAL, **at)
    with pytest.raises(ArgumentError, match="descending= True or False"):
        sort_segments(x, [0, 1, 6], **USUAL | {"descending": "yes"}, **at)


def test_few_elements_whose_marks_numpy_reads(device, rng, numpy_computes):
    offsets = np.array([0, 2, 2, 3, 8, 500, 700])
    for size in (8, 700):
        x, own = rng.integers(-20, 20, size), offsets[offsets <= size]
        for _ in range(3):
            expected = np.concatenate([np.sort(x[begin:end]) for begin, end in itertools.pairwise(own)])
            np.testing.assert_array_equal(sort_segments(x, own, **USUAL, device=device), expected)
