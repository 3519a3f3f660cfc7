"""Warm calls on torch's tensors: a few facts about each, and arrays over their memory, by DLPack.

Without them, a call describes its tensors, finds its plan and asks torch for each step of DLPack. torch is not
imported: who has a tensor has imported it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from gpuprims.core.dlpack_dtypes import producer_of, read
from gpuprims.core.registry import REGISTRY

Run = Callable[[Sequence[Any]], Any]
# The names of devices whose memory NumPy or a backend reads, and DLPack's type of the latter (dlpack.h).
_HOST, _CUDA, _DLPACK_CUDA = "cpu", "cuda", 2
_LOWEST_BITS = 15  # of an address; the facts of a backend's arrays have them too
# What the facts of a tensor begin with.
_TENSOR = "tensor"


class GuestKey(tuple[Hashable, ...]):
    """The key of a call with tensors among its arrays."""

    __slots__ = ()


def is_guest(kind: type) -> bool:
    """Return True for the class of torch's tensors, or of its parameters; subclasses may mean something else."""
    return kind.__name__ in ("Tensor", "Parameter") and kind.__module__.partition(".")[0] == "torch"


def lies_on_host(tensor: Any) -> bool:
    """Return True for a tensor in memory that the host reads."""
    return bool(tensor.device.type == _HOST)


def facts_of(tensor: Any) -> Hashable:
    """Return the facts about a tensor that a launch plan depends on; None if a first call must look at it."""
    try:
        if tensor.is_conj() or tensor.is_neg() or tensor.device.type not in (_HOST, _CUDA):
            return None
        low = tensor.data_ptr() & _LOWEST_BITS
        return _TENSOR, tensor.dtype, tensor.shape, tensor.stride(), tensor.device, low
    except (RuntimeError, NotImplementedError):  # sparse, or in a transformation of torch: without memory
        return None


def running_guests(key: GuestKey, run: Run) -> Run:
    """Return a function that runs a call on tensors by a function on arrays, and returns tensors."""
    readers = [(k, *_reader(facts[4])) for k, facts in enumerate(list[Any](key[2:])) if _is_tensor(facts)]

    def run_guests(given: Sequence[Any]) -> Any:
        arrays = list(given)
        for k, from_dlpack, viewed in readers:
            arrays[k] = read("tensor", arrays[k].detach(), from_dlpack, viewed)
        return _as_tensors(run(tuple(arrays)))

    return run_guests


def _is_tensor(facts: Any) -> bool:
    return type(facts) is tuple and len(facts) > 0 and facts[0] == _TENSOR


def _reader(device: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return what makes an array over a tensor's memory, and a view of it with another dtype."""
    if device.type == _HOST:
        return np.from_dlpack, np.ndarray.view
    backend = next(one for one in REGISTRY.backends() if one.dlpack_device == _DLPACK_CUDA)
    return backend.from_dlpack, backend.viewed


def _as_tensors(result: Any) -> Any:
    """Return tensors over the memory of arrays, also of those in a tuple or list; anything else as it is."""
    kind = type(result)
    if kind is tuple or kind is list:
        return kind([_as_tensors(one) for one in result])
    if isinstance(result, np.generic):
        result = np.asarray(result)
    elif kind is not np.ndarray and kind not in REGISTRY.facts_by_class:
        return result
    return sys.modules["torch"].from_dlpack(producer_of(result))
