"""Archives of plain arrays (.npz): written atomically, checked before they are read.

An archive must have the form that ``np.savez`` writes: known members without compression, one after the other, with no
bytes between them. So no member is larger than the file, and memory is proportional to the file's size. The dtype and
shape in each member's header must match its number of bytes.
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import shutil
import stat
import struct
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from math import prod
from os import PathLike
from pathlib import Path
from typing import IO, Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np

from gpuprims.errors import ArgumentError, GpuprimsError, ModelFileError, quoted, shortened

_SUFFIX = ".npz"
# Limits of an archive's directory: members and bytes. A model has 5 members in about 400 bytes.
_MAX_MEMBERS, _MAX_DIRECTORY = 16, 16_384
# The records at the end of a zip file, from PKWARE's APPNOTE 6.3: signatures and bytes.
_END, _END_BYTES = b"PK\5\6", 22
_LOCATOR, _LOCATOR_BYTES, _END64, _END64_BYTES = b"PK\6\7", 20, b"PK\6\6", 56
_LOCAL_BYTES = 30
_UTF8_NAME = 0x800
# The header of an array that np.save writes, format 1.0.
_MAGIC = b"\x93NUMPY\x01\x00"
_MAX_HEADER = 1024
_HEADER = re.compile(
    rb"\{'descr': '([<>|][biufU]\d{1,9})', 'fortran_order': (True|False), "
    rb"'shape': \(((?:\d{1,18}(?:, \d{1,18}|,))?)\), \} *\n"
)
# A flag to open a FIFO without waiting for a writer.
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)
# Exceptions that the standard library and NumPy raise for damaged archives.
_DAMAGE = (BadZipFile, OSError, EOFError, ValueError, KeyError, TypeError, OverflowError, RuntimeError, struct.error)


def checked_model_path(label: str, path: str | PathLike[str]) -> Path:
    """Return a model's path; raise ArgumentError unless it ends in ``.npz``, which ``load`` requires."""
    named = isinstance(path, str | PathLike)
    if not named or Path(path).suffix != _SUFFIX:
        raise ArgumentError(f"{label}: a path that ends in {_SUFFIX}; got {quoted(Path(path).name if named else path)}")
    return Path(path)


def write_archive(label: str, path: str | PathLike[str], arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays to a file atomically; raise ArgumentError for another suffix or a file that cannot be written."""
    target = checked_model_path(label, path)
    try:
        _replace(Path(os.path.realpath(target)), arrays)
    except OSError as error:
        raise ArgumentError(f"{label}: a writable file; got {str(target)!r} ({error.strerror})") from error


def _replace(target: Path, arrays: Mapping[str, np.ndarray]) -> None:
    if target.exists():
        if not target.is_file():
            raise OSError(errno.EINVAL, "Not a regular file")
        if not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, "Permission denied")
    beside = target.with_name(f".{secrets.token_hex(8)}{_SUFFIX}")
    try:
        with beside.open("xb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]  # no array is called allow_pickle
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, beside)
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


@contextmanager
def open_archive(
    label: str, path: str | PathLike[str], required: Collection[str], optional: Collection[str] = ()
) -> Iterator[Archive]:
    """Read an archive and check it.

    Errors here and inside the ``with`` block become ModelFileError, except for FileNotFoundError.
    """
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | _AT_ONCE)) as file:
            yield Archive(label, Path(path), file, required, optional)
    except (GpuprimsError, FileNotFoundError):
        raise
    except _DAMAGE as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise _refusal(label, path, reason) from error


def _refusal(label: str, path: str | PathLike[str], reason: str) -> ModelFileError:
    wrote = f"{label.partition('.')[0]}.save wrote"
    return ModelFileError(f"{label}: a file that {wrote}; got {str(path)!r} ({shortened(reason, 200)})")


class Archive:
    """The checked arrays of an open file: every required one, any of the optional ones, and no others."""

    def __init__(
        self, label: str, path: Path, file: IO[bytes], required: Collection[str], optional: Collection[str]
    ) -> None:
        self._label, self._path, self._file = label, path, file
        found = os.fstat(file.fileno())
        self.check(stat.S_ISREG(found.st_mode), "not a regular file")
        self.check(path.suffix == _SUFFIX, f"its name does not end in {_SUFFIX}")
        self._check_end(found.st_size)
        with ZipFile(file) as archive:
            infos = sorted(archive.infolist(), key=lambda info: info.header_offset)
            self._check_names([info.filename for info in infos], required, optional)
            self._check_places(infos, archive.start_dir)
            named = ((info.filename.removesuffix(".npy"), info) for info in infos)
            self.arrays = {name: self._array(name, archive.read(info)) for name, info in named}  # checks each CRC

    def check(self, holds: bool, reason: str) -> None:
        """Raise ModelFileError with the reason unless a condition holds."""
        if not holds:
            raise _refusal(self._label, self._path, reason)

    def json(self, name: str) -> dict[str, Any]:
        """Return the JSON object in an array that is one string."""
        array = self.arrays[name]
        self.check(array.dtype.kind == "U" and array.shape == (), f"{name} is not one string")
        found = json.loads(array.item())
        self.check(isinstance(found, dict), f"{name} is not a JSON object")
        return dict(found)

    def _check_end(self, size: int) -> None:
        """Check the directory's size before ZipFile reads it."""
        tail_bytes = min(size, _END64_BYTES + _LOCATOR_BYTES + _END_BYTES)
        self._file.seek(size - tail_bytes)
        tail = self._file.read(tail_bytes)
        end = tail[-_END_BYTES:]
        is_end = len(end) == _END_BYTES and end[:4] == _END and end[-2:] == b"\0\0"
        self.check(is_end, "not a zip file, or a truncated one")
        directories = [struct.unpack_from("<HI", end, 10)]
        if tail[-_END_BYTES - _LOCATOR_BYTES :][:4] == _LOCATOR:  # archives beyond 2 GiB
            claimed = struct.unpack_from("<Q", tail, len(tail) - _END_BYTES - _LOCATOR_BYTES + 8)[0]
            self.check(tail[:4] == _END64 and claimed == size - len(tail), "its end record is in the wrong place")
            directories.append(struct.unpack_from("<QQ", tail, 32))
        for count, length in directories:
            fits = count <= _MAX_MEMBERS and length <= _MAX_DIRECTORY
            self.check(fits, f"a directory of {count:,} members in {length:,} bytes")

    def _check_names(self, files: list[str], required: Collection[str], optional: Collection[str]) -> None:
        missing = [name for name in required if f"{name}.npy" not in files]
        self.check(not missing, f"it has no {' and no '.join(missing)}")
        self.check(len(set(files)) == len(files), "two members with one name")
        strange = set(files).difference(f"{name}.npy" for name in (*required, *optional))
        self.check(not strange, f"an unknown member, {sorted(strange)[:1]}")

    def _check_places(self, infos: list[ZipInfo], end: int) -> None:
        """Check that members fill the file up to its directory, without gaps or compression."""
        at = 0
        for info in infos:
            name = info.filename.removesuffix(".npy")
            self.check(info.header_offset == at, f"{name} does not begin where the member before it ends")
            stored = info.compress_type == ZIP_STORED and info.compress_size == info.file_size
            self.check(stored, f"{name} is compressed, from {info.file_size:,} bytes to {info.compress_size:,}")
            self.check(not info.flag_bits & ~_UTF8_NAME, f"{name} is encrypted or has no known length")
            self._file.seek(at)
            local = self._file.read(_LOCAL_BYTES)
            at += _LOCAL_BYTES + sum(struct.unpack_from("<HH", local, 26)) + info.file_size
            self.check(at <= end, f"{name} is larger than the file, {info.file_size:,} bytes")
        self.check(at == end, "bytes between the last member and the directory")

    def _array(self, name: str, data: bytes) -> np.ndarray:
        """Return the array in the bytes of a member, in native byte order."""
        prefix = len(_MAGIC) + 2
        self.check(data.startswith(_MAGIC) and len(data) >= prefix, f"{name} is not an array")
        begin = prefix + int.from_bytes(data[prefix - 2 : prefix], "little")
        header = _HEADER.fullmatch(data[prefix:begin]) if begin <= min(len(data), _MAX_HEADER) else None
        if header is None:
            reason = f"{name} is not an array of numbers or text with at most two axes"
            raise _refusal(self._label, self._path, reason)
        dtype = np.dtype(header[1].decode())
        shape = tuple(int(length) for length in header[3].decode().split(",") if length)
        fits = dtype.itemsize > 0 and prod(shape) * dtype.itemsize == len(data) - begin
        self.check(fits, f"{name} is {dtype} of {shape} in {len(data) - begin:,} bytes")
        given = np.frombuffer(data, dtype, offset=begin)
        if dtype.kind == "b":
            self.check(bool(np.all(given.view(np.uint8) <= 1)), f"{name} has bools that are neither 0 nor 1")
        array = given.reshape(shape, order="F" if header[2] == b"True" else "C")
        native: np.ndarray = np.array(array, dtype.newbyteorder("="), order="C")
        if dtype.kind == "U":  # NumPy raises SystemError, or worse, for other code points
            points = np.frombuffer(native.tobytes(), np.uint32)
            self.check(bool(np.all(points <= sys.maxunicode)), f"{name} has code points that are not characters")
        return native
