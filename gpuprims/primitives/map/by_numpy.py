"""Maps of few elements by NumPy, with the bits of the kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpuprims.core.by_numpy import ByNumPy, Few
from gpuprims.core.layout import Form, is_contiguous
from gpuprims.expressions import TypedExpr
from gpuprims.expressions.exact import is_exact, prepared

# NumPy reads and writes an array for each operation, and looks for NaN among floats.
_FEW, _FEW_OF_MANY, _MOST = Few(near=2**15, woken=2**16), Few(near=0, woken=2**16), 2  # rows: by_numpy


def maps_by_numpy(function: TypedExpr, forms: Sequence[Form], results: Sequence[Form]) -> ByNumPy | None:
    """Return how NumPy applies a function to whole arrays in C order, if it does."""
    if not is_exact(function) or not all(map(is_contiguous, (*forms, *results))):
        return None
    computed = all(function.nodes[k].name not in ("argument", "constant") for k in function.results)
    whole = all(form.shape == results[0].shape for form in forms)
    shape = None if computed and whole else results[0].shape
    operations = [node for node in function.nodes if node.name not in ("argument", "constant")]
    floats = any(node.dtype.kind == "f" for node in operations)
    few = _FEW_OF_MANY if floats or len(operations) > _MOST else _FEW
    return ByNumPy(partial(_applied, prepared(function), shape), few)


def _applied(apply: Callable[..., tuple[Any, ...]], shape: tuple[int, ...] | None, *arrays: np.ndarray) -> Any:
    """Return results; NotImplemented with NaN, whose bits may differ.

    ``shape`` is given if a result may be smaller, or may be one of the arrays.
    """
    results = apply(*arrays)
    if shape is not None:
        results = tuple([np.array(np.broadcast_to(result, shape)) for result in results])
    for result in results:
        if result.dtype.kind == "f" and (most := np.maximum.reduce(result, None)) != most:
            return NotImplemented
    return results[0] if len(results) == 1 else results
