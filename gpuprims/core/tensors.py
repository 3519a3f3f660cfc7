"""Arrays over the memory of torch's tensors, and tensors over that of arrays, in less time than DLPack takes.

This module does not import torch, because a caller with a tensor has already done so.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.dlpack_dtypes import producer_of, read
from gpuprims.core.registry import REGISTRY
from gpuprims.expressions.narrow import is_storage

# The names of devices whose memory NumPy or a backend reads, and DLPack's type of the latter (dlpack.h).
HOST, _CUDA, _DLPACK_CUDA = "cpu", "cuda", 2
# DLPack's number of CUDA's default stream.
_DEFAULT_STREAM = 1
_LOWEST_BITS = 15  # of an address; the facts of a backend's arrays have them too


class TensorFacts(NamedTuple):
    """What a launch plan depends on."""

    dtype: Hashable
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: Any
    lowest_bits: int

    @property
    def on_host(self) -> bool:
        """True for memory that the host reads."""
        return bool(self.device.type == HOST)


# Takes the arrays of a call, and returns them with arrays instead of its tensors.
Reader = Callable[[Sequence[Any]], list[Any]]


def facts_of(tensor: Any) -> TensorFacts | None:
    """Return the facts about a tensor; None if a first call must look at it."""
    try:
        if tensor.is_conj() or tensor.is_neg() or tensor.device.type not in (HOST, _CUDA):
            return None
        low = tensor.data_ptr() & _LOWEST_BITS
        return TensorFacts(tensor.dtype, tensor.shape, tensor.stride(), tensor.device, low)
    except (RuntimeError, NotImplementedError):  # sparse, or in a transformation of torch: without memory
        return None


def reader_for(places: Mapping[int, TensorFacts]) -> Reader:
    """Return what reads tensors of one device among the arrays of calls, by the facts about each in its place."""
    of_one, places_read = next(iter(places.values())), tuple(places)
    if not of_one.on_host:
        return _GpuReader(places_read, of_one.device.index)

    def read_all(given: Sequence[Any]) -> list[Any]:
        arrays = list(given)
        for k in places_read:
            arrays[k] = host_array_of(given[k])
        return arrays

    return read_all


def host_array_of(tensor: Any) -> np.ndarray:
    """Return a NumPy array over a tensor's memory; torch raises if that is not the host's, or is to be conjugated."""
    tensor = tensor.detach()
    array: np.ndarray = (
        tensor.numpy() if _is_numpys(tensor.dtype) else read("tensor", tensor, np.from_dlpack, np.ndarray.view)
    )
    return array


@lru_cache(maxsize=64)
def _is_numpys(dtype: Any) -> bool:
    """Return True for a dtype of torch that NumPy has too."""
    return hasattr(np, str(dtype).rpartition(".")[2])


class _GpuReader:
    """Reads tensors in a GPU's memory as arrays of its backend.

    DLPack lets the backend's stream wait for torch's. Where both are one, later arrays differ from the first ones in
    their addresses alone: 3 us in place of 28.
    """

    def __init__(self, places: tuple[int, ...], number: int) -> None:
        self._places, self._number = places, number
        self._backend = next(one for one in REGISTRY.backends() if one.dlpack_device == _DLPACK_CUDA)
        self._own_stream: Callable[[], int] | None = None
        self._over: list[tuple[int, Callable[[int, Any], Any]]] = []

    def __call__(self, given: Sequence[Any]) -> list[Any]:
        arrays = list(given)
        if self._own_stream is not None and self._own_stream() == _stream(self._number):
            for k, over in self._over:
                arrays[k] = over(given[k].data_ptr(), given[k])
            return arrays
        for k in self._places:
            arrays[k] = read("tensor", given[k].detach(), self._backend.from_dlpack, self._backend.viewed)
        if self._own_stream is None:
            self._over = [(k, self._backend.over(arrays[k])) for k in self._places]
            self._own_stream = self._backend.stream_of(arrays[self._places[0]])
        return arrays


def _stream(number: int) -> int:
    """Return the handle of torch's current stream on a GPU: by its public name it takes ten times as long."""
    return int(sys.modules["torch"]._C._cuda_getCurrentRawStream(number))


def as_tensors(result: Any) -> Any:
    """Return tensors over the memory of arrays, also of those in a tuple or list; anything else as it is."""
    kind = type(result)
    if kind is tuple or kind is list:
        return kind([as_tensors(one) for one in result])
    if kind is np.ndarray or kind in REGISTRY.facts_by_class or isinstance(result, np.generic):
        return tensor_of(result)
    return result


def tensor_of(array: Any) -> Any:
    """Return a tensor over the memory of an array, which torch's current stream reads when it is complete."""
    torch = sys.modules["torch"]
    if isinstance(array, np.ndarray | np.generic):
        array = np.asarray(array)
        return torch.from_dlpack(producer_of(array)) if is_storage(array.dtype) else torch.from_numpy(array)
    number = array.__dlpack_device__()[1]
    # Of a capsule, torch asks nothing more.
    return torch.from_dlpack(producer_of(array).__dlpack__(stream=_stream(number) or _DEFAULT_STREAM))
