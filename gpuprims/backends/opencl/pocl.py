"""A private folder for PoCL's compiler, beside gpuprims' own cache.

PoCL ends the process if a file in its folder is damaged, offers no device if it cannot make the folder, and for a user
without a home shares ``/tmp/pocl`` with every user of the machine. So each process gives it a new private folder;
:mod:`gpuprims.compile_cache` keeps the binaries.
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
# Seconds after which a folder must be a killed process's.
_ABANDONED = 7 * 86400


def give_pocl_a_folder() -> None:
    """Set ``POCL_CACHE_DIR``, if it is unset, to a folder for this process; call this before PoCL starts."""
    if _ENVIRONMENT in os.environ:
        return
    folder = private_folder("pocl")
    if folder is not None:
        _remove_abandoned(folder)
    own = mkdtemp(prefix=_PREFIX, dir=folder)
    os.environ[_ENVIRONMENT] = own
    atexit.register(_remove, own, os.getpid())


def _remove(folder: str, process: int) -> None:
    """Remove a folder, unless this process is a fork of its owner."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned(folder: Path) -> None:
    for path in folder.glob(f"{_PREFIX}*"):
        try:
            abandoned = path.lstat().st_mtime < time.time() - _ABANDONED
        except FileNotFoundError:  # removed by another process
            continue
        if abandoned:
            shutil.rmtree(path, ignore_errors=True)
