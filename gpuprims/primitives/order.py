"""NumPy's order of elements, as C: NaN comes last, all NaN are equal, complex numbers go by real and then by imag."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.codegen.operands import number_of
from gpuprims.expressions import c_type, converted

_FLOATS = "!(a >= b) & (a == a)"
_COMPLEX = """a.re < b.re ? (a.im == a.im) | (b.im != b.im)
        : a.re > b.re ? (b.im != b.im) & (a.im == a.im)
        : (a.re == b.re) | ((a.re != a.re) & (b.re != b.re)) ? (a.im < b.im) | ((b.im != b.im) & (a.im == a.im))
        : b.re != b.re"""


def order_text(dtype: np.dtype[Any]) -> str:
    """Write gp_precedes, which is true if one number comes before another one."""
    kind, compared = c_type(dtype), {"f": _FLOATS, "c": _COMPLEX}.get(dtype.kind, "a < b")
    return "\n".join([f"DEVICE int gp_precedes(const {kind} a, const {kind} b)", "{", f"    return {compared};", "}"])


def compared_text(name: str, element: str, dtype: np.dtype[Any], common: np.dtype[Any]) -> str:
    """Write a function from an element in memory, of a C type, to the number that it is compared as."""
    number = converted(number_of("element", dtype), dtype, common)
    return "\n".join([f"DEVICE {c_type(common)} {name}(const {element} element)", "{", f"    return {number};", "}"])


def precedes(a: Any, b: Any, dtype: np.dtype[Any]) -> Any:
    """Return an expression that is true if element ``a`` comes before ``b``, as ``gp_precedes`` is."""
    if dtype.kind != "c":
        return (a < b) | ((b != b) & (a == a))
    first, second = _nan_parts(a), _nan_parts(b)
    by_imag = ~(np.real(b) < np.real(a)) & (np.imag(a) < np.imag(b))
    return (first < second) | ((first == second) & ((np.real(a) < np.real(b)) | by_imag))


def _nan_parts(number: Any) -> Any:
    """Return an expression by which complex numbers go first: NaN as imag, as real, and as both come last."""
    return np.where(np.isnan(np.real(number)), 2, 0) + np.where(np.isnan(np.imag(number)), 1, 0)
