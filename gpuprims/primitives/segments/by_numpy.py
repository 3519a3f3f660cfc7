"""Folds and scans of few elements in segments by NumPy or in C, with the bits of the kernels.

Integers wrap and do not round, and extremes of floats are elements, so the order of these folds does not matter. A C
module computes sums and products of floats in the order of segments/cpu_runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gpuprims.core.by_numpy import ByNumPy, Few
from gpuprims.core.c_modules import CModule
from gpuprims.core.device import Device
from gpuprims.core.layout import Form, is_contiguous
from gpuprims.operators import OPERATORS, Op
from gpuprims.primitives.floats_by_numpy import has_nan
from gpuprims.primitives.fold_by_numpy import FLOATS, FOLDS, TRUTHS, extreme_of_floats
from gpuprims.primitives.levels import adds_words

Dtype = np.dtype[Any]
# Elements of folds; of extremes of floats, which are searched for zeros and NaN; and of scans.
_FEW, _FEW_FLOATS = Few(near=2**11, woken=2**14), Few(near=0, woken=2**14)  # rows: by_numpy
_FEW_SCANNED = Few(near=0, woken=2**15)  # rows: by_numpy
SEGMENT_FLOATS = CModule(Path(__file__).with_name("segment_floats.c"))
# Elements of sums and products of floats. With an offset for each, they are still a single part of the kernel.
_FEW_IN_C = Few(near=2**11, woken=2**12)  # rows: by_numpy-floats
_IN_ORDER = "cpu_runs"  # the kernel whose order they follow


def segments_by_numpy(device: Device, op: Op, mapped: object, forms: Sequence[Form], result: Dtype) -> ByNumPy | None:
    """Return the function by which NumPy or C folds the segments of an array, followed by its offsets, or None."""
    if (dtype := _own(op, mapped, forms)) is None:
        return None
    if op.name in TRUTHS:
        return ByNumPy(partial(_fold, TRUTHS[op.name], np.dtype(np.bool_)), _FEW)
    if dtype in FLOATS and op.name in ("sum", "prod"):
        return _in_c(device, op.name == "prod", forms[0], result)
    if op.name not in FOLDS or result.kind not in "iub" + "f" * (dtype in FLOATS):
        return None
    fold = partial(_fold, FOLDS[op.name], result)
    if dtype in FLOATS:
        return ByNumPy(partial(extreme_of_floats, fold), _FEW_FLOATS) if op.name in ("min", "max") else None
    return ByNumPy(fold, _FEW)


def _in_c(device: Device, multiplies: bool, form: Form, result: Dtype) -> ByNumPy | None:
    """Return the function by which C folds floats in segments. Without the C module, ask for it and return None."""
    if (
        (calls := SEGMENT_FLOATS.serves(device.driver)) is None
        or adds_words()
        or form.dtype != result
        or not is_contiguous(form)
    ):
        return None
    return ByNumPy(partial(_fold_floats, calls.fold, multiplies), _FEW_IN_C, _IN_ORDER)


def _fold_floats(fold: Callable[..., np.ndarray], multiplies: bool, x: np.ndarray, offsets: np.ndarray) -> Any:
    """Return folds; NotImplemented with NaN, whose bits may differ."""
    found = fold(x, np.ascontiguousarray(offsets, np.int64), multiplies)
    return NotImplemented if has_nan(found) else found


def segment_sums_by_numpy(
    op: Op, mapped: object, inclusive: bool, forms: Sequence[Form], result: Dtype
) -> ByNumPy | None:
    """Return how NumPy adds up integers in segments, with each element's or without, if it does."""
    dtype = _own(op, mapped, forms)
    if dtype is None or op.name != "sum" or dtype in FLOATS or result.kind not in "iu":
        return None
    return ByNumPy(partial(_sums, inclusive, result), _FEW_SCANNED)


def _own(op: Op, mapped: object, forms: Sequence[Form]) -> Dtype | None:
    """Return the dtype of the one array of a call that NumPy may compute."""
    x = forms[0]
    if len(forms) != 2 or not x.shape or mapped is not None or OPERATORS.get(op.name) is not op:
        return None
    return x.dtype if x.dtype in FLOATS or x.dtype.kind in "iub" else None


def _fold(ufunc: np.ufunc, result: Dtype, x: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    begins = offsets[:-1].astype(np.intp, copy=False)
    filled = begins < offsets[1:]
    if filled.all():
        return ufunc.reduceat(x, begins, dtype=result)
    # -1, the identity of bitwise_and, becomes all bits of unsigned integers.
    found = np.full(begins.size, ufunc.identity, np.int64).astype(result)
    if x.size:
        found[filled] = ufunc.reduceat(x, begins[filled], dtype=result)
    return found


def _sums(inclusive: bool, result: Dtype, x: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    sums = np.zeros(x.size + 1, result)
    np.add.accumulate(x, dtype=result, out=sums[1:])
    before = np.repeat(sums[offsets[:-1]], np.subtract(offsets[1:], offsets[:-1], dtype=np.intp, casting="unsafe"))
    found: np.ndarray = np.subtract(sums[1:] if inclusive else sums[:-1], before, before)
    return found
