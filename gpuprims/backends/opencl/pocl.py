"""The folder that PoCL keeps what it compiles in, beside gpuprims' own.

PoCL looks into no owner and no mode: without a home it shares ``/tmp/pocl`` with every user of the machine, who could
put programs there, and where it can make no folder it has no device. In both cases it is given a private one.
"""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from gpuprims.private_folder import private_folder

_ENVIRONMENT = "POCL_CACHE_DIR"
# Those made here, which last as long as the process.
_temporary: list[TemporaryDirectory[str]] = []


def give_pocl_a_folder() -> None:
    """Set ``POCL_CACHE_DIR``, unless it is set, or PoCL's own choice is this user's; to be called before PoCL starts."""
    if _ENVIRONMENT in os.environ or _is_own(_chosen()):
        return
    folder = private_folder("pocl")
    if folder is None:
        _temporary.append(TemporaryDirectory(prefix="gpuprims-pocl-", ignore_cleanup_errors=True))
        folder = Path(_temporary[-1].name)
    os.environ[_ENVIRONMENT] = str(folder)


def _chosen() -> Path | None:
    """Return the folder that PoCL takes by itself, if that is below one of the user's."""
    caches, home = os.environ.get("XDG_CACHE_HOME"), os.environ.get("HOME")
    if caches:
        return Path(caches, "pocl", "kcache")
    return None if home is None else Path(home, ".cache", "pocl", "kcache")


def _is_own(folder: Path | None) -> bool:
    """Whether a folder is there that others cannot write, or can be made within one."""
    if folder is None or not folder.is_absolute():
        return False
    there = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        os.rmdir(mkdtemp(dir=there))  # modes do not tell: root may write everywhere, but not to every file system
    except OSError:
        return False
    if not hasattr(os, "geteuid"):  # Windows, where folders of users are private
        return True
    found = there.stat()
    return found.st_uid == os.geteuid() and not found.st_mode & 0o002
