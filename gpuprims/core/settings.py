"""Read files of settings safely: a path may lead to another user's file, a device or gigabytes."""

from __future__ import annotations

import inspect
import os
import stat
from pathlib import Path
from typing import TypeVar

from platformdirs import user_cache_path

from gpuprims.errors import quoted

_Record = TypeVar("_Record")
# Field types that are checked, by annotation.
_KINDS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "bool": (bool,),
    "int": (int,),
    "int | None": (int, type(None)),
    "float": (int, float),
}
# Bytes of a settings file: a thousand tuned choices are half a megabyte.
MOST_BYTES = 4 << 20


def read_settings(path: Path, *, named: bool) -> str:
    """Return the text of a settings file.

    Parameters
    ----------
    path : Path
    named : bool
        True if the user named the file. Otherwise it must belong to this user or to root, because HOME may be another
        user's.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    OSError
        The file cannot be read, is not a regular file, is larger than 4 MiB or belongs to another user.
    UnicodeDecodeError
        The file is not UTF-8.
    """
    # O_NONBLOCK: opening a pipe without a writer would wait. Windows has neither the flag nor such pipes.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
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


def path_at_home(name: str) -> Path:
    """Return the path of a file in the user's cache folder; the file need not exist.

    Raises
    ------
    OSError
        Neither HOME nor the system's list of users tells the user's home.
    """
    try:
        path = user_cache_path("gpuprims") / name
    except RuntimeError as error:
        raise OSError(str(error)) from error
    if not path.is_absolute():  # some versions of platformdirs return this where others raise
        raise OSError(f"no absolute path: {path}")
    return path


def checked_record(record: _Record) -> _Record:
    """Return a record after checking that its fields have the annotated types and its numbers fit in 64 bits.

    Raises
    ------
    TypeError
        A field is wrong; the message holds its name and value.
    """
    for key, annotation in inspect.get_annotations(type(record)).items():
        kind, value = str(getattr(annotation, "__forward_arg__", annotation)), getattr(record, key)
        if kind in _KINDS:
            large = isinstance(value, int | float) and not -(2**63) <= value < 2**63  # NaN too
            if large or not isinstance(value, _KINDS[kind]):
                raise TypeError(f"{key} {quoted(value)}")
    return record
