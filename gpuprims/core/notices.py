"""Warnings about caches, settings and plug-ins, each given once a process."""

from __future__ import annotations

import os
import threading
import warnings

from gpuprims.errors import GpuprimsWarning

_given: set[str] = set()
_lock = threading.Lock()


def warn_once(message: str, stacklevel: int = 2) -> None:
    """Warn, unless this process has given the same message before; ``stacklevel`` counts from the caller."""
    with _lock:
        if message in _given:
            return
        _given.add(message)
    warnings.warn(message, GpuprimsWarning, stacklevel=stacklevel + 1)


def limit_from(environment: str, unit: str, default: int, least: int) -> int:
    """Return the number in an environment variable; warn and return the default if there is none."""
    asked = os.environ.get(environment, "")
    if asked.isdecimal() and (limit := int(asked[:18])) >= least:
        return limit
    if asked:
        warn_once(f"{environment}: a number of {unit}, at least {least}; got {asked[:80]!r} ({default} is used)")
    return default
