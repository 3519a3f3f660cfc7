"""Launches of the logistic gradient by the fixed tree."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.core.counters import with_counters
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.geometry import power_of_two
from gpuprims.core.launch_plan import in_turn
from gpuprims.core.layout import Layout
from gpuprims.expressions import TypedExpr, as_portable
from gpuprims.primitives.logistic.labelled import typed_loss
from gpuprims.primitives.logistic.tree import FixedLogisticSpec, tree_of
from gpuprims.primitives.logistic.variants import LogisticVariant
from gpuprims.primitives.rows import vector_of

# Words of rows that a work-item holds, and rows, at most.
_MOST_WORDS, _MOST_ROWS = 32, 8


def launch_fixed(chosen: LogisticVariant, layout: Layout, inputs: int, device: Device, *, by_columns: bool) -> Launch:
    """Return the launches that add the rows of parts, and the parts."""
    (n, features), able, dtype = layout.forms[0].shape, device.capabilities, layout.forms[1].dtype
    tree = tree_of(n, features, dtype.itemsize)
    held = tree.chunks * tree.vector * dtype.itemsize // 4
    rows = max(min(power_of_two(_MOST_WORDS // held + 1) // 2, _MOST_ROWS), 1)
    vector = tree.vector if chosen.vectors and vector_of(layout.forms[0]) == tree.vector else 1
    shared = {"vector": vector, "lanes": tree.lanes, "rows": rows, "tree": tree, "by_columns": by_columns}
    shared["loops"] = chosen.block == 1
    spec = FixedLogisticSpec.of(layout, inputs, _portable_loss(dtype), others=int(by_columns), **shared)
    kernel, packed = device.kernel(chosen, spec), layout.pack(0)
    groups = chosen.groups(tree.parts, able), chosen.groups(spec.sums, able)
    launches = [kernel.prepare(groups[step], packed, n, tree.parts, tree.rows, step) for step in range(2)]
    return with_counters(device, in_turn(launches), 1, tree.parts * spec.sums * dtype.itemsize)


@lru_cache(maxsize=2)
def _portable_loss(dtype: np.dtype[Any]) -> TypedExpr:
    return as_portable(typed_loss(dtype), settled=False)
