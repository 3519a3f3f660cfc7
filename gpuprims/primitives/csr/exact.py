"""Products with sparse matrices whose sums are exact: products of elements, each rounded, in segments of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.operands import Operands
from gpuprims.primitives.reduce import reduce
from gpuprims.primitives.take import take


def product_exactly(operands: Operands) -> Any:
    """Return the product at the level "order", for indices that are right.

    A kernel that folds segments adds words of exact sums (``exact_words``), for each column of the dense matrix.
    """
    elements, columns, ends, dense = operands.natives
    how: dict[str, Any] = {"device": operands.device}

    def product(factors: Any, out: Any = None) -> Any:
        along = take(factors, columns, **how)
        return reduce(elements, along, map="a*b", segments=ends, out=out, **how)

    if len(dense.shape) == 1:
        return operands.to_caller(product(dense))
    results = (np if operands.on_host else operands.driver).empty((len(ends) - 1, dense.shape[1]), elements.dtype)
    for k in range(dense.shape[1]):
        product(dense[:, k], results[:, k])
    return operands.to_caller(results)
