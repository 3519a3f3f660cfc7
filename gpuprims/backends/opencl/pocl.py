"""The folder that PoCL keeps what it compiles in, beside gpuprims' own cache.

PoCL ends the process where a file in that folder is damaged, has no device where it cannot make the folder, and without
a home shares ``/tmp/pocl`` with every user of the machine. So each process gives it one that is new and private, from
which binaries go to :mod:`gpuprims.compile_cache`.
"""

from __future__ import annotations

import atexit
import os
import shutil
import time
from pathlib import Path
from tempfile import mkdtemp

from gpuprims.private_folder import private_folder

_ENVIRONMENT = "POCL_CACHE_DIR"
_PREFIX = "gpuprims-pocl-"
# Seconds after which a folder is taken for a killed process's.
_ABANDONED = 7 * 86400


def give_pocl_a_folder() -> None:
    """Set ``POCL_CACHE_DIR`` to a folder that lasts as long as this process, unless it is set; before PoCL starts."""
    if _ENVIRONMENT in os.environ:
        return
    folder = private_folder("pocl")
    if folder is not None:
        _remove_abandoned(folder)
    own = mkdtemp(prefix=_PREFIX, dir=folder)
    os.environ[_ENVIRONMENT] = own
    atexit.register(_remove, own, os.getpid())


def _remove(folder: str, process: int) -> None:
    """Remove a folder, unless this is a fork of the process that it belongs to."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned(folder: Path) -> None:
    for path in folder.glob(f"{_PREFIX}*"):
        try:
            abandoned = path.lstat().st_mtime < time.time() - _ABANDONED
        except FileNotFoundError:  # removed by a process beside this one
            continue
        if abandoned:
            shutil.rmtree(path, ignore_errors=True)
