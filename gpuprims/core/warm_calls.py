"""Warm calls: a call like an earlier one finds its launch plan by what is cheap to read of its arrays.

Describing arrays, checking keywords and looking up a plan by all of that takes longer than a launch. So the functions
that people call most keep the plans of calls whose arrays lie on a device, by their keywords and by a few facts of each
array, which its backend tells.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from gpuprims.core.arrays import unchanged
from gpuprims.core.device import pick_device
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.operands import Operands, is_plain
from gpuprims.core.program_cache import forgets_calls
from gpuprims.core.registry import REGISTRY

# From arrays to what a call returns.
Run = Callable[[Sequence[Any]], Any]
Key = tuple[Hashable, ...]

_MOST = 1024
# Bytes of an array of the host up to which a call's time on the host counts.
_SMALL = 1 << 24
# Keywords of these classes decide a plan by their value. True is equal to 1, and a function may see new values later.
AS_GIVEN = frozenset({type(None), int, str})


class WarmCalls:
    """The warm calls of one function."""

    def __init__(self) -> None:
        self._runs: dict[Key | None, Run] = {}
        self._generation = REGISTRY.generation
        forgets_calls(self.clear)

    def find(self, key: Key | None) -> Run | None:
        """Return what runs a call with a key; None if there is none, and for a call without a key."""
        if self._generation != REGISTRY.generation:
            self.clear()
        try:
            return self._runs.get(key)
        except TypeError:  # a keyword that cannot be hashed
            return None

    def keep(self, key: Key | None, plan: LaunchPlan, operands: Operands, check: Run | None = None) -> None:
        """Keep the plan of a call whose arrays are the kernel's operands as they are; ``check`` sees them before."""
        if key is None or operands.convert is not unchanged or (operands.on_host and not operands.in_place):
            return
        run = plan.run_in_place if operands.in_place else plan.runner()
        if len(self._runs) >= _MOST:
            self.clear()
        try:
            self._runs[key] = run if check is None else _checked(check, run)
        except TypeError:  # a keyword that cannot be hashed
            return

    def clear(self) -> None:
        """Forget all calls."""
        self._runs.clear()
        self._generation = REGISTRY.generation


def _checked(check: Run, run: Run) -> Run:
    def checked(arrays: Sequence[Any]) -> Any:
        check(arrays)
        return run(arrays)

    return checked


def key_of(keywords: Hashable, arrays: Sequence[Any]) -> Key | None:
    """Return the key of a call; None unless a backend tells the facts of each array's class."""
    if not arrays:
        return None
    if type(arrays[0]) is np.ndarray:
        return _host_key(keywords, arrays)
    facts = REGISTRY.facts_by_class
    try:
        return (keywords, *[facts[type(array)](array) for array in arrays])
    except KeyError:
        return None


def _host_key(keywords: Hashable, arrays: Sequence[Any]) -> Key | None:
    """Return the key of a call on arrays of the host, all small and read as they are, for the device of now."""
    if not all(is_plain(array) and array.nbytes <= _SMALL for array in arrays):
        return None
    return (keywords, pick_device(None, None), *[(array.dtype, array.shape) for array in arrays])
