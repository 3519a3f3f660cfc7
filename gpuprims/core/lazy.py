"""Lazy arrays, such as Dask's, which compute in chunks: a call on one becomes a call on each chunk.

Only arrays of no other known class are checked, so other calls pay nothing. The check imports no library.
"""

from __future__ import annotations

import importlib
from typing import Any

from gpuprims.errors import LazyArrayError

# For each library, the module with a function for each primitive. Primitives that it lacks read the whole array into
# memory, as NumPy's functions do.
_MODULES = {"dask.array": "gpuprims.distributed.dask_arrays"}


def is_lazy(array: Any) -> bool:
    """Return True for a lazy array."""
    return _library_of(array) in _MODULES


def _library_of(array: Any) -> str:
    return ".".join(type(array).__module__.split(".")[:2])


def find_lazy(label: str, array: Any) -> None:
    """Raise LazyArrayError for a lazy array, if the primitive ``label`` has a version in chunks."""
    library = _library_of(array)
    if library in _MODULES and label in importlib.import_module(_MODULES[library]).__all__:
        raise LazyArrayError(label, library)


def call_by_chunks(found: LazyArrayError, name: str, *given: Any, **keywords: Any) -> Any:
    """Return the lazy result of a primitive, called once for each chunk."""
    module = importlib.import_module(_MODULES[found.library])
    return getattr(module, name)(*given, **keywords)
