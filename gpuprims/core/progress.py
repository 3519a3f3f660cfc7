"""Forward progress by trial: a device is asked once whether the groups of one launch run at the same time.

The answer decides which kernel runs, and so the last bits of float sums. It must be the same in every process, so the
first process that finishes a trial of a device and driver decides for all others. A JSON file keeps its answer.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from threading import Lock
from typing import Any

from gpuprims.core.capabilities import Progress
from gpuprims.core.notices import warn_once
from gpuprims.core.private_folder import private_folder, read_settings

# One success proves that groups run together. A failure may only mean that other processes had the cores, so "no"
# takes this many attempts, with pauses of half a second.
_ATTEMPTS, _PAUSE = 16, 0.5
# Answers in this process, so that it chooses the same kernels everywhere if nothing can be kept on disk.
_FOUND: dict[str, Progress] = {}
_LOCK = Lock()


def progress_by_trial(about: Mapping[str, Any], trial: Callable[[], bool]) -> Progress:
    """Return the kept answer for a device, described by ``about``; else try the device and keep the answer."""
    key = _key(about)
    with _LOCK:
        if key not in _FOUND:
            if (together := kept(about)) is None:
                together = keep(about, tried(trial))
            shown = "succeeded" if together else "failed"
            _FOUND[key] = Progress(together, f"a trial of this device and driver {shown}")
        return _FOUND[key]


def tried(trial: Callable[[], bool]) -> bool:
    """Return True if one of several attempts succeeds."""
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE)
        if trial():
            return True
    return False


def kept(about: Mapping[str, Any]) -> bool | None:
    """Return the kept answer for a device; None without a readable file."""
    path = path_of(about)
    if path is None or not path.exists():
        return None
    try:
        found = json.loads(read_settings(path, named=False))
        if found["about"] != about:
            raise ValueError("it is about another device")
        if not isinstance(found["together"], bool):
            raise ValueError("it has no answer")
        return found["together"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        warn_once(f"gpuprims tries {about['device']} again: {path} cannot be read ({str(error)[:200]})")
        if path.is_file():
            path.unlink(missing_ok=True)
        return None


def keep(about: Mapping[str, Any], together: bool) -> bool:
    """Write an answer, unless another process already has; return the answer in the file."""
    path = path_of(about)
    if path is None:
        return together
    try:
        with NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, suffix=".part") as file:
            json.dump({"about": about, "together": together}, file, indent=1)
            file.flush()
            os.link(file.name, path)  # fails if the file exists; no process sees half of it
    except FileExistsError:
        found = kept(about)
        return together if found is None else found
    except OSError as error:
        warn_once(f"gpuprims tries {about['device']} in each process, because it cannot write {path} ({error})")
    return together


def path_of(about: Mapping[str, Any]) -> Path | None:
    """Return the file of an answer; None if nothing can be kept on disk."""
    folder = private_folder("devices")
    return folder / f"{sha256(_key(about).encode()).hexdigest()[:32]}.json" if folder else None


def _key(about: Mapping[str, Any]) -> str:
    return json.dumps(about, sort_keys=True)
