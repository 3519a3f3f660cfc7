"""Warnings that a process gives once: about caches, settings and plug-ins, which never stop a computation."""

from __future__ import annotations

import threading
import warnings

from gpuprims.errors import GpuprimsWarning

_given: set[str] = set()
_lock = threading.Lock()


def warn_once(message: str, stacklevel: int = 2) -> None:
    """Warn, unless this process has given the same message before.

    Parameters
    ----------
    message : str
        What failed, and what is done instead.
    stacklevel : int
        As :func:`warnings.warn` takes it, counted from the caller.
    """
    with _lock:
        if message in _given:
            return
        _given.add(message)
    warnings.warn(message, GpuprimsWarning, stacklevel=stacklevel + 1)
