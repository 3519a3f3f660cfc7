"""The elements of a histogram as kernels read them: in memory order, as keys and weights."""

from __future__ import annotations

import numpy as np

from gpuprims.core.kernel_spec import Dtype
from gpuprims.core.layout import Form
from gpuprims.expressions import TypedExpr, trace, typed
from gpuprims.primitives.histogram.binning import key_dtype
from gpuprims.primitives.histogram.spec import Sums

_INT64, _FLOAT64 = np.dtype(np.int64), np.dtype(np.float64)


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


def values_of(dtypes: tuple[Dtype, ...], sums: Sums) -> tuple[tuple[Dtype, ...], TypedExpr]:
    """Return the dtypes of a key and any weight, and the function from elements to these."""
    key = key_dtype(dtypes[0])
    if sums == "counts":
        return (key,), typed(trace(lambda x, j: x, 2), (*dtypes, _INT64), (key,))
    weight = _INT64 if sums == "integers" else weight_dtype(dtypes[1])
    return (key, weight), typed(trace(lambda x, w, j: (x, w), 3), (*dtypes, _INT64), (key, weight))


def power_of_two(most: int) -> int:
    """Return the greatest power of two that is at most a number."""
    return 1 << most.bit_length() - 1
