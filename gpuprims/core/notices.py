"""Warnings given once a process: about caches, settings and plug-ins, whose failures stop no computation."""

from __future__ import annotations

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
