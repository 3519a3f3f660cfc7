"""A private folder for PoCL's compiler, beside gpuprims' own cache.

PoCL ends the process if a file in its folder is damaged, offers no device if it cannot make the folder, and for a user
without a home shares ``/tmp/pocl`` with every user of the machine. So each process gives it a new private folder;
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
# Seconds after which a folder must be a killed process's.
_ABANDONED = 7 * 86400
# This process's folders and their locks, which keep other processes from removing them; those it removed as it ended.
_own: dict[str, int] = {}
_removed: set[str] = set()


def give_pocl_a_folder() -> None:
    """Set ``POCL_CACHE_DIR`` to a folder for this process, before PoCL starts, unless the user has set it.

    A child process does not use its parent's folder, because the parent removes it at its end.
    """
    given = os.environ.get(_ENVIRONMENT)
    if given is not None and (given in _own or not Path(given).name.startswith(_PREFIX)):
        return
    folder = private_folder("pocl")
    for path in [] if folder is None else folder.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # removed, in use (a process may run for weeks), or not a folder
            if path.lstat().st_mtime < time.time() - _ABANDONED:
                _remove(str(path), _locked(path))
    try:
        own = mkdtemp(prefix=_PREFIX, dir=folder)
        _own[own] = _locked(own)
    except OSError as error:
        warn_once(f"PoCL: a folder for what it compiles; got none ({error}), so that it may offer no device")
        return
    os.environ[_ENVIRONMENT] = own
    atexit.register(_end, own, os.getpid())


def _locked(folder: str | Path) -> int:
    """Open a folder and lock it until this process ends; raise BlockingIOError if another process has locked it."""
    if sys.platform == "win32":
        return -1
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if isinstance(error, BlockingIOError):
            os.close(handle)
            raise  # other errors: the file system has no locks
    return handle


def _remove(folder: str, lock: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if lock >= 0:
        os.close(lock)


def _end(folder: str, process: int) -> None:
    """Remove a folder as its process ends, not as a fork of that ends."""
    if os.getpid() == process:
        _remove(folder, _own.pop(folder, -1))
        _removed.add(folder)


def restore_folder() -> None:
    """Make this process's folder again for a function that runs at exit and compiles; PoCL knows no other folder."""
    folder = os.environ.get(_ENVIRONMENT)
    if folder in _removed:
        os.makedirs(folder, mode=0o700, exist_ok=True)
