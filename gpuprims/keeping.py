"""How many compiled kernels a device keeps, and how they are let go.

Drivers give the memory of a program back when nobody holds it: neither the device's kernels nor the calls that were
prepared with one. Warm calls find themselves among the latter, without a look at the kernels, so from time to time all
prepared calls are forgotten; those that are made again then show which kernels are in use.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from functools import lru_cache
from threading import Lock
from typing import Any, TypeVar

from gpuprims.notices import warn_once

T = TypeVar("T")

LIMIT = "GPUPRIMS_KERNELS"
# Of Intel's CPU runtime and PoCL each kernel takes 1 to 3 MiB.
_DEFAULT_LIMIT = 256
_CALLS = 1024


# What keeps prepared calls.
_prepared: list[Any] = []


def keeps_calls(*, typed: bool = False) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Keep what a function prepares of each call, kernels included, as far as kernels are kept.

    ``typed`` tells arguments apart that are equal and of different types.
    """

    def keep(prepare: Callable[..., T]) -> Callable[..., T]:
        kept = lru_cache(_CALLS, typed=typed)(prepare)
        _prepared.append(kept)
        return kept

    return keep


class Kernels:
    """Compiled kernels of one device; of more than ``GPUPRIMS_KERNELS`` the least recently used are let go."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, Any] = {}  # the least recently used first
        self._lock = Lock()
        self._built = 0

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, key: Hashable, build: Callable[[], Any]) -> Any:
        """Return the kernel of a key, building it if need be; of two threads that do, both get the first one's."""
        with self._lock:
            if key in self._kept:
                return self._used(key)
        built = build()
        with self._lock:
            if key not in self._kept:
                self._make_room()
                self._kept[key] = built
            return self._used(key)

    def clear(self) -> None:
        """Let all kernels go."""
        with self._lock:
            self._kept.clear()

    def _used(self, key: Hashable) -> Any:
        kernel = self._kept[key] = self._kept.pop(key)
        return kernel

    def _make_room(self) -> None:
        """After a quarter as many kernels as are kept, let go what was used last before, and ask what is in use."""
        limit = _limit()
        part = max(limit // 4, 1)
        self._built += 1
        if self._built % part and len(self._kept) < limit:
            return
        for key in list(self._kept)[: max(len(self._kept) - limit + part, 0)]:
            del self._kept[key]
        if len(self._kept) >= limit // 2:  # with fewer there is time to ask
            for prepared in _prepared:
                prepared.cache_clear()


def _limit() -> int:
    asked = os.environ.get(LIMIT, "")
    if asked.isdecimal() and int(asked[:9]) > 0:
        return int(asked[:9])
    if asked:
        warn_once(f"{LIMIT}: a number of kernels, at least 1; got {asked[:80]!r} ({_DEFAULT_LIMIT} are kept)")
    return _DEFAULT_LIMIT
