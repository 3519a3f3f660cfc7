"""Settings files, and the folder for files that gpuprims writes unasked: compiled kernels and trials of devices.

Anyone who can write to that folder can make this process run code. So it belongs to this user alone: an absolute path,
mode 0700, not a link. Without such a folder, callers work in memory.
"""

from __future__ import annotations

import os
import stat
import tempfile
from functools import cache
from pathlib import Path

from platformdirs import user_cache_path

from gpuprims.core.notices import warn_once

MOST_BYTES = 4 << 20  # of a settings file; a thousand choices of `gpuprims tune` are half a megabyte
UNFINISHED = "unfinished-"  # begins the names of files until they are whole


@cache
def private_folder(name: str) -> Path | None:
    """Return a folder below ``GPUPRIMS_CACHE_DIR`` or the user's cache folder, and make it if it is missing.

    None for ``GPUPRIMS_CACHE_DIR=off``; None, with one warning, if no folder belongs to this user alone.
    """
    asked = os.environ.get("GPUPRIMS_CACHE_DIR")
    if asked == "off":
        return None
    try:
        root = Path(asked) if asked else user_cache_path("gpuprims")
        if not root.is_absolute():
            raise OSError(f"cache folder: an absolute path; got {str(root)[:200]!r}")
        root.parent.mkdir(parents=True, exist_ok=True)
        _checked(root, 0o022)  # it may have other contents, so others may read it, but not write to it
        return _checked(root / name)
    except (OSError, RuntimeError) as error:  # RuntimeError: no home folder
        warn_once(
            f"gpuprims keeps nothing on disk ({error}), so each process compiles its kernels; "
            "set GPUPRIMS_CACHE_DIR to a folder that belongs to this user alone"
        )
        return None


def _checked(folder: Path, closed: int = 0o077) -> Path:
    """Make a missing folder, take the rights in ``closed`` away from others, and raise if it is not this user's."""
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise OSError(f"{folder}: a folder, not a link; got mode {stat.filemode(found.st_mode)}")
    if hasattr(os, "geteuid"):  # Windows keeps a user's folders private by itself
        if found.st_uid != os.geteuid():
            raise OSError(f"{folder}: a folder of user {os.geteuid()}; got one of user {found.st_uid}")
        if found.st_mode & stat.S_ISVTX:  # /tmp, which is not to be closed to all others when root names it
            raise OSError(f"{folder}: a folder that is not shared; got mode {stat.filemode(found.st_mode)}")
        if stat.S_IMODE(found.st_mode) & closed:
            folder.chmod(0o700)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OSError(f"{folder}: a folder that can be written; got mode {stat.filemode(found.st_mode)}")
    return folder


def read_settings(path: Path, *, named: bool) -> str:
    """Read a settings file; raise OSError if it is too large, not a regular file or another user's.

    A file that the user named may belong to anyone. Any other must belong to this user or to root, because HOME may be
    another user's.
    """
    # O_NONBLOCK: opening a pipe without a writer would wait. Windows has neither the flag nor such pipes.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(f"not a regular file, mode {stat.filemode(found.st_mode)}")
        if not named and hasattr(os, "geteuid") and found.st_uid not in (os.geteuid(), 0):
            raise PermissionError(f"a file of user {found.st_uid}; this process runs as user {os.geteuid()}")
        text = file.read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES:
        raise OSError(f"more than {MOST_BYTES} bytes")
    return text.decode("utf-8")


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file under another name and rename it, so that no process sees a part of it."""
    handle, name = tempfile.mkstemp(prefix=UNFINISHED, dir=path.parent)  # mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
