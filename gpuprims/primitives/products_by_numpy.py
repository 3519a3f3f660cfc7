"""Sums of the products of two arrays of few elements by NumPy or in C, with the bits of the kernels."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from gpuprims.core.by_numpy import ByNumPy, Few
from gpuprims.core.device import Device
from gpuprims.core.layout import Form, is_contiguous
from gpuprims.expressions import TypedExpr
from gpuprims.primitives.floats_by_numpy import dot_floats, in_c
from gpuprims.primitives.fold_by_numpy import FLOATS, IN_ORDER
from gpuprims.primitives.levels import adds_words

Dtype = np.dtype[Any]
# Elements of each array: of floats in C, and of integers; and rows that NumPy adds up.
_FEW, _FEW_INTEGERS, _ROWS = Few(near=2**14, woken=2**15), Few(near=2**12, woken=2**15), 2**8  # rows: by_numpy-products


def multiplies(function: TypedExpr) -> bool:
    """Return True for a function that multiplies real numbers of one dtype, and may convert integers afterwards."""
    nodes, product = function.nodes, function.nodes[function.results[0]]
    if product.name == "cast" and product.dtype.kind in "iu":
        product = nodes[product.operands[0]]
    if len(function.results) > 1 or product.name != "multiply":
        return False
    factors = [nodes[k] for k in product.operands]
    factors = [nodes[one.operands[0]] if one.name == "conjugate" else one for one in factors]
    same = all(one.dtype == product.dtype and product.dtype.kind in "iuf" for one in factors)
    return same and {(one.name, one.value) for one in factors} == {("argument", "0"), ("argument", "1")}


def products_by_numpy(
    device: Device, function: TypedExpr, forms: tuple[Form, ...], axes: tuple[int, ...], keepdims: bool, result: Dtype
) -> ByNumPy | None:
    """Return how NumPy adds up products of the elements of two arrays, if it does."""
    if len(forms) != 2 or not axes or not multiplies(function):
        return None
    x, y = forms
    if x.shape != y.shape or x.dtype != y.dtype or not (is_contiguous(x) and is_contiguous(y)):
        return None
    kept = len(x.shape) - len(axes)
    if x.dtype in FLOATS:
        flat = not kept and x.dtype == result and in_c(device) and not adds_words()
        return ByNumPy(partial(_dot, (1,) * len(x.shape) if keepdims else ()), _FEW, IN_ORDER) if flat else None
    rows = math.prod([n for axis, n in enumerate(x.shape) if axis not in axes])
    if x.dtype.kind not in "iu" or result.kind not in "iu" or rows > _ROWS:
        return None
    fold = partial(np.add.reduce, axis=axes if kept else None, dtype=result, keepdims=keepdims)
    return ByNumPy(lambda x, y: fold(np.multiply(x, y)), _FEW_INTEGERS)


def _dot(shape: tuple[int, ...], x: np.ndarray, y: np.ndarray) -> Any:
    """Return a sum of products; NotImplemented for NaN, whose bits may differ."""
    found = dot_floats(x, y)
    if found != found:
        return NotImplemented
    return found.reshape(shape) if shape else found
