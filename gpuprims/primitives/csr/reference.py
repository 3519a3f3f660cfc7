"""csr in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from gpuprims.primitives.csr.spec import TREE_LANES, CsrSpec
from gpuprims.primitives.fixed_lanes import folded_lanes, settled

# Rows whose lanes are in memory at once.
_ROWS = 1 << 14


def csr_numpy(spec: CsrSpec, memories: Sequence[np.ndarray], layout: np.ndarray, n: int) -> None:
    """Multiply the stored elements by the rows of the dense matrix, and add the products of a row by a fixed tree."""
    elements, places, begins, dense, product = memories
    beside, to = dense.reshape(len(dense), -1), product.reshape(n, -1)
    for top in range(0, n, _ROWS):
        ends = begins[top : top + _ROWS + 1]
        own = slice(int(ends[0]), int(ends[-1]))
        lanes = _lanes_of(spec, elements[own], beside[places[own]], np.diff(ends))
        to[top : top + _ROWS] = settled(elements.dtype)(folded_lanes(lanes))[0]


def _lanes_of(spec: CsrSpec, elements: np.ndarray, beside: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the sums of each row's lanes: every ``TREE_LANES``-th product, in order."""
    rows = np.repeat(np.arange(len(lengths)), lengths)
    within = np.arange(len(elements)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    turns, lanes = np.divmod(within, TREE_LANES)
    sums = np.zeros((len(lengths), TREE_LANES, beside.shape[1]), elements.dtype)
    order = np.argsort(turns, kind="stable")
    bounds = np.searchsorted(turns[order], np.arange(turns.max(initial=-1) + 2))
    products = spec.map(elements[:, np.newaxis], beside)[0]
    for first, last in pairwise(bounds.tolist()):
        some = order[first:last]  # one product for each lane at most
        sums[rows[some], lanes[some]] += products[some]
    return sums
