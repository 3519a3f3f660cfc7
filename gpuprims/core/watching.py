"""Begin and end watching all devices."""

from __future__ import annotations

import threading

from gpuprims.core.device import Device
from gpuprims.core.lifetime import StandIn, after_fork
from gpuprims.core.program_cache import prepare_anew
from gpuprims.core.watched import WATCHERS, Watcher, unwatched, watched

_LOCK = threading.Lock()
after_fork(_LOCK._at_fork_reinit)  # type: ignore[attr-defined]  # locks have it, type stubs not


def begin_watching(watcher: Watcher) -> None:
    """Report what all threads do on all devices to a watcher, including devices that are opened later."""
    with _LOCK:
        WATCHERS.append(watcher)
        if len(WATCHERS) == 1 or watcher.counters:
            for device in list(Device._known.values()):
                if not isinstance(device.driver, StandIn):
                    device.driver = watched(device.driver)
            prepare_anew()


def end_watching(watcher: Watcher) -> None:
    """Stop reporting to a watcher."""
    with _LOCK:
        WATCHERS.remove(watcher)
        if not WATCHERS:
            for device in list(Device._known.values()):
                device.driver = unwatched(device.driver)
            prepare_anew()
