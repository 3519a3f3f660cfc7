"""Sources of a stream by path: the library of each kind of file, imported when one is opened."""

from __future__ import annotations

import importlib
import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from gpuprims.errors import ArgumentError, BackendUnavailableError, quoted

# By the end of a path: the module that reads such files, its package, and how.
_KINDS = {
    ".zarr": ("zarr", "zarr"),
    ".parquet": ("pyarrow.parquet", "pyarrow"),
    ".h5": ("h5py", "h5py"),
    ".hdf5": ("h5py", "h5py"),
}
_HDF5 = re.compile(r"(.+\.(?:h5|hdf5)):(.+)")


def opened(source: Any) -> Any:
    """Return a source; open it if it is a path."""
    if not isinstance(source, str | os.PathLike):
        return source
    text = os.fspath(source)
    found = _HDF5.fullmatch(text)
    path, dataset = (found[1], found[2]) if found else (text, None)
    suffix = Path(path).suffix.lower()
    if suffix != ".npy" and suffix not in _KINDS:
        kinds = ", ".join([".npy", *_KINDS])
        raise ArgumentError(f"stream: a path that ends in one of {kinds}; got {quoted(text)} (or pass an open array)")
    if not Path(path).exists():
        raise ArgumentError(f"stream: a file that exists; got {quoted(text)}")
    if suffix == ".npy":
        return np.load(path, mmap_mode="r")
    name, package = _KINDS[suffix]
    try:
        library: Any = importlib.import_module(name)
    except ImportError as error:
        raise BackendUnavailableError(package, f"{quoted(text)} needs {package}", f"pip install {package}") from error
    if suffix == ".zarr":
        return library.open_array(path, mode="r")
    return library.ParquetFile(path) if suffix == ".parquet" else _dataset(library.File(path, "r"), dataset, text)


def _dataset(file: Any, name: str | None, text: str) -> Any:
    """Return a dataset of an HDF5 file: the one that is named, or its only one."""
    names: list[str] = []
    file.visititems(lambda one, found: names.append(one) if hasattr(found, "dtype") else None)
    chosen = names if name is None else [one for one in names if one == name.strip("/")]
    if len(chosen) != 1:
        among = ", ".join(names) or "none"
        raise ArgumentError(f"stream: a dataset of the file, as in 'data.h5:X'; got {quoted(text)}, which has {among}")
    return file[chosen[0]]
