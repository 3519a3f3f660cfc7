"""Compiled kernels on disk, for every backend: whole or not at all, this user's own, and never more than so many bytes.

An entry is a file named for what decides its contents: text, options, compiler and device. It begins with a hash of the
rest, because drivers do not survive a damaged binary: Intel's ends the process. Entries are written to a file beside
them and renamed, so there is no lock that a killed process could leave; the least recently used go first.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from gpuprims.notices import warn_once
from gpuprims.private_folder import private_folder

LIMIT = "GPUPRIMS_CACHE_BYTES"
_DEFAULT_LIMIT = 1 << 30
_MAGIC = b"gpuprims kernel 1\n"
_HEAD = len(_MAGIC) + hashlib.sha256().digest_size
_NAME = 2 * hashlib.sha256().digest_size
_UNFINISHED = "unfinished-"
# Seconds after which a file that was never renamed is taken for a killed process's.
_ABANDONED = 3600
# A read-only file, without following a link, and without waiting where a pipe stands for a file.
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def key_of(*facts: str) -> str:
    """Return the name of the binary that these facts decide, no two lists of which have the same."""
    told = "".join(f"{len(fact)}:{fact}" for fact in facts)
    return hashlib.sha256(_MAGIC + told.encode()).hexdigest()


def fetch(key: str) -> bytes | None:
    """Return the binary of a key; None where there is none, or none that can be trusted, of which a warning tells."""
    folder = _folder()
    if folder is None:
        return None
    path = folder / key
    try:
        return _read(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        discard(key, f"that cannot be read ({error.strerror})" if isinstance(error, OSError) else str(error))
        return None


def keep(key: str, binary: bytes) -> None:
    """Write the binary of a key, so that others see it whole or not at all; a warning tells where it cannot be."""
    folder, limit = _folder(), _limit()
    if folder is None or len(binary) + _HEAD > limit:
        return
    try:
        _write(folder / key, _MAGIC + _hash(key, binary) + binary)
        _evict(folder, limit)
    except OSError as error:
        warn_once(f"{folder}: room for compiled kernels; got {error.strerror or error} (kernels are kept in memory)")


def discard(key: str, reason: str) -> None:
    """Remove an entry that is of no use, and warn: once a process and reason, not for each entry."""
    folder = _folder()
    if folder is None:
        return
    warn_once(f"{folder}: this user's compiled kernels, whole; got one {reason} (compiled anew, and replaced)")
    _remove(folder / key)


def _folder() -> Path | None:
    return private_folder("kernels")


def _limit() -> int:
    asked = os.environ.get(LIMIT, "")
    if asked.isdecimal() and len(asked) < 20:
        return int(asked)
    if asked:
        warn_once(f"{LIMIT}: a number of bytes; got {asked[:80]!r} ({_DEFAULT_LIMIT} is used)")
    return _DEFAULT_LIMIT


def _hash(key: str, binary: bytes) -> bytes:
    return hashlib.sha256(key.encode() + binary).digest()


def _read(path: Path) -> bytes:
    """Return what an entry holds; raises ValueError, with a reason that goes on "one", for what is no whole entry."""
    with open(path, "rb", opener=lambda name, _: os.open(name, _READ)) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("that is no regular file")
        if hasattr(os, "geteuid") and (found.st_uid != os.geteuid() or found.st_mode & 0o022):
            raise ValueError("that others can write")
        content = file.read()
    with contextlib.suppress(OSError):  # evicted at this moment; an entry without the note only goes earlier
        os.utime(path)
    magic, told, binary = content[: len(_MAGIC)], content[len(_MAGIC) : _HEAD], content[_HEAD:]
    if magic != _MAGIC or told != _hash(path.name, binary):
        raise ValueError("that is damaged")
    return binary


def _write(path: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=_UNFINISHED, dir=path.parent)  # for this user's eyes alone
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        if path.is_dir() and not path.is_symlink():  # nothing that this module makes, and in an entry's place
            _remove(path)
        os.replace(name, path)
    except BaseException:
        _remove(Path(name))
        raise


def _remove(path: Path) -> None:
    """Remove what is there, if anything is; a process beside this one may be quicker."""
    with contextlib.suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _evict(folder: Path, limit: int) -> None:
    """Remove what killed processes left, and while there are more bytes than allowed, what was used longest ago."""
    entries = sorted(_listed(folder, lambda name: len(name) == _NAME))
    total = sum(size for _, size, _ in entries)
    for _, size, path in entries:
        if total <= limit:
            break
        _remove(path)
        total -= size
    for used, _, path in _listed(folder, lambda name: name.startswith(_UNFINISHED)):
        if used < time.time() - _ABANDONED:
            _remove(path)


def _listed(folder: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[float, int, Path]]:
    """List files of the folder: when each was used, its bytes, and its path."""
    with os.scandir(folder) as found:
        for entry in found:
            with contextlib.suppress(FileNotFoundError):  # removed by a process beside this one
                if wanted(entry.name):
                    told = entry.stat(follow_symlinks=False)
                    yield told.st_mtime, told.st_size, folder / entry.name
