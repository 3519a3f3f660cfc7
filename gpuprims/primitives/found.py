"""Results of nanargmin and nanargmax: the index -1 where all elements are NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuprims.core.operands import Operands
from gpuprims.errors import EmptyReductionError
from gpuprims.operators import OPERATORS, Op

_FINDS = ("nanargmin", "nanargmax")


def must_find(label: str, op: Op, operands: Operands) -> Callable[[Any], Any] | None:
    """Return a function that returns a call's results, or raises as NumPy if one is -1.

    It is None for other operators, and for arrays of a device, because there the call would have to wait.
    """
    if not operands.on_host or op not in [OPERATORS[name] for name in _FINDS]:
        return None

    def found(results: Any) -> Any:
        if np.min(np.asarray(results), initial=0) < 0:  # a tensor has no min of nothing
            raise EmptyReductionError(f"{label} with {op.name}: a number in each slice; got one where all are NaN")
        return results

    return found
