"""Tuning cases: calls of a primitive that ``gpuprims tune`` measures and :mod:`gpuprims.testing` checks.

Elements are small integers, also as floats, so that every sum is exact in any order: a result is right or wrong, and
needs no tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Elements = Callable[[np.random.Generator, np.dtype[Any], int], np.ndarray]


@dataclass(frozen=True)
class TuningCase:
    """A call of a primitive; see :attr:`gpuprims.core.primitive.Primitive.tuning_case`.

    Parameters
    ----------
    primitive : str
    elements : callable
        Takes a generator, a dtype and a number of elements; returns an array.
    function : callable
        The primitive's public function.
    arguments : callable
        Takes an array; returns the function's positional arguments.
    expected : callable
        Takes an array; returns NumPy's result, or the first of several.
    into : bool
        True if the call takes ``out=``, so that timed calls allocate no memory.
    dtypes : tuple of str
        Dtypes of elements to check.
    further : mapping of str to TuningCase
        Calls by name that are checked and not measured: other operators, axes, shapes.
    rtol : float, default 0
        Relative error that results may have.
    takes_variant : bool, default True
        False for a function that calls several primitives and has no ``variant=``. A checked variant then outranks all
        others of its primitive during the call.
    """

    primitive: str
    elements: Elements
    function: Callable[..., Any]
    arguments: Callable[[Any], tuple[Any, ...]]
    expected: Callable[[np.ndarray], np.ndarray]
    into: bool
    dtypes: tuple[str, ...] = ("float32", "int32", "float64", "uint8")
    further: Mapping[str, TuningCase] = field(default_factory=dict)
    rtol: float = 0.0
    takes_variant: bool = True

    def run(self, array: Any, **keywords: Any) -> Any:
        """Return the first result for an array, with ``device``, ``variant`` and perhaps ``out``."""
        result = self.function(*self.arguments(array), **keywords)
        return result[0] if isinstance(result, tuple) else result


def small_integers(rng: np.random.Generator, dtype: np.dtype[Any], size: int) -> np.ndarray:
    """Return integers from -8 (0 if unsigned) to 8."""
    low = 0 if dtype.kind == "u" else -8
    return rng.integers(low, 8, size, np.int8, endpoint=True).astype(dtype)


def signs(rng: np.random.Generator, dtype: np.dtype[Any], size: int) -> np.ndarray:
    """Return 1 and -1 (the highest value if unsigned), whose products and short sums are exact."""
    return (1 - 2 * rng.integers(0, 2, size, np.int8)).astype(dtype)


def rows(elements: Elements) -> Elements:
    """Return elements in many short rows."""

    def grid(rng: np.random.Generator, dtype: np.dtype[Any], size: int) -> np.ndarray:
        length = 1 + size % 300
        return elements(rng, dtype, 1031 * length).reshape(1031, length)

    return grid


def columns(elements: Elements) -> Elements:
    """Return elements in many short columns."""

    def grid(rng: np.random.Generator, dtype: np.dtype[Any], size: int) -> np.ndarray:
        length, width = 1 + size % 37, 2048 + size % 1000
        return elements(rng, dtype, length * width).reshape(length, width)

    return grid
