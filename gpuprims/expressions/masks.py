"""Refuse masked arrays, because kernels would use the masked elements."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuprims.errors import ArrayError, GpuprimsError, quoted

# Classes of list elements without a mask; most lists have no others.
_PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None)})
_LISTS = frozenset({list, tuple})
_NUMPYS = (np.ndarray, np.generic)
# NumPy's arrays have at most 64 dimensions.
DEEPEST = 64


def refuse_masked(label: str, *given: Any) -> None:
    """Raise :class:`ArrayError` for a masked array, and for a list that contains one at any depth.

    Examples
    --------
    >>> refuse_masked("reduce", np.ma.masked_array([1.0, 2.0], [0, 1]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    gpuprims.errors.ArrayError: reduce: arrays without a mask; got a masked array of shape (2,) (pass ...
    """
    for one in given:
        masked = _masked_in(one, DEEPEST, set())
        if masked is not None:
            raise ArrayError(
                f"{label}: arrays without a mask; got a masked array of shape {masked.shape}"
                " (pass x.compressed(), which leaves masked elements out, or x.filled(value), which replaces them)"
            )


def plain_array(
    label: str,
    given: Any,
    rule: str = "an array, or nested lists of equal length",
    error: type[GpuprimsError] = ArrayError,
) -> np.ndarray:
    """Return an array_like as a NumPy array without a mask; raise ``error`` with ``rule`` if NumPy cannot read it."""
    if type(given) is np.ndarray:
        return given
    try:
        refuse_masked(label, given)
        array = np.asanyarray(given)  # keeps a mask that __array__ returns
        refuse_masked(label, array)
        return np.asarray(array)
    except (GpuprimsError, MemoryError):
        raise
    except Exception as reason:  # ragged lists, JAX's tracers, any error of an __array__
        if is_traced(given):
            raise error(
                f"{label}: arrays with values; got a traced JAX array, {quoted(getattr(given, 'aval', given), 60)}"
                " (call it outside of jax.jit, jax.grad and jax.vmap, or inside by jax.pure_callback)"
            ) from reason
        got = f"{type(given).__name__} {quoted(given, 60)}"
        raise error(f"{label}: {rule}; got {got} ({quoted(reason, 200)})") from reason


def is_traced(given: Any) -> bool:
    """Return True for what JAX puts in the place of arrays while it traces a function."""
    core = getattr(sys.modules.get("jax"), "core", None)
    return core is not None and isinstance(given, core.Tracer)


def _masked_in(given: Any, depth: int, seen: set[int]) -> np.ma.MaskedArray[Any, Any] | None:
    if type(given) in _PLAIN:  # before slower checks
        return None
    if isinstance(given, np.ma.MaskedArray):
        return given
    if isinstance(given, _NUMPYS):
        return None
    if type(given) not in _LISTS and (not isinstance(given, Sequence) or isinstance(given, str | bytes | range)):
        return None
    if not depth or id(given) in seen or _PLAIN.issuperset(map(type, given)):
        return None
    seen.add(id(given))  # a list may contain itself
    return next((masked for one in given if (masked := _masked_in(one, depth - 1, seen)) is not None), None)
