"""Few distinct integers in a large range: a sample finds the values, and a histogram counts them in one pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.arrays import copy_on
from gpuprims.core.device import Device
from gpuprims.core.operands import as_operands
from gpuprims.expressions import Expr, trace
from gpuprims.primitives.grouping.indices import numbers
from gpuprims.primitives.grouping.runs import find_runs
from gpuprims.primitives.grouping.scanned_runs import Wanted
from gpuprims.primitives.histogram.bins import table_of_edges
from gpuprims.primitives.histogram.plan import count
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.sort.calls import in_order
from gpuprims.primitives.take import take

# Elements of a sample, and most values in it. It misses a value of frequency 1 / 4,096 once in 10^7 calls.
_SAMPLED, _MOST = 1 << 16, 1024
# Fewest elements: for fewer, a sort is faster than the sample and its waits.
_FEWEST = {"cpu": 1 << 22, "gpu": 1 << 25}  # rows: few
# Edges of bins are float64, which is exact for integers up to this one.
_EXACT = 2**53


def few_distinct(elements: Any, device: Device, *, counted: bool) -> tuple[Any, ...] | None:
    """Return the distinct integers in ascending order and, if ``counted``, how often each occurs.

    Return None if it needs a sort: there are many values, or the sample missed one. Each value ``v`` of the sample has
    a bin from ``v`` to ``v + 1``. The sample missed none if these bins count all elements.
    """
    size, able = int(elements.shape[0]), device.capabilities
    if elements.dtype.kind not in "iu" or not able.fp64 or size < _FEWEST.get(able.kind, _SAMPLED):
        return None
    places = map_arrays(_places(size // _SAMPLED), numbers(_SAMPLED, elements, device), device=device)
    operands = as_operands("unique", (take(elements, places, device=device),), device)
    ordered = in_order("unique", "keys", operands.natives, device)
    values = find_runs(operands, ordered, Wanted(values=True)).values
    if values.shape[0] > _MOST:
        return None
    found = [int(one) for one in operands.to_host(values)]
    if max(-found[0], found[-1]) + 2 >= _EXACT:
        return None
    wide = np.array(found, np.float64)
    edges = np.unique([*wide, *(wide + 1), wide[-1] + 2])  # the last bin includes its right edge
    table, bins = table_of_edges("unique", elements.dtype, edges), edges.size - 1
    counts = count(as_operands("unique", (elements,), device), table, bins, None).sums
    own: np.ndarray = np.searchsorted(edges, wide)
    if int(operands.to_host(counts)[own].sum()) != size:
        return None
    if not counted:
        return (values,)
    return values, take(counts, own if operands.on_host else copy_on(device, own), device=device)


def _places(stretch: int) -> Expr:
    """Return the function that maps the number of a sampled element to its place: one place in each stretch.

    The places look random, so that periodic elements do not bias the sample.
    """

    def place(number: Any) -> Any:
        wide = number.astype(np.int64)
        return wide * stretch + (wide * 0x9E3779B1 >> 11) % stretch

    return trace(place, 1)
