"""Powers by a constant exponent without ``pow``: NumPy's shortcuts, and products.

NumPy computes some powers as squares, reciprocals or roots, which round once. A device's ``pow`` is off by a few units
in the last place, and slower than a product.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpuprims.expressions.functions import FUNCTIONS, Function

# Functions of real numbers, by exponent. NumPy calls pow for 3 and 4; products nearly always give the same results.
_REAL = {0: "one", 1: "positive", 2: "square", -1: "reciprocal", 0.5: "sqrt", 3: "cube", 4: "fourth"}
_INTEGER = ("one", "positive", "square")
# Functions of complex numbers, for Python exponents only: NumPy converts others to complex and multiplies differently.
_COMPLEX = {(int, 2): "square", (int, -1): "reciprocal", (float, 0.5): "sqrt"}

# All functions of a typed expression: FUNCTIONS, and two powers that callers cannot name.
COMPUTED: Mapping[str, Function] = {
    **FUNCTIONS,
    "cube": Function("cube", lambda x: np.power(x, 3), 1, {"f": "gp_cube_{T}({0})"}),
    "fourth": Function("fourth", lambda x: np.power(x, 4), 1, {"f": "gp_fourth_{T}({0})"}),
}


def shortcut(dtype: np.dtype[Any], exponent: Any) -> str | None:
    """Return the function that computes a power, or None if only ``power`` does.

    Parameters
    ----------
    dtype : dtype
        The dtype in which NumPy computes it.
    exponent : scalar
        The constant exponent: a Python number, or a NumPy scalar if it has a dtype.

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
