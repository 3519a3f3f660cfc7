"""Arrays of libraries that gpuprims does not import, such as torch and JAX, read and made by DLPack."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from gpuprims.core.dlpack_dtypes import producer_of, read
from gpuprims.core.registry import REGISTRY
from gpuprims.errors import ArgumentError, ArrayError, DtypeError, GpuprimsError, quoted
from gpuprims.expressions.expr import COMPUTABLE

# DLPack's device types (dlpack.h) of memory that the host reads: host memory, and CUDA's pinned memory.
_DLPACK_HOST = (1, 3)
# Libraries with immutable arrays; a CuPy array over their memory would look writable.
_IMMUTABLE = frozenset({"jax", "jaxlib"})
# Names of the dtypes that kernels compute with, also in torch and JAX.
_NAMES = frozenset(dtype.name for dtype in COMPUTABLE)


def from_dlpack(label: str, array: Any) -> Any:
    """Return a NumPy array, or one of the device's vendor, over the memory of a DLPack producer."""
    try:
        return _shared(label, array)
    except (GpuprimsError, MemoryError):
        raise
    except Exception as error:  # the producer may raise anything
        dtype = str(getattr(array, "dtype", "")).rpartition(".")[2]
        if dtype and dtype not in _NAMES:
            raise DtypeError(
                f"{label}: an array of numbers or bools that NumPy has too; got dtype {array.dtype}"
                " (convert it first, such as to float32)"
            ) from error
        raise ArrayError(
            f"{label}: a dense array, whose memory DLPack can share; got {short(array)}: {quoted(error, 200)}"
            " (make a dense copy)"
        ) from error


def _shared(label: str, array: Any) -> Any:
    kind = int(array.__dlpack_device__()[0])
    # torch: drop the gradients, and apply conjugation and negation that views postpone; NumPy and CuPy ignore them.
    for plainly in ("detach", "resolve_conj", "resolve_neg"):
        if hasattr(array, plainly):
            array = getattr(array, plainly)()
    if kind in _DLPACK_HOST:
        return read(label, array, np.from_dlpack, np.ndarray.view)
    for backend in REGISTRY.backends():
        if backend.dlpack_device == kind:
            return read(label, array, backend.from_dlpack, backend.viewed)
    raise ArrayError(f"{label}: a DLPack array in host or CUDA memory; got device type {kind} ({short(array)})")


def check_writable(label: str, array: Any) -> None:
    """Raise for an ``out=`` of another library that must not be written, or whose view changes its memory's values."""
    if _root(type(array)) in _IMMUTABLE:
        raise ArgumentError(
            f"{label}: out= an array that can be written; got a JAX array, and these are immutable"
            " (leave out= away, and take the result)"
        )
    if getattr(array, "requires_grad", False):
        raise ArgumentError(f"{label}: out= without requires_grad; got {short(array)} (pass out.detach())")
    if any(getattr(array, lazily, bool)() for lazily in ("is_conj", "is_neg")):
        raise ArgumentError(f"{label}: out= a tensor that is not a lazily conjugated or negated view; got one")


def reader_of(label: str, array: Any) -> Callable[[Any], Any]:
    """Return ``from_dlpack`` of the library that an array belongs to, by its class or one that this derives from."""
    if hasattr(array, "__array_namespace__"):
        namespaces = [array.__array_namespace__()]
    else:
        namespaces = [sys.modules.get(_root(kind)) for kind in type(array).__mro__]
    readers = (getattr(namespace, "from_dlpack", None) for namespace in namespaces)
    reader: Callable[[Any], Any] | None = next(filter(None, readers), None)
    if reader is None:
        raise ArrayError(
            f"{label}: an array of a library with from_dlpack, to return the same type; got {short(array)}"
        )

    def back(result: Any) -> Any:
        array = reader(producer_of(np.asarray(result) if isinstance(result, np.generic) else result))
        dtype = getattr(array, "dtype", None)
        if isinstance(dtype, np.dtype) and dtype != result.dtype:  # JAX narrows 64 bits by default
            raise DtypeError(
                f"{label}: a library that keeps a result of {result.dtype}; got one that makes it {dtype}"
                " (for JAX, jax.config.update('jax_enable_x64', True))"
            )
        return array

    return back


# What to pass instead, by the kind of a dtype.
_INSTEAD = {
    "O": "x.astype(np.float64), or the dtype of its elements",
    "S": "x.astype(np.float64) for texts of numbers",
    "U": "x.astype(np.float64) for texts of numbers",
    "T": "x.astype(np.float64) for texts of numbers",
    "M": "x.astype(np.int64), or a difference over a unit: (x - x[0]) / np.timedelta64(1, 's')",
    "m": "x / np.timedelta64(1, 's')",
    "V": "one field, such as x['name']",
}


def refuse_elements(label: str, given: Any, array: Any) -> NoReturn:
    """Raise for elements that are neither numbers nor bools; ``array`` is what NumPy makes of what is given."""
    if array.ndim == 0 and array.dtype.kind in "OSU":
        hints = {
            dict: "list(x.values())",
            type(None): "a list or an array",
        }
        hint = hints.get(type(given), "")
        if isinstance(given, str):
            hint = "the contents of a file, such as np.load(name)" if {".", "/", "\\"} & set(given) else ""
        elif hasattr(given, "toarray"):
            hint = "x.toarray(), or x.data for its stored elements"
        elif not hint and hasattr(given, "__iter__") and not isinstance(given, np.ndarray):
            hint = "list(x)"
        raise ArrayError(
            f"{label}: an array of numbers or bools; got {short(given)}" + (f" (pass {hint})" if hint else "")
        )
    raise DtypeError(
        f"{label}: an array of numbers or bools; got dtype {array.dtype} ({short(array)}; pass"
        f" {_INSTEAD[array.dtype.kind]})"
    )


def _root(kind: type) -> str:
    return kind.__module__.partition(".")[0]


def short(value: Any) -> str:
    """Return a value in a few words, for messages."""
    return f"{type(value).__name__} {quoted(value, 60)}"
