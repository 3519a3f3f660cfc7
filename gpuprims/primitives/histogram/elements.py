"""The elements of a histogram as kernels read them: in memory order, as keys and weights."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from gpuprims.core.kernel_spec import Dtype
from gpuprims.core.layout import Form
from gpuprims.expressions import Expr, TypedExpr, trace, typed
from gpuprims.primitives.histogram.binning import key_dtype
from gpuprims.primitives.histogram.spec import ONE_KEY, Keys, Sums

_INT32, _INT64, _UINT32, _FLOAT64 = (np.dtype(name) for name in ("i4", "i8", "u4", "f8"))
# A part has fewer elements, so that 32 bits hold its counts.
MOST_COUNTED = 2**31


def in_memory_order(forms: tuple[Form, ...], axes: tuple[int, ...]) -> tuple[Form, ...]:
    """Return the arrays with their axes ``axes`` in the order in which the first array's elements lie in memory.

    Sums do not depend on the order of the elements, as long as the arrays keep theirs relative to each other.
    """
    first = forms[0]
    order = list(range(len(first.shape)))
    for axis, other in zip(
        axes, sorted(axes, key=lambda k: (first.strides[k] != 0, -abs(first.strides[k]))), strict=True
    ):
        order[axis] = other
    turned = [k for k in axes if first.strides[k] < 0 < first.shape[k]]

    def lined(form: Form) -> Form:
        offset = form.offset + sum(form.strides[k] * (form.shape[k] - 1) for k in turned)
        strides = [-stride if k in turned else stride for k, stride in enumerate(form.strides)]
        return form._replace(
            shape=tuple(form.shape[k] for k in order), strides=tuple(strides[k] for k in order), offset=offset
        )

    return tuple(map(lined, forms))


def weight_dtype(dtype: Dtype) -> Dtype:
    """Return the dtype in which float sums take a weight."""
    return _FLOAT64 if dtype.kind != "f" else np.dtype(np.float32) if dtype.itemsize == 2 else dtype


def values_of(dtypes: tuple[Dtype, ...], sums: Sums, keys: Keys = ONE_KEY) -> tuple[tuple[Dtype, ...], TypedExpr]:
    """Return the dtypes of the keys and any weight, and the function from elements to these."""
    key = key_dtype(common_dtype(dtypes, keys))
    values = [*[_INT32] * keys.rows, *[key] * keys.axes]
    if sums != "counts":
        values.append(_INT64 if sums == "integers" else weight_dtype(dtypes[-1]))
    return tuple(values), typed(_elements(len(values), len(dtypes) + 1), (*dtypes, _INT64), tuple(values))


def common_dtype(dtypes: tuple[Dtype, ...], keys: Keys) -> Dtype:
    """Return the dtype in which NumPy compares the elements of all arrays of keys."""
    return np.result_type(*dtypes[keys.rows : keys.arrays])


@cache
def _elements(count: int, arguments: int) -> Expr:
    """Return the function that returns the first ``count`` of its arguments."""

    def first(*elements: Any) -> Any:
        return elements[:count] if count > 1 else elements[0]

    return trace(first, arguments)


def power_of_two(most: int) -> int:
    """Return the greatest power of two that is at most a number."""
    return 1 << most.bit_length() - 1


def sum_dtype(sums: Sums, added: int) -> Dtype:
    """Return the dtype of a group's sum: 32 bits for counts, unless ``added`` elements may be too many."""
    if sums in ("floats", "relative"):
        return _FLOAT64
    return _UINT32 if sums == "peaks" or (sums == "counts" and added <= MOST_COUNTED) else _INT64
