"""Compiled kernels in memory: the least recently used are released.

A driver frees a program once neither the device's kernels nor a launch plan refers to it. Warm calls use launch plans
and look no kernels up. So gpuprims sometimes forgets all plans; calls made again mark their kernels as used.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import lru_cache, wraps
from threading import Event, Lock
from typing import Any, TypeVar

from gpuprims.core.determinism import CHOSEN, Asked, Level, asked_level
from gpuprims.core.notices import limit_from

T = TypeVar("T")

_LIMIT = 256  # kernels, of up to 3 MiB on Intel's CPU runtime
_CALLS = 1024

_forgets: list[Callable[[], None]] = []  # each drops the launch plans of one cache


def keeps_calls() -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Cache the launch plans that a function returns, with their kernels; those of each level of determinism apart."""

    def keep(prepare: Callable[..., T]) -> Callable[..., T]:
        @lru_cache(_CALLS)
        @wraps(prepare)
        def kept(level: Level | None, *given: Any, **named: Any) -> T:
            return prepare(*given, **named)

        @wraps(prepare)
        def find(*given: Any, **named: Any) -> T:
            # Inlined, as in warm_calls.py.
            level = asked_level() if Asked.ever and (CHOSEN.here.get() or CHOSEN.choices) else None
            return kept(level, *given, **named)

        forgets_calls(kept.cache_clear)
        find.cache_clear = kept.cache_clear  # type: ignore[attr-defined]  # as that of lru_cache
        return find

    return keep


def forgets_calls(forget: Callable[[], None]) -> Callable[[], None]:
    """Register a function that drops the launch plans of a cache, so that their kernels can be released."""
    _forgets.append(forget)
    return forget


def forget_calls() -> None:
    """Drop the launch plans of all caches."""
    for forget in _forgets:
        forget()


class Prepared:
    """Counts how often launches were to be prepared in another way, as functions in C or to be timed.

    Those who keep launches when calls are forgotten prepare them again if the number has changed.
    """

    times = 0


def prepare_anew() -> None:
    """Let all calls prepare their launches again."""
    Prepared.times += 1
    forget_calls()


class Kernels:
    """Compiled kernels of one device; beyond ``GPUPRIMS_KERNELS`` it releases the least recently used."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()  # the least recently used first
        self._building: dict[Hashable, Event] = {}  # set once a thread has built the kernel, or failed
        self._lock = Lock()
        self._built = 0

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, key: Hashable, build: Callable[[], Any]) -> Any:
        """Return the kernel of a key, and build it if it is missing; other threads that ask for it wait."""
        while True:
            with self._lock:
                if key in self._kept:
                    self._kept.move_to_end(key)
                    return self._kept[key]
                if (others := self._building.get(key)) is None:
                    own = self._building[key] = Event()
                    break
            others.wait()
        try:
            built = build()
            with self._lock:
                if key not in self._kept:
                    self._make_room()
                return self._kept.setdefault(key, built)
        finally:
            with self._lock:
                if self._building.get(key) is own:
                    del self._building[key]
            own.set()

    def after_fork(self) -> None:
        """Forget the threads of the parent, which build nothing here."""
        self._lock, self._building = Lock(), {}

    def clear(self) -> None:
        """Release all kernels."""
        with self._lock:
            self._kept.clear()

    def _make_room(self) -> None:
        """After every quarter of the limit, release the least recently used, and forget launch plans."""
        limit = limit_from("GPUPRIMS_KERNELS", "kernels", _LIMIT, 1)
        part = max(limit // 4, 1)
        self._built += 1
        if self._built % part and len(self._kept) < limit:
            return
        for key in list(self._kept)[: max(len(self._kept) - limit + part, 0)]:
            del self._kept[key]
        if len(self._kept) >= limit // 2:  # with fewer, no release is near
            forget_calls()
