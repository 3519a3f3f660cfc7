"""The cache of compiled kernels on disk, for every backend: private, checked, and limited in bytes.

The name of an entry is a hash of everything that decides the binary: text, options, compiler and device. An entry
begins with a hash of its contents, because a damaged binary crashes drivers such as Intel's. Entries are written to a
temporary file, which is then renamed, so a killed process leaves no lock. The least recently used are deleted first.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TypeVar

from gpuprims.core.notices import limit_from, warn_once
from gpuprims.core.private_folder import UNFINISHED, private_folder, write_atomically

T = TypeVar("T")

_LIMIT = 1 << 30  # bytes
_MAGIC = b"gpuprims kernel 1\n"
_HEAD = len(_MAGIC) + hashlib.sha256().digest_size
_NAME = 2 * hashlib.sha256().digest_size
_ABANDONED = 3600  # seconds after which an unfinished file is a killed process's
# Read only; follow no link, and do not wait for the writer of a pipe.
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)

# The keys of binaries that calls have loaded, for :func:`found_within`.
_FOUND: ContextVar[list[str] | None] = ContextVar("binaries found", default=None)


def key_of(*facts: str) -> str:
    """Return the key of a binary, a hash of the facts that decide it."""
    told = "".join(f"{len(fact)}:{fact}" for fact in facts)
    return hashlib.sha256(_MAGIC + told.encode()).hexdigest()


def cached(key: str, load: Callable[[bytes], T], build: Callable[[], tuple[T, bytes]], refused: type[Exception]) -> T:
    """Load the program of a key from its binary, or build it and keep its binary.

    ``load`` raises ``refused`` if the driver does not take the binary. ``build`` returns a program and its binary,
    which is empty if the driver gives none.
    """
    if (binary := fetch(key)) is not None:
        try:
            program = load(binary)
            if (found := _FOUND.get()) is not None:
                found.append(key)
            return program
        except refused as error:
            discard(key, f"that the driver refuses ({error})")
    program, binary = build()
    if binary:
        keep(key, binary)
    return program


@contextmanager
def found_within() -> Iterator[list[str]]:
    """Give a list that gets the keys of binaries that :func:`cached` loads from the disk in the block."""
    found: list[str] = []
    token = _FOUND.set(found)
    try:
        yield found
    finally:
        _FOUND.reset(token)


def fetch(key: str) -> bytes | None:
    """Return the binary of a key; None if there is none, or, with a warning, if it cannot be trusted."""
    folder = private_folder("kernels")
    if folder is None:
        return None
    try:
        return _read(folder / key)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        discard(key, f"that cannot be read ({error.strerror})" if isinstance(error, OSError) else str(error))
        return None


def keep(key: str, binary: bytes) -> None:
    """Write the binary of a key atomically; warn if that fails."""
    folder, limit = private_folder("kernels"), limit_from("GPUPRIMS_CACHE_BYTES", "bytes", _LIMIT, 0)
    if folder is None or len(binary) + _HEAD > limit:
        return
    try:
        if (path := folder / key).is_dir():  # not made by this module
            _remove(path)
        write_atomically(path, _MAGIC + hashlib.sha256(key.encode() + binary).digest() + binary)
        _evict(folder, limit)
    except OSError as error:
        warn_once(f"{folder}: room for compiled kernels; got {error.strerror or error} (kernels are kept in memory)")


def discard(key: str, reason: str) -> None:
    """Remove a useless entry and warn, once for each reason, not for each entry."""
    if folder := private_folder("kernels"):
        warn_once(f"{folder}: intact kernels of this user; got one {reason} (it is compiled again and replaced)")
        _remove(folder / key)


def _read(path: Path) -> bytes:
    """Return the binary of an entry; raise ValueError if it is bad, with a reason that follows "got one"."""
    with open(path, "rb", opener=lambda name, _: os.open(name, _READ)) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("that is not a regular file")
        if hasattr(os, "geteuid") and (found.st_uid != os.geteuid() or found.st_mode & 0o022):
            raise ValueError("that others can write")
        content = file.read()
    with contextlib.suppress(OSError):  # evicted now, or read-only: then it is evicted earlier
        os.utime(path)
    magic, told, binary = content[: len(_MAGIC)], content[len(_MAGIC) : _HEAD], content[_HEAD:]
    if magic != _MAGIC or told != hashlib.sha256(path.name.encode() + binary).digest():
        raise ValueError("that is damaged")
    return binary


def _remove(path: Path) -> None:
    """Remove a file or folder, unless another process already has."""
    with contextlib.suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _evict(folder: Path, limit: int) -> None:
    """Remove the least recently used entries beyond the limit, and files that killed processes left."""
    entries = []
    with os.scandir(folder) as found:
        for entry in found:
            with contextlib.suppress(FileNotFoundError):  # removed by another process
                told = entry.stat(follow_symlinks=False)
                if len(entry.name) == _NAME:
                    entries.append((told.st_mtime, told.st_size, folder / entry.name))
                elif entry.name.startswith(UNFINISHED) and told.st_mtime < time.time() - _ABANDONED:
                    _remove(folder / entry.name)
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= limit:
            break
        _remove(path)
        total -= size
