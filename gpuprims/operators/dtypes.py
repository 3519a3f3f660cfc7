"""NumPy's rules for the dtypes of named operators.

A rule takes the dtypes of the elements and the caller's ``dtype=``. It returns the dtypes of the folded values and of
the results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuprims.errors import DtypeError
from gpuprims.expressions.narrow import kind_of, register

Dtype = np.dtype[Any]
Dtypes = tuple[Dtype, ...]
DtypeRule = Callable[[Dtypes, Dtype | None], tuple[Dtypes, Dtypes]]

INT64, FLOAT32, FLOAT64, BOOL = (np.dtype(name) for name in ("int64", "float32", "float64", "bool"))


def real_of(dtype: Dtype) -> Dtype:
    """Return the dtype of the parts of a complex dtype."""
    return np.empty(0, dtype).real.dtype


def widening(ufunc: np.ufunc) -> DtypeRule:
    """Return the rule of NumPy's sum and prod: small integers and bools become 64 bits wide."""

    def rule(elements: Dtypes, dtype: Dtype | None) -> tuple[Dtypes, Dtypes]:
        result = dtype or ufunc.reduce(np.empty(0, elements[0])).dtype
        return (register(result),), (result,)

    return rule


def inexact(name: str, *, real: bool = True, components: int = 1) -> DtypeRule:
    """Return the rule of NumPy's mean, norm, var and std: integers are computed in float64.

    ``real`` results of complex elements have the dtype of their parts.
    """

    def rule(elements: Dtypes, dtype: Dtype | None) -> tuple[Dtypes, Dtypes]:
        result = dtype or (elements[0] if kind_of(elements[0]) in "fc" else FLOAT64)
        if kind_of(result) not in "fc":
            given = f"dtype={dtype}" if dtype is not None else f"elements of {elements[0]}"
            raise DtypeError(f"{name}: a floating dtype to compute in; got {given}")
        result = real_of(result) if real else result
        return (register(result),) * components, (result,)

    return rule


def counting(elements: Dtypes, dtype: Dtype | None) -> tuple[Dtypes, Dtypes]:
    """Apply the rule of NumPy's count_nonzero: the result is a number of elements."""
    if dtype is not None:
        raise DtypeError(f"count_nonzero: no dtype, because the result is int64; got dtype={dtype}")
    return (INT64,), (INT64,)


def keeping(elements: Dtypes, dtype: Dtype | None) -> tuple[Dtypes, Dtypes]:
    """Apply the rule of NumPy's min and max: the result has the elements' dtype."""
    result = dtype or elements[0]
    return (register(result),), (result,)


def keeping_nan(elements: Dtypes, dtype: Dtype | None) -> tuple[Dtypes, Dtypes]:
    """Apply the rule of NumPy's nanmin and nanmax; NaN has no place among integers."""
    if dtype is not None and elements[0].kind in "fc" and dtype.kind not in "fc":
        raise DtypeError(f"nanmin, nanmax: a floating dtype for elements of {elements[0]}; got dtype={dtype}")
    return keeping(elements, dtype)


def keeping_both(elements: Dtypes, dtype: Dtype | None) -> tuple[Dtypes, Dtypes]:
    """Apply the rule of minmax: two results of the elements' dtype."""
    values, results = keeping(elements, dtype)
    return values * 2, results * 2


def keeping_difference(elements: Dtypes, dtype: Dtype | None) -> tuple[Dtypes, Dtypes]:
    """Apply the rule of NumPy's ptp: bools have no difference."""
    values, results = keeping(elements, dtype)
    if results[0] == BOOL:
        raise DtypeError('ptp: numbers; got bools (write op="minmax")')
    return values * 2, results


def bitwise(elements: Dtypes, dtype: Dtype | None) -> tuple[Dtypes, Dtypes]:
    """Apply the rule of NumPy's bitwise_and, bitwise_or and bitwise_xor: the result has the elements' dtype."""
    result = dtype or elements[0]
    if result.kind not in "biu":
        given = f"dtype={dtype}" if dtype is not None else f"elements of {elements[0]}"
        raise DtypeError(f"bitwise_and, bitwise_or, bitwise_xor: integers or bools; got {given}")
    return (result,), (result,)


def deciding(elements: Dtypes, dtype: Dtype | None) -> tuple[Dtypes, Dtypes]:
    """Apply the rule of NumPy's any and all: the result is bool."""
    if dtype is not None and dtype != BOOL:  # to NumPy, None equals float64
        raise DtypeError(f"any, all: a result of dtype bool; got dtype={dtype}")
    return (BOOL,), (BOOL,)


def locating(elements: Dtypes, dtype: Dtype | None) -> tuple[Dtypes, Dtypes]:
    """Apply the rule of NumPy's argmin and argmax: the result is an index."""
    if dtype is not None and dtype != INT64:
        raise DtypeError(f"argmin, argmax: a result of dtype int64; got dtype={dtype}")
    return (register(elements[0]), INT64), (INT64,)
