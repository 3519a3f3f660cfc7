"""Folds and scans of few elements by NumPy, with the bits of the kernels.

Those of integers wrap and do not round, so their order does not matter. Those of floats follow the order of a kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gpuprims.core.by_numpy import ANY_SIZE, ByNumPy, Compute, Few
from gpuprims.core.device import Device
from gpuprims.core.layout import Form, is_contiguous
from gpuprims.primitives.extremes_in_c import extremes_in_c
from gpuprims.primitives.floats_by_numpy import FEWEST_BY_LANES, few_floats, fold_floats, has_nan, in_c, scan_floats
from gpuprims.primitives.levels import adds_words

Dtype = np.dtype[Any]
# NumPy takes some 20 ns for each row: more than a launch by the calling thread, and than one that wakes threads.
_ROWS_NEAR, _ROWS = 2**8, 2**11
FOLDS: dict[str, np.ufunc] = {
    "sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum,
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
}  # fmt: skip
_EXTREMES: dict[str, np.ufunc] = {"min": np.minimum, "max": np.maximum, "nanmin": np.fmin, "nanmax": np.fmax}
# NumPy finds the smallest and the largest numbers by wide registers, as a kernel does: floats, and bytes of integers.
_MOST_EXTREMES, _MOST_BESIDE_NAN, _MOST_BYTES = 2**18, 2**20, 2**20  # rows: by_numpy-extremes, by_numpy-spreads
# NumPy counts integers of up to this many bytes faster than kernels do, and others up to this many elements.
_COUNTED, _MOST_COUNTED = 2, 2**20  # rows: by_numpy-counts
TRUTHS: dict[str, np.ufunc] = {"any": np.logical_or, "all": np.logical_and}
# Of bools, extremes are truths; NumPy's end early, and NumPy looks at the first of more before a kernel is launched.
_OF_BOOLS = TRUTHS | {"max": np.logical_or, "min": np.logical_and}
_MOST_TRUTHS, _FIRST = 2**20, 2**14  # rows: by_numpy-truths
# Integers are never NaN.
_OF_INTEGERS = {f"nan{op}": op for op in ("sum", "prod", "min", "max", "argmin", "argmax")}
_PLACES = {"argmin": False, "argmax": True}  # and the bool whose first place they are
_ROWS_OF_PLACES = Few(near=2**25, woken=2**25)  # rows: by_numpy-places
# NumPy adds along few columns of integers of 8 bytes faster than a kernel for columns.
_NARROW, _WIDE, _NARROW_COLUMNS = 8, 8, Few(near=2**26, woken=2**26)  # rows: by_numpy-columns
IN_ORDER = "cpu_chunks"  # the kernel whose order folds and scans of floats follow
_IDENTITIES = {"sum": 0.0, "prod": 1.0, "mean": 0.0}
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def folds_by_numpy(
    device: Device, few: Few, op: object, form: Form, axes: tuple[int, ...], keepdims: bool, result: Dtype
) -> ByNumPy | None:
    """Return how NumPy folds an array by a named operator, if it does."""
    kept = len(form.shape) - len(axes)
    if not isinstance(op, str) or not axes or (kept > 1 and not is_contiguous(form)):
        return None
    op = _OF_INTEGERS.get(op, op) if form.dtype.kind in "iub" else op
    rows = math.prod([n for axis, n in enumerate(form.shape) if axis not in axes])
    by_rows = len(form.shape) - 1 in axes
    if op in _PLACES and kept and by_rows and len(axes) == 1 and is_contiguous(form) and _is_real(form.dtype):
        return ByNumPy(partial(_places_of_rows, getattr(np.ndarray, op), keepdims), _ROWS_OF_PLACES)
    if by_rows and rows > _ROWS:
        return None
    if form.dtype in FLOATS and op in _IDENTITIES:
        flat = not kept and is_contiguous(form) and result == form.dtype and not adds_words()
        flat = flat and (math.prod(form.shape) > FEWEST_BY_LANES or in_c(device))
        shape = (1,) * len(form.shape) if keepdims else ()
        return ByNumPy(partial(_fold_floats, op, shape), few_floats(device), IN_ORDER) if flat else None
    if form.dtype.kind == "b" and not kept and (op in _OF_BOOLS or (op in _PLACES and is_contiguous(form))):
        shape = (1,) * len(form.shape) if keepdims else ()
        found = _place_of_bools if op in _PLACES else _truth_of_bools
        if op in TRUTHS or op in _PLACES or result == form.dtype:
            return ByNumPy(partial(found, op, shape), Few(ANY_SIZE, ANY_SIZE))
    together = is_contiguous(form) or (op not in _PLACES and _is_in_fortran_order(form))
    if not kept and together and (extremes := extremes_in_c(device, op, form, keepdims, result)) is not None:
        return extremes
    compute = _fold_of(op, form.dtype, axes if kept else None, keepdims, result)
    if not kept and together:
        few = _few_of_all(op, form.dtype, few)
    return None if compute is None else ByNumPy(compute, few._replace(near=0) if by_rows and rows > _ROWS_NEAR else few)


def _is_real(dtype: Dtype) -> bool:
    return dtype in FLOATS or dtype.kind in "iub"


def _is_in_fortran_order(form: Form) -> bool:
    return is_contiguous(form._replace(shape=form.shape[::-1], strides=form.strides[::-1]))


def _few_of_all(op: str, dtype: Dtype, few: Few) -> Few:
    """Return up to how many contiguous elements NumPy folds to one result."""
    most = 0
    if op in _EXTREMES or op in _SPREADS or op in _PLACES:
        most = _MOST_EXTREMES if dtype in FLOATS else _MOST_BYTES // dtype.itemsize
        most = _MOST_BESIDE_NAN if op in ("nanmin", "nanmax") and dtype in FLOATS else most
    elif op == "count_nonzero" and dtype.kind in "iub":
        most = ANY_SIZE if dtype.itemsize <= _COUNTED else _MOST_COUNTED
    return Few(max(few.near, most), max(few.woken, most))


def _fold_of(op: str, dtype: Dtype, axes: tuple[int, ...] | None, keepdims: bool, result: Dtype) -> Compute | None:
    floats = dtype in FLOATS
    if not _is_real(dtype):
        return None
    how: dict[str, Any] = {"axis": axes, "keepdims": keepdims}
    if op in TRUTHS:
        return partial(TRUTHS[op].reduce, **how)
    if op == "count_nonzero":
        if axes is None:
            return partial(_count, keepdims)
        return lambda x: np.add.reduce(x != 0, dtype=result, **how)
    if op in _SPREADS:
        return partial(_SPREADS[op], how, floats)
    if op in _PLACES:
        if axes is not None and len(axes) > 1:
            return None
        find: Callable[..., Any] = getattr(np.ndarray, op)
        how["axis"] = None if axes is None else axes[0]
        return partial(_place_of_float, find, how) if floats else partial(find, **how)
    folds = _EXTREMES if floats else FOLDS | _EXTREMES
    if op not in folds or result.kind not in "iub" + "f" * floats:
        return None
    fold = partial(folds[op].reduce, dtype=result, **how)
    return partial(extreme_of_floats, fold) if floats else fold


def _count(keepdims: bool, x: np.ndarray) -> Any:
    """Return how many elements are not zero."""
    found = np.int64(np.count_nonzero(x))
    return found.reshape((1,) * x.ndim) if keepdims else found


def _both_extremes(how: dict[str, Any], floats: bool, x: np.ndarray) -> Any:
    """Return minima and maxima; NotImplemented as :func:`extreme_of_floats`."""
    least, most = np.minimum.reduce(x, **how), np.maximum.reduce(x, **how)
    return (least, most) if not floats or (_are_sure(least) and _are_sure(most)) else NotImplemented


def _spread(how: dict[str, Any], floats: bool, x: np.ndarray) -> Any:
    """Return how far maxima lie above minima; NotImplemented for floats that are all equal, and for NaN."""
    least, most = np.minimum.reduce(x, **how), np.maximum.reduce(x, **how)
    if not floats:
        return np.subtract(most, least)
    with np.errstate(all="ignore"):
        found = np.subtract(most, least)
    sure = found > 0
    return found if (sure.all() if found.ndim else sure) else NotImplemented


_SPREADS: dict[str, Callable[..., Any]] = {"minmax": _both_extremes, "ptp": _spread}


def _fold_floats(op: str, shape: tuple[int, ...], x: np.ndarray) -> Any:
    """Return a fold; NotImplemented for NaN, whose bits may differ."""
    found = fold_floats(FOLDS["sum" if op == "mean" else op], _IDENTITIES[op], x)
    if op == "mean":
        with np.errstate(all="ignore"):
            found = found / x.dtype.type(x.size)
    if found != found:
        return NotImplemented
    return found.reshape(shape) if shape else found


def _truth_of_bools(op: str, shape: tuple[int, ...], x: np.ndarray) -> Any:
    """Return whether any is true, or all; NotImplemented if some of many elements do not decide it."""
    fold, many = _OF_BOOLS[op], x.size > (_MOST_TRUTHS if x.flags.forc else _FIRST)
    found = fold.reduce(_some(x) if many else x, None)
    if many and found != (fold is np.logical_or):
        return NotImplemented
    return found.reshape(shape) if shape else found


def _some(x: np.ndarray) -> np.ndarray:
    """Return at most some thousands of the elements of an array."""
    while x.size > _FIRST:
        x = x[: len(x) * _FIRST // x.size] if len(x) * _FIRST >= x.size else x[0]
    return x


def _place_of_bools(op: str, shape: tuple[int, ...], x: np.ndarray) -> Any:
    """Return the first place of an extreme; NotImplemented if it is not sure after the first of many elements."""
    first = x.ravel() if x.size <= _MOST_TRUTHS else x.ravel()[:_FIRST]
    place = first.argmax() if _PLACES[op] else first.argmin()
    if x.size > _MOST_TRUTHS and first[place] != _PLACES[op]:
        return NotImplemented
    return place.reshape(shape) if shape else place


def extreme_of_floats(fold: Compute, *arrays: np.ndarray) -> Any:
    """Return minima or maxima; NotImplemented for NaN, and for zeros, whose signs may differ."""
    found = fold(*arrays)
    return found if _are_sure(found) else NotImplemented


def _are_sure(found: Any) -> bool:
    """Return True if extremes are neither NaN nor zeros."""
    if not found.ndim:
        return bool(found < 0 or found > 0)
    return bool(((found < 0) | (found > 0)).all())


def _place_of_float(find: Callable[..., Any], how: dict[str, Any], x: np.ndarray) -> Any:
    """Return the places of extremes; NotImplemented with NaN, whose place NumPy finds first."""
    if how["axis"] is not None or how["keepdims"]:
        return NotImplemented if np.isnan(x).any() else find(x, **how)
    place = find(x)
    found = x.item(place)
    return place if found == found else NotImplemented


def _places_of_rows(find: Callable[..., Any], keepdims: bool, x: np.ndarray) -> Any:
    """Return the place of an extreme in each row; NotImplemented with NaN, which is an extreme for NumPy."""
    places = find(x, -1)
    if x.dtype.kind == "f":
        indices = np.arange(0, x.size, x.shape[-1])
        indices += places.ravel()
        if has_nan(x.ravel().take(indices)):
            return NotImplemented
    return places[..., np.newaxis] if keepdims else places


def scans_by_numpy(
    device: Device, few: Few, op: object, form: Form, axis: int | None, inclusive: bool, result: Dtype
) -> ByNumPy | None:
    """Return how NumPy scans an array of integers by a named operator, if it does."""
    flat = axis is None or len(form.shape) == 1
    integers = form.dtype.kind in "iub" and result.kind in "iub"
    if not isinstance(op, str) or op not in FOLDS or not form.shape:
        return None
    if op == "sum" and form.dtype in FLOATS and form.dtype == result and flat and inclusive and is_contiguous(form):
        return None if adds_words() else ByNumPy(_scan_floats, few_floats(device), IN_ORDER)
    if not integers:
        return None
    if not flat and not is_contiguous(form):
        return None
    if inclusive:
        narrow = not flat and axis == 0 and math.prod(form.shape[1:]) <= _NARROW and form.dtype.itemsize == _WIDE
        few = _NARROW_COLUMNS if narrow and op == "sum" else few
        return ByNumPy(partial(_scan, FOLDS[op].accumulate, None if flat else axis, result), few)
    return ByNumPy(partial(_exclusive_sums, result), few) if op == "sum" and flat else None


def _scan(accumulate: Callable[..., np.ndarray], axis: int | None, result: Dtype, x: np.ndarray) -> np.ndarray:
    return accumulate(x.ravel(), dtype=result) if axis is None else accumulate(x, axis, dtype=result)


def _scan_floats(x: np.ndarray) -> Any:
    """Return sums; NotImplemented with NaN."""
    found = scan_floats(x)
    return NotImplemented if found[-1] != found[-1] else found


def _exclusive_sums(result: Dtype, x: np.ndarray) -> np.ndarray:
    sums = np.zeros(x.size, result)
    np.add.accumulate(x.ravel()[:-1], dtype=result, out=sums[1:])
    return sums
