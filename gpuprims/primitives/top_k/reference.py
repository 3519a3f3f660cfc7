"""top_k in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from gpuprims.primitives.ordering import orders_of
from gpuprims.primitives.reference import Places
from gpuprims.primitives.top_k.spec import TopKSpec


def top_k_numpy(
    spec: TopKSpec, memories: Sequence[np.ndarray], layout: np.ndarray, outputs: int, n: int, k: int
) -> None:
    """Sort each row with a stable sort, and take the first elements."""
    places = Places(spec, memories, layout)
    begins, ends = [0] * outputs, [n] * outputs
    if spec.segmented:
        offsets = places.see(1)  # the beginnings of segments, then the end of the last one
        every = as_strided(offsets, (outputs + 1,), offsets.strides[:1]).tolist()
        begins, ends = every[:-1], every[1:]
    inputs = len(spec.inputs)
    rows = places.see(0)
    axes = rows.ndim - 1 - len(spec.inputs[0].reduced)
    values, indices = (places.see(inputs + one)[..., 0] for one in range(2))
    for o in range(outputs):
        at = np.unravel_index(o, rows.shape[:axes]) if axes else ()
        row = rows[at].reshape(-1)[begins[o] : ends[o]]
        orders = orders_of(row)
        found = np.argsort(~orders if spec.largest else orders, kind="stable")[:k]
        to: tuple[Any, ...] = at
        if values.ndim > axes:
            to = (*at, *np.unravel_index(np.arange(k), values.shape[axes:]))
        else:  # the layout drops axes of length 1
            found = found[0]
        values[to], indices[to] = row[found], found
