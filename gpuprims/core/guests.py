"""Warm calls on torch's tensors, found by a few facts about each.

Without them, a call describes its tensors, finds its plan and asks torch for each step of DLPack.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from gpuprims.core.program_cache import forgets_calls
from gpuprims.core.tensors import HOST, Reader, TensorFacts, as_tensors, facts_of, host_array_of, reader_for, tensor_of

Run = Callable[[Sequence[Any]], Any]
_CLASSES = frozenset({("torch", "Tensor"), ("torch.nn.parameter", "Parameter")})
_MOST = 1024  # readers


class GuestKey(tuple[Hashable, ...]):
    """The key of a call with tensors among its arrays."""

    __slots__ = ()


class IntoGuestsKey(GuestKey):
    """The key of a call that writes to tensors; what runs it takes arrays over them."""

    __slots__ = ()


def is_guest(kind: type) -> bool:
    """Return True for the class of torch's tensors, or of its parameters; subclasses may mean something else."""
    return (kind.__module__, kind.__name__) in _CLASSES


def running_guests(key: GuestKey, run: Run) -> Run:
    """Return a function that runs a call on tensors by a function on arrays, and returns tensors."""
    reader = reader_for({k: facts for k, facts in enumerate(key[2:]) if isinstance(facts, TensorFacts)})
    return lambda given: as_tensors(run(tuple(reader(given))))


def into_guests(run: Run, given: tuple[Any, ...], inputs: int, *, several: bool) -> Run:
    """Return a function that runs a call on arrays over ``given``; it writes to the last ones, and returns these."""
    outs = given[inputs:]

    def run_into(arrays: Sequence[Any]) -> Any:
        run(arrays)
        for array in arrays[inputs:]:
            if not isinstance(array, np.ndarray):
                tensor_of(array)  # lets torch's stream wait for the one that writes
        return outs if several else outs[0]

    return run_into


def as_arrays(given: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return tensors of one device as arrays, beside others as they are; None unless the first is a tensor.

    For functions that keep calls in their own way.
    """
    if not is_guest(type(given[0])):
        return None
    if given[0].device.type == HOST:
        try:
            return tuple([host_array_of(one) if is_guest(type(one)) else one for one in given])
        except (TypeError, RuntimeError):  # sparse, to be conjugated, or on another device
            return None
    told = tuple([facts_of(one) if is_guest(type(one)) else _ANOTHER for one in given])
    reader = _readers.get(told)
    if reader is None:
        places = {k: facts for k, facts in enumerate(told) if isinstance(facts, TensorFacts)}
        if None in told or len({facts.device for facts in places.values()}) > 1:
            return None
        if len(_readers) >= _MOST:
            _readers.clear()
        reader = _readers[told] = reader_for(places)
    return tuple(reader(given))


_ANOTHER = "no tensor"
_readers: dict[tuple[TensorFacts | str | None, ...], Reader] = {}
forgets_calls(_readers.clear)
