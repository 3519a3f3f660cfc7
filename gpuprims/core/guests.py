"""Warm calls on torch's tensors, found by a few facts about each.

Without them, a call describes its tensors, finds its plan and asks torch for each step of DLPack.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import Any

from gpuprims.core.program_cache import forgets_calls
from gpuprims.core.tensors import HOST, Reader, TensorFacts, as_tensors, facts_of, host_array_of, reader_for

Run = Callable[[Sequence[Any]], Any]
_MOST = 1024  # readers


class GuestKey(tuple[Hashable, ...]):
    """The key of a call with tensors among its arrays."""

    __slots__ = ()


@lru_cache(maxsize=64)
def is_guest(kind: type) -> bool:
    """Return True for the class of torch's tensors, or of its parameters; subclasses may mean something else."""
    return kind.__name__ in ("Tensor", "Parameter") and kind.__module__.partition(".")[0] == "torch"


def running_guests(key: GuestKey, run: Run) -> Run:
    """Return a function that runs a call on tensors by a function on arrays, and returns tensors."""
    reader = reader_for({k: facts for k, facts in enumerate(key[2:]) if isinstance(facts, TensorFacts)})
    return lambda given: as_tensors(run(tuple(reader(given))))


def as_arrays(given: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return tensors of one device as arrays; None if there are others. For functions that keep calls themselves."""
    if not all(map(is_guest, map(type, given))):
        return None
    if given[0].device.type == HOST:
        try:
            return tuple([host_array_of(one) for one in given])
        except (TypeError, RuntimeError):  # sparse, to be conjugated, or on another device
            return None
    told = tuple(map(facts_of, given))
    reader = _readers.get(told)
    if reader is None:
        places = {k: facts for k, facts in enumerate(told) if facts is not None}
        if len(places) < len(given) or len({facts.device for facts in places.values()}) > 1:
            return None
        if len(_readers) >= _MOST:
            _readers.clear()
        reader = _readers[told] = reader_for(places)
    return tuple(reader(given))


_readers: dict[tuple[TensorFacts | None, ...], Reader] = {}
forgets_calls(_readers.clear)
