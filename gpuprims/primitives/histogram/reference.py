"""histogram in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuprims.primitives.histogram.spec import TABLE_HEADER, HistogramSpec
from gpuprims.primitives.reference import Places


def histogram_numpy(
    spec: HistogramSpec,
    memories: Sequence[np.ndarray],
    layout: np.ndarray,
    kept: int,
    n: int,
    bins: int,
    parts: int,
    replicas: int,
) -> None:
    """Find each element's bin by the thresholds, and add in order to the first part and replica."""
    histograms, table = memories[len(spec.inputs) :]
    if spec.sums not in ("counts", "integers", "floats"):
        raise TypeError(f"histogram_numpy: bins of counts, integers or floats, added in order; got {spec.sums}")
    values = Places(spec, memories, layout).elements(kept, n)
    keys, weights = values[: spec.keys.arrays], values[spec.keys.arrays :]
    if spec.kind == "direct":
        found = np.where(keys[0] < 0, bins + 1, np.minimum(keys[0], bins)).astype(np.int64)
    elif spec.keys.grid:
        found = _places_in_grid(spec, keys, table, bins)
    else:
        found = _bins_of(keys[0], table, bins)
    sums = histograms.view(spec.dtype).reshape(-1, kept, bins + 2)
    sums[...] = 0
    for k in range(kept):
        np.add.at(sums[0, k], found[k], weights[0][k].astype(spec.dtype) if weights else 1)


def _bins_of(keys: np.ndarray, table: np.ndarray, bins: int) -> np.ndarray:
    """Return the bin of each key, or the number of bins."""
    thresholds = table[TABLE_HEADER:].view(keys.dtype)[: bins + 1]
    found = np.searchsorted(thresholds[:-1], keys, "right") - 1
    return np.where((keys >= thresholds[0]) & (keys <= thresholds[-1]), found, bins)


def _places_in_grid(spec: HistogramSpec, keys: Sequence[np.ndarray], table: np.ndarray, bins: int) -> np.ndarray:
    """Return the place of each element in a grid of bins, whose table ``places.h`` describes."""
    places: Any = keys[0].astype(np.int64) * int(table[2 * spec.keys.axes]) if spec.keys.rows else 0
    inside: Any = True
    for axis, own in enumerate(keys[spec.keys.rows :]):
        begin, lengths = int(table[2 * axis]), int(table[2 * axis + 1])
        length = lengths & 0xFFFFFFFF
        found = _bins_of(own, table[begin:], length)
        inside, places = inside & (found < length), places + found * (lengths >> 32)
    return np.where(inside, places, bins)
