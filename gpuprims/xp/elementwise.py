"""The array API's functions of elements: each is a map."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.core.arrays import native_of
from gpuprims.core.keywords import check_flags, refusing_keywords
from gpuprims.errors import ArgumentError, NumberOverflowError, quoted
from gpuprims.expressions import Expr, expression
from gpuprims.expressions.functions import ALIASES, COMPARE
from gpuprims.expressions.masks import plain_array
from gpuprims.primitives.map import map as map_elements

_DTYPES = np.dtype, type
Unary = Callable[[Any], Any]
Binary = Callable[[Any, Any], Any]


def _of_one(name: str, source: str | None = None) -> Unary:
    function = expression(source or f"{name}(x)")

    def apply(x: Any, /) -> Any:
        return map_elements(function, x)

    _name(apply, name, "each element")
    return apply


def _of_two(name: str, source: str | None = None) -> Binary:
    function = expression(source or f"{name}(x, y)")

    def apply(x1: Any, x2: Any, /) -> Any:
        try:
            return map_elements(function, x1, x2)
        except NumberOverflowError:
            if name not in _OF_ANY_NUMBER:
                raise
            fitting = _OF_ANY_NUMBER[name]
            return map_elements(function, fitting(x1, x2), fitting(x2, x1))

    _name(apply, name, "pairs of elements; arrays and numbers broadcast together")
    return apply


def _wide(x: Any, other: Any) -> Any:
    """Return a number that compares with every element as a Python integer does, even if their dtype cannot hold it."""
    if type(x) is not int:
        return x
    return np.min_scalar_type(x).type(x) if -(2**63) <= x < 2**64 else math.copysign(math.inf, x)


def _true(x: Any, other: Any) -> Any:
    return x != 0 if type(x) is int else x


def _floating(x: Any, other: Any) -> Any:
    return float(x) if type(x) is int else x


def _beside(x: Any, other: Any) -> Any:
    """Return a Python integer in the dtype of the floats that NumPy makes of the other operand's integers."""
    if type(x) is not int:
        return x
    own = np.result_type(native_of("xp", other).dtype, 0)  # beside bools it counts as int64
    with np.errstate(over="ignore"):
        return np.array(float(x)).astype(np.copysign.resolve_dtypes((own, own, None))[2])[()]


# Functions that take Python integers beyond the other operand's dtype, with what makes a number of them that fits,
# given the other operand.
_OF_ANY_NUMBER = (
    dict.fromkeys(COMPARE, _wide)
    | dict.fromkeys(("logical_and", "logical_or", "logical_xor"), _true)
    | dict.fromkeys(("atan2", "copysign", "hypot", "logaddexp"), _beside)
    | {"divide": _floating}
)


def _name(apply: Any, name: str, what: str) -> None:
    apply.__name__ = apply.__qualname__ = name
    known = _NUMPYS.get(name, ALIASES.get(name, name))
    apply.__doc__ = f"Return ``{name}`` of {what}, with the dtype and the values of :func:`numpy.{known}`."


# Names that NumPy has under another name only.
_NUMPYS = {"bitwise_invert": "invert"}

abs = _of_one("abs")
acos, acosh, asin, asinh = _of_one("acos"), _of_one("acosh"), _of_one("asin"), _of_one("asinh")
atan, atanh, ceil, conj = _of_one("atan"), _of_one("atanh"), _of_one("ceil"), _of_one("conj")
cos, cosh, exp, expm1 = _of_one("cos"), _of_one("cosh"), _of_one("exp"), _of_one("expm1")
floor, imag, isfinite, isinf = _of_one("floor"), _of_one("imag"), _of_one("isfinite"), _of_one("isinf")
isnan, log, log1p, log2 = _of_one("isnan"), _of_one("log"), _of_one("log1p"), _of_one("log2")
log10, logical_not, negative = _of_one("log10"), _of_one("logical_not"), _of_one("negative")
positive, real, reciprocal, sign = _of_one("positive"), _of_one("real"), _of_one("reciprocal"), _of_one("sign")
signbit, sin, sinh, sqrt = _of_one("signbit"), _of_one("sin"), _of_one("sinh"), _of_one("sqrt")
square, tan, tanh, trunc = _of_one("square"), _of_one("tan"), _of_one("tanh"), _of_one("trunc")
bitwise_invert = _of_one("bitwise_invert", "~x")

add, atan2, copysign, divide = _of_two("add"), _of_two("atan2"), _of_two("copysign"), _of_two("divide")
bitwise_and, bitwise_or, bitwise_xor = _of_two("bitwise_and"), _of_two("bitwise_or"), _of_two("bitwise_xor")
bitwise_left_shift = _of_two("bitwise_left_shift", "x << y")
bitwise_right_shift = _of_two("bitwise_right_shift", "x >> y")
equal, floor_divide, greater = _of_two("equal"), _of_two("floor_divide"), _of_two("greater")
greater_equal, hypot, less = _of_two("greater_equal"), _of_two("hypot"), _of_two("less")
less_equal, logical_and = _of_two("less_equal"), _of_two("logical_and")
logical_or, logical_xor, maximum = _of_two("logical_or"), _of_two("logical_xor"), _of_two("maximum")
minimum, multiply, not_equal = _of_two("minimum"), _of_two("multiply"), _of_two("not_equal")
pow, remainder, subtract = _of_two("pow"), _of_two("remainder"), _of_two("subtract")
# copysign makes NumPy's floats of integers, and refuses complex numbers. Of equal infinities, the difference is NaN.
_X, _Y, _BOTH = "copysign(x, x)", "copysign(y, y)", "copysign(x, y)"
logaddexp = _of_two(
    "logaddexp", f"where(x == y, {_BOTH} + {math.log(2)!r}, maximum({_X}, {_Y}) + log1p(exp(-abs({_X} - {_Y}))))"
)


def round(x: Any, /) -> Any:
    """Return each element rounded to the nearest integer, halves to even ones; integers as they are.

    Examples
    --------
    >>> import numpy as np, gpuprims
    >>> with gpuprims.use_device("reference"):
    ...     gpuprims.xp.round(np.array([1.5, 2.5, -0.2])).tolist()
    [2.0, 2.0, -0.0]
    """
    dtype = getattr(x, "dtype", None) or plain_array("xp.round", x).dtype
    # Other libraries' dtypes have no kind; a name of NumPy's takes longer to find than a short call.
    whole = dtype.kind in "iu" if isinstance(dtype, np.dtype) else "int" in str(dtype)
    return map_elements("trunc(x)" if whole else "rint(x)", x)  # NumPy's rint of integers is a float


@refusing_keywords
def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """Return elements within bounds, as :func:`numpy.clip` does.

    Examples
    --------
    >>> import numpy as np, gpuprims
    >>> with gpuprims.use_device("reference"):
    ...     gpuprims.xp.clip(np.arange(6), 1, 3).tolist()
    [1, 1, 2, 3, 3, 3]
    """
    given = [one for one in (min, max) if one is not None]
    source = "x" if min is None else "maximum(x, low)"
    try:
        return map_elements(source if max is None else f"minimum({source}, high)", x, *given)
    except NumberOverflowError:
        low, high = _reached(x, min, max)
        if low is min and high is max:
            raise
        return clip(x, low, high)


def _reached(x: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """Return bounds of integers; None for those of Python that no element can lie beyond."""
    dtype = native_of("clip", x).dtype
    if dtype.kind not in "iu":
        return low, high
    held = np.iinfo(dtype)
    below, above = (type(one) is int for one in (low, high))
    return None if below and low <= held.min else low, None if above and high >= held.max else high


def where(condition: Any, x1: Any, x2: Any, /) -> Any:
    """Return an element of the first array where a condition is true, else of the second.

    Examples
    --------
    >>> import numpy as np, gpuprims
    >>> with gpuprims.use_device("reference"):
    ...     gpuprims.xp.where(np.array([True, False]), np.array([1, 2]), 0).tolist()
    [1, 0]
    """
    return map_elements("where(c, x, y)", condition, x1, x2)


@refusing_keywords
def astype(x: Any, dtype: Any, /, *, copy: builtins.bool = True, device: Any = None) -> Any:
    """Return the elements in another dtype; without ``copy``, the array itself if it has this dtype.

    The result lies where ``x`` does: ``device`` must be None.

    Examples
    --------
    >>> import numpy as np, gpuprims
    >>> with gpuprims.use_device("reference"):
    ...     gpuprims.xp.astype(np.array([1.7, -1.7]), "int8").tolist()
    [1, -1]
    """
    check_flags("astype", copy=copy)
    if device is not None:
        raise ArgumentError(f"astype: device=None, the array's own; got {quoted(device)} (move x by its library)")
    if not copy and getattr(x, "dtype", None) == dtype:
        return x
    return map_elements(_cast(dtype) if isinstance(dtype, _DTYPES) else lambda e: e.astype(dtype), x)


@lru_cache(maxsize=256)
def _cast(dtype: Any) -> Expr:
    return expression(lambda element: element.astype(dtype), 1)
