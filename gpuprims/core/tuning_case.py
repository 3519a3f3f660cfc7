"""Tuning cases: a call of each primitive that ``gpuprims tune`` measures and checks.

Elements are small integers, also as floats, so that every sum is exact in any order: a result is right or wrong, and
needs no tolerance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class TuningCase:
    """A call of a primitive; see :attr:`gpuprims.core.primitive.Primitive.tuning_case`.

    Parameters
    ----------
    primitive : str
    elements : callable
        From a generator, a dtype and a number of elements to an array.
    function : callable
        The primitive's public function.
    arguments : callable
        From an array to the function's positional arguments.
    expected : callable
        From an array to the result, or the first one of several, by NumPy.
    into : bool
        True if the call takes ``out=``, so that timed calls allocate no memory.
    """

    primitive: str
    elements: Callable[[np.random.Generator, np.dtype[Any], int], np.ndarray]
    function: Callable[..., Any]
    arguments: Callable[[Any], tuple[Any, ...]]
    expected: Callable[[np.ndarray], np.ndarray]
    into: bool

    def run(self, array: Any, **keywords: Any) -> Any:
        """Return the first result for an array, with ``device``, ``variant`` and perhaps ``out``."""
        result = self.function(*self.arguments(array), **keywords)
        return result[0] if isinstance(result, tuple) else result


def small_integers(rng: np.random.Generator, dtype: np.dtype[Any], size: int) -> np.ndarray:
    """Return integers from -8 (0 if unsigned) to 8."""
    low = 0 if dtype.kind == "u" else -8
    return rng.integers(low, 8, size, np.int8, endpoint=True).astype(dtype)
