"""Powers by a constant exponent without ``pow``: NumPy's own shortcuts, and products.

NumPy squares, inverts and takes roots instead, which rounds once. A device's ``pow`` is some units off, and slower than
a product.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpuprims.expressions.functions import FUNCTIONS, Function

# By the exponent of a real number. NumPy calls pow for the last two, whose results the kernels' products are.
_REAL = {0: "one", 1: "positive", 2: "square", -1: "reciprocal", 0.5: "sqrt", 3: "cube", 4: "fourth"}
_INTEGER = ("one", "positive", "square")
# Of a complex one by Python's own exponents alone: NumPy makes others complex too, and multiplies in another order.
_COMPLEX = {(int, 2): "square", (int, -1): "reciprocal", (float, 0.5): "sqrt"}

# Everything that an expression computes once its dtypes are known: what callers may name, and powers that they may not.
COMPUTED: Mapping[str, Function] = {
    **FUNCTIONS,
    "cube": Function("cube", lambda x: np.power(x, 3), 1, {"f": "gp_cube_{T}({0})"}),
    "fourth": Function("fourth", lambda x: np.power(x, 4), 1, {"f": "gp_fourth_{T}({0})"}),
}


def shortcut(dtype: np.dtype[Any], exponent: Any) -> str | None:
    """Return what computes a power, or None where only ``power`` does.

    Parameters
    ----------
    dtype : dtype
        In which NumPy computes it.
    exponent : scalar
        The constant exponent: a Python number, or a NumPy one where it has a dtype of its own.

    Returns
    -------
    str or None
        ``"one"``, or the name of a function of one operand.

    Examples
    --------
    >>> shortcut(np.dtype(np.float32), -1)
    'reciprocal'
    >>> shortcut(np.dtype(np.float32), 2.5) is None
    True
    """
    if exponent == 0:
        return "one"
    if dtype.kind == "c":
        return _COMPLEX.get((type(exponent), exponent))
    found = _REAL.get(exponent)
    return found if dtype.kind == "f" or found in _INTEGER else None
