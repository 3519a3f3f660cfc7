"""Calls of top_k and of selections that cover the texts of their kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from idle_arrays import resident

import gpuprims
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.operands import as_operands
from gpuprims.primitives.selection.plan import SelectionRequest, beside_arrays, plan_call

_LONG = 1 << 22


def _selected(x: Any, axes: tuple[int, ...], **where: Any) -> Any:
    operands = as_operands("selection", (x,), where.get("device"))
    beside = beside_arrays(operands, np.asarray([3, 5]))
    return find_plan(plan_call, beside, SelectionRequest(axes), None, where.get("variant")).run(beside, None)


TOP_K: dict[str, Callable[..., Any]] = {
    "float32, many": lambda **where: gpuprims.top_k(resident(_LONG), 5000, **where),
    "the smallest float64 and float16 of rows": lambda **where: [
        gpuprims.top_k(resident(99, 3000, dtype=dtype), 9, axis=axis, largest=False, **where)
        for dtype, axis in (("f8", 1), ("f2", 0))
    ],
    "bools, and bytes that do not lie together": lambda **where: [
        gpuprims.top_k(resident(50, 90, dtype=dtype)[::2, ::3], 7, **where) for dtype in ("?", "i1")
    ],
    "segments": lambda **where: gpuprims.top_k(resident(500), 3, segments=np.arange(0, 501, 50), **where),
}
_FEW = {name: call for name, call in TOP_K.items() if name not in ("float32, many", "segments")}
_FEW["float32, few"] = lambda **where: gpuprims.top_k(resident(_LONG), 1000, **where)
_SHORT_ROWS = {name: call for name, call in TOP_K.items() if name != "float32, many"}
SELECTIONS: dict[str, Callable[..., Any]] = {
    "median of float32": lambda **where: _selected(resident(_LONG), (0,), **where),
    "ranks of columns": lambda **where: [
        _selected(resident(300, 40, dtype=dtype), (0,), **where) for dtype in ("?", "i1", "u8", "f2", "f8")
    ],
}
_SHORT_SELECTIONS = {name: call for name, call in SELECTIONS.items() if name != "median of float32"}
_FIRST_OF_FEW: dict[str, Callable[..., Any]] = {
    "the largest of rows of three": lambda **where: gpuprims.top_k(resident(200, 9)[:, ::3], 2, axis=1, **where),
    "the smallest of short columns": lambda **where: [
        gpuprims.top_k(resident(length, 300, dtype=dtype), 3, axis=0, largest=False, **where)
        for length, dtype in ((6, "?"), (8, "i1"), (32, "u8"), (17, "f2"), (10, "f8"))
    ],
}
_ROWS_OF_FEW: dict[str, Callable[..., Any]] = {
    "ranks of rows of three": lambda **where: _selected(resident(200, 9)[:, ::3], (1,), **where),
    "ranks of short columns": lambda **where: [
        _selected(resident(length, 300, dtype=dtype), (0,), **where)
        for length, dtype in ((6, "?"), (8, "i1"), (32, "u8"), (17, "f2"), (10, "f8"))
    ],
}
# The calls of kernels that do not take those of all others.
ALONE = {
    "top_k_rows": _SHORT_ROWS,
    "top_k_sampled": _FEW,
    "selection_cpu_rows": _SHORT_SELECTIONS,
    "selection_lanes": _ROWS_OF_FEW,
    "selection_sorted": _SHORT_SELECTIONS,
    "top_k_lanes": _FIRST_OF_FEW,
}
