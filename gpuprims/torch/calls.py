"""Tensors in calls of primitives, and the dtypes of results, which torch asks for before a call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuprims.core.arrays import native_of
from gpuprims.core.guests import as_arrays
from gpuprims.core.tensors import tensor_of
from gpuprims.expressions.expr import Expr, computable
from gpuprims.operators import Op, as_map, find_op, make_folding
from gpuprims.primitives.map.plan import MapRequest

Dtypes = tuple[np.dtype[Any], ...]


@lru_cache(maxsize=64)
def dtype_of(dtype: torch.dtype) -> np.dtype[Any]:
    """Return NumPy's dtype for one of torch's."""
    return computable(str(dtype).removeprefix("torch."), "gpuprims.torch", stored=True)


def dtypes_of(*tensors: Tensor) -> Dtypes:
    """Return NumPy's dtypes of tensors."""
    return tuple(dtype_of(one.dtype) for one in tensors)


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
    return [(one if isinstance(one, Tensor) else tensor_of(one)).contiguous() for one in results]


def arrays_of(*tensors: Tensor) -> list[Any]:
    """Return NumPy's or CuPy's arrays over the memory of tensors, by which primitives find warm calls."""
    read = as_arrays(tensors)
    return [native_of("gpuprims.torch", one) for one in tensors] if read is None else list(read)


def through_conjugates(
    above: Sequence[Tensor], derive: Callable[[Sequence[Tensor]], Sequence[Tensor]]
) -> Sequence[Tensor]:
    """Return gradients by ``derive``, which multiplies those ``above`` by derivatives.

    Torch multiplies gradients of complex numbers by the conjugates of derivatives.
    """
    if not any(one.is_complex() for one in above):
        return derive(above)
    return [one.conj_physical() for one in derive([one.conj_physical() for one in above])]
