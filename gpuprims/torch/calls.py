"""Tensors in calls of primitives, and the dtypes of results, which torch asks for before a call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.dlpack import to_dlpack

from gpuprims.core.arrays import is_vendors, native_of
from gpuprims.core.interop import reader_of
from gpuprims.expressions.expr import COMPUTABLE, Expr, computable
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
    return [(one if isinstance(one, Tensor) else _tensor_of(one)).contiguous() for one in results]


def arrays_of(*tensors: Tensor) -> list[Any]:
    """Return NumPy's or CuPy's arrays over the memory of tensors, by which primitives find warm calls."""
    return [_array_of(one) for one in tensors]


def through_conjugates(
    above: Sequence[Tensor], derive: Callable[[Sequence[Tensor]], Sequence[Tensor]]
) -> Sequence[Tensor]:
    """Return gradients by ``derive``, which multiplies those ``above`` by derivatives.

    Torch multiplies gradients of complex numbers by the conjugates of derivatives.
    """
    if not any(one.is_complex() for one in above):
        return derive(above)
    return [one.conj_physical() for one in derive([one.conj_physical() for one in above])]


# Dtypes that torch and the other libraries share without views.
_SHARED = {getattr(torch, dtype.name): dtype for dtype in COMPUTABLE}
_DTYPES = frozenset(_SHARED.values())


def _array_of(tensor: Tensor) -> Any:
    """Return an array over a tensor's memory; plain tensors take a third of DLPack's time in Python."""
    plain = tensor.dtype in _SHARED and tensor.layout is torch.strided and not (tensor.is_conj() or tensor.is_neg())
    if plain and tensor.is_cpu:
        return tensor.detach().numpy()
    return native_of("gpuprims.torch", _Producer(tensor.detach()) if plain and tensor.is_cuda else tensor)


def _tensor_of(array: Any) -> Tensor:
    """Return a tensor over an array's memory."""
    if type(array) is np.ndarray and array.dtype in _DTYPES:
        return torch.from_numpy(array)
    if is_vendors(array) and array.dtype in _DTYPES:
        stream = torch._C._cuda_getCurrentRawStream(array.data.device_id)
        found: Tensor = torch.from_dlpack(array.__dlpack__(stream=stream or _LEGACY))
        return found
    return _read(array)


_read = reader_of("gpuprims.torch", torch.empty(0))
# DLPack's number of CUDA's default stream.
_LEGACY = 1


class _Producer:
    """A tensor on a GPU, whose work a consumer in the same stream does not wait for.

    ``Tensor.__dlpack__`` asks for streams as objects, and then finds that they are the same.
    """

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    def __dlpack_device__(self) -> Any:
        return self._tensor.__dlpack_device__()

    def __dlpack__(self, *, stream: int | None = None, **how: Any) -> Any:
        tensor = self._tensor
        own = torch._C._cuda_getCurrentRawStream(tensor.get_device()) or _LEGACY
        return to_dlpack(tensor) if stream == own else tensor.__dlpack__(stream=stream, **how)
