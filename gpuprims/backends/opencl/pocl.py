"""A private folder for PoCL's compiler, beside gpuprims' own cache.

PoCL aborts the process if a file in its folder is damaged, and offers no device if it cannot create the folder. Users
without a home folder share ``/tmp/pocl`` with all users of the machine. So each process gives it a new private folder.
:mod:`gpuprims.core.compile_cache` keeps the binaries.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import time
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp

from gpuprims.core.notices import warn_once
from gpuprims.core.private_folder import private_folder

if sys.platform != "win32":
    import fcntl

_ENVIRONMENT = "POCL_CACHE_DIR"
_PREFIX = "gpuprims-pocl-"
# Age in seconds from which a folder counts as left by a killed process.
_ABANDONED = 7 * 86400
# Folders of this process with their locks, which keep other processes from removing them; folders removed at exit.
_own: dict[str, int] = {}
_removed: set[str] = set()


def give_pocl_a_folder() -> None:
    """Set ``POCL_CACHE_DIR`` to a folder for this process before PoCL starts, unless the user has set it.

    A child process does not use its parent's folder, because the parent removes it at exit.
    """
    given = os.environ.get(_ENVIRONMENT)
    if given is not None and (given in _own or not Path(given).name.startswith(_PREFIX)):
        return
    folder = private_folder("pocl")
    for path in [] if folder is None else folder.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # removed meanwhile, in use (a process may run for weeks), or not a folder
            if path.lstat().st_mtime < time.time() - _ABANDONED:
                _remove(str(path), _locked(path))
    try:
        own = mkdtemp(prefix=_PREFIX, dir=folder)
        _own[own] = _locked(own)
    except OSError as error:
        warn_once(f"PoCL: a folder for its compiler; got none ({error}), so it may offer no device")
        return
    os.environ[_ENVIRONMENT] = own
    atexit.register(_end, own, os.getpid())


def _locked(folder: str | Path) -> int:
    """Open a folder and lock it for the life of this process; raise BlockingIOError if another has locked it."""
    if sys.platform == "win32":
        return -1
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if isinstance(error, BlockingIOError):
            os.close(handle)
            raise  # ignore other errors: the file system has no locks
    return handle


def _remove(folder: str, lock: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if lock >= 0:
        os.close(lock)


def _end(folder: str, process: int) -> None:
    """Remove a folder when its process exits, but not when a fork of it does."""
    if os.getpid() == process:
        _remove(folder, _own.pop(folder, -1))
        _removed.add(folder)


def restore_folder() -> None:
    """Create the folder again if an exit function compiles after its removal: PoCL cannot change folders."""
    folder = os.environ.get(_ENVIRONMENT)
    if folder in _removed:
        os.makedirs(folder, mode=0o700, exist_ok=True)
