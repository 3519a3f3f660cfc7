"""Thresholds: the first element of each bin, by the counts of numpy.histogram; and tables of edges, which are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from histogram_cases import assert_histogram
from hypothesis import example, given, settings
from hypothesis import strategies as st

import gpuprims
from gpuprims.primitives.histogram.thresholds import Order, find_thresholds

REAL = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64"]
ENDS = [
    0.0,
    -0.0,
    0.5,
    1e-60,
    -1e-60,
    1e-7,
    255,
    256,
    65504,
    65519,
    2.0**24 + 1,
    2.0**53,
    2.0**60,
    2.0**63,
    1e39,
    1e300,
]


def bins_of(elements: np.ndarray, edges: np.ndarray) -> list[int]:
    """Return NumPy's bin of each element, -1 below the first bin, and the number of bins above the last."""
    found = []
    for one in elements:
        counts = np.histogram(one[None], edges)[0]
        found.append(int(counts.argmax()) if counts.any() else -1 if one < edges[0] else counts.size)
    return found


@settings(deadline=None, max_examples=150)
@given(
    st.sampled_from(REAL),
    st.sampled_from(REAL),
    st.lists(st.one_of(st.sampled_from(ENDS), st.floats(-1e6, 1e6, width=32), st.floats(-1e20, 1e20)), min_size=2),
)
@example("int64", "float64", [2.0**60, 2.0**60 + 512, 2.0**63])
@example("float32", "float64", [-1e300, -1e-60, 1e-60, 1e39])
@example("float16", "float64", [65519, 65520, 1e9])
def test_a_bin_begins_at_its_first_element(elements: str, kind: str, drawn: list[float]) -> None:
    if np.dtype(kind).kind in "iu":
        least, most = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
        edges = np.array([min(max(int(edge), least), most) for edge in sorted(drawn)], kind)
    else:
        with np.errstate(over="ignore"):
            edges = np.sort(drawn).astype(kind)
    order = Order(np.dtype(elements))
    starts, last = find_thresholds(order, edges, None, edges, None)
    if starts[0] > last:
        every = np.array([order.lowest, order.numbers(np.zeros(1, elements))[0], order.highest])
        assert set(bins_of(order.elements(every), edges)) <= {-1, len(edges) - 1}
        return
    wanted = np.arange(starts.size)
    assert (np.array(bins_of(order.elements(starts), edges)) >= wanted).all()
    below = starts > order.lowest
    before = order.elements(starts[below] - np.uint64(1))
    assert (np.array(bins_of(before, edges)) < wanted[below]).all()
    assert bins_of(order.elements(last)[None], edges)[0] == len(starts) - 1
    if last < order.highest:
        assert bins_of(order.elements(last + np.uint64(1))[None], edges) == [len(edges) - 1]


@pytest.mark.parametrize("bins", [50, 70_000])
def test_edges_that_change_are_other_edges(device: gpuprims.Device, rng: np.random.Generator, bins: int) -> None:
    x, edges = rng.random(5000, np.float32), np.sort(rng.random(bins + 1)).astype(np.float32)
    for change in (1.0, 1.0, 0.5):
        edges *= np.float32(change)
        got: tuple[Any, Any] = gpuprims.histogram(x, edges, device=device)
        assert_histogram(got, np.histogram(x, edges))
    edges[0] = -0.0
    zero = np.array(edges)
    zero[0] = 0.0
    for one in (edges, zero):
        got = gpuprims.histogram(x, one, device=device)
        assert np.signbit(np.asarray(got[1])[0]) == np.signbit(one[0])
