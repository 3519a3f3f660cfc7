"""Arrays that compute later, in chunks, such as Dask's: a call on them becomes calls on the chunks.

They are recognised where no class of arrays in memory fits, so other calls pay nothing. No library is imported to
recognise its arrays.
"""

from __future__ import annotations

import importlib
from typing import Any

from gpuprims.errors import LazyArrayError

# By library: the module whose functions have the names of primitives, and their arrays and keywords. Functions that it
# lacks read all of an array into memory, as NumPy's do.
_MODULES = {"dask.array": "gpuprims.distributed.dask_arrays"}


def is_lazy(array: Any) -> bool:
    """Return True for an array of such a library."""
    return _library_of(array) in _MODULES


def _library_of(array: Any) -> str:
    return ".".join(type(array).__module__.split(".")[:2])


def find_lazy(label: str, array: Any) -> None:
    """Raise LazyArrayError for an array of such a library."""
    library = _library_of(array)
    if library in _MODULES and label in importlib.import_module(_MODULES[library]).__all__:
        raise LazyArrayError(label, library)


def call_by_chunks(found: LazyArrayError, name: str, *given: Any, **keywords: Any) -> Any:
    """Return the lazy result of a primitive, by a call for each chunk."""
    module = importlib.import_module(_MODULES[found.library])
    return getattr(module, name)(*given, **keywords)
