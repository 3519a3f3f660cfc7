"""Tensors in calls of primitives, and the dtypes of results, which torch asks for before a call."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuprims.expressions.expr import Expr, computable
from gpuprims.operators import Op, as_map, find_op, make_folding
from gpuprims.primitives.map.plan import MapRequest

Dtypes = tuple[np.dtype[Any], ...]


def dtypes_of(*tensors: Tensor) -> Dtypes:
    """Return NumPy's dtypes of tensors."""
    return tuple(computable(str(one.dtype).removeprefix("torch."), "gpuprims.torch", stored=True) for one in tensors)


def _torchs(dtypes: Dtypes) -> tuple[torch.dtype, ...]:
    return tuple(getattr(torch, dtype.name) for dtype in dtypes)


@lru_cache(maxsize=1024)
def mapped_dtypes(expr: Expr, dtypes: Dtypes) -> tuple[torch.dtype, ...]:
    """Return the dtypes of a function's results."""
    return _torchs(MapRequest(expr).typed(dtypes).dtypes)


@lru_cache(maxsize=1024)
def folded_dtypes(op: str | Op, dtypes: Dtypes) -> tuple[torch.dtype, ...]:
    """Return the dtypes of the results of a fold or a scan."""
    return _torchs(make_folding(find_op(op), as_map("gpuprims.torch", None, len(dtypes)), dtypes, None).outputs)


def as_tensors(result: Any) -> list[Tensor]:
    """Return the results of a call as tensors in C order, as torch is told to expect them."""
    results = result if isinstance(result, tuple) else (result,)
    return [torch.as_tensor(one).contiguous() for one in results]
