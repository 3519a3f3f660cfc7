"""histogram in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

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
    keys, *weights = Places(spec, memories, layout).elements(kept, n)
    if spec.kind == "direct":
        found = np.where(keys < 0, bins + 1, np.minimum(keys, bins)).astype(np.int64)
    else:
        thresholds = table[TABLE_HEADER:].view(keys.dtype)[: bins + 1]
        found = np.searchsorted(thresholds[:-1], keys, "right") - 1
        found = np.where((keys >= thresholds[0]) & (keys <= thresholds[-1]), found, bins)
    sums = histograms.view(spec.dtype).reshape(-1, kept, bins + 2)
    sums[...] = 0
    for k in range(kept):
        np.add.at(sums[0, k], found[k], weights[0][k].astype(spec.dtype) if weights else 1)
