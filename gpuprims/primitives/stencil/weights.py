"""Stencils of weights: in one pass or one for each axis, with weights that kernels contain or read from memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from gpuprims.core.determinism import asks_for_device, cached_by_level
from gpuprims.expressions import TypedExpr, typed
from gpuprims.expressions.narrow import kind_of
from gpuprims.expressions.portable import DEFINITIONS
from gpuprims.primitives.stencil.halves import MOST_WEIGHT, Join, half_dtypes, joining_means, joining_sums
from gpuprims.primitives.stencil.neighbours import Neighbours, separated, weighted, weighted_halves
from gpuprims.primitives.stencil.rounding import Ends, averaged, averaging, finishing, summed
from gpuprims.primitives.stencil.stencils import Dtype, Halves, Stencil, typed_over

_PORTABLE_EXP = DEFINITIONS["exp"]
_INT64, _DOUBLE, _SINGLE = np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.float32)
# Holds the sums of two bytes, one in each half.
_PAIR = np.dtype(np.uint32)
# Kernels contain up to this many weights.
_MOST_WRITTEN = 169
# Kernels contain up to this many weights of a row or a column.
LONGEST_WRITTEN = 513
# Stencils of three axes with more weights take a pass for each factor.
MOST_IN_SPACE = 64
# One function sums the halves of up to this many neighbours; for more, the halves become arrays.
_MOST_IN_HALVES = 49  # rows: halves
# Allowed relative error of products of a column and a row, for elements that float32 holds exactly and for others.
_ROUNDED_SINGLE, _ROUNDED_DOUBLE = 1e-7, 1e-15
# Standard deviations from the middle to the end of Gaussian weights.
_TRUNCATE = 4.0
# Sums of integers below these fit in 32 and in 64 bits.
_SMALL, _LARGE = 2**31, 2**63


def of_weights(weights: np.ndarray, element: Dtype, result: Dtype, *, double: bool) -> Stencil:
    """Return the stencil of weights, in two passes if they are products of a column and a row."""
    return _of_weights(weights.shape, weights.dtype, weights.tobytes(), element, result, double)


@cached_by_level(256)
def _of_weights(
    shape: tuple[int, ...], dtype: Dtype, given: bytes, element: Dtype, result: Dtype, double: bool
) -> Stencil:
    weights = np.frombuffer(given, dtype).reshape(shape)
    value = _value_of(weights, element, result, double=double)
    if value is None:
        return _of_halves(weights, element, result, joining_sums(result))
    finish = summed(value, result, _ends(weights, element))
    rounding = _ROUNDED_SINGLE if is_narrow(element) else _ROUNDED_DOUBLE
    split = separated(weights, rounding) if value.kind == "f" else None
    if split is not None and np.count_nonzero(weights) > max(sum(map(np.count_nonzero, split)), _least_split(weights)):
        return of_product(*split, element=element, finish=finish)
    return of_sum(weights, element, finish)


def _least_split(weights: np.ndarray) -> int:
    """Return the number of weights up to which one pass is faster than one for each factor."""
    return MOST_IN_SPACE if weights.ndim == 3 else 0


@lru_cache(maxsize=64)
def of_cross(element: Dtype) -> Stencil:
    """Return the stencil of the mean of an element and its four neighbours."""
    return _of_mean(np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]]), element)


@lru_cache(maxsize=64)
def of_box(height: int, width: int, element: Dtype) -> Stencil:
    """Return the stencil of the mean of a box."""
    value = _value_of(np.full(1, height * width), element, element, double=False)
    if height == 1 or width == 1 or value is None:
        return _of_mean(np.ones((height, width), np.int64), element)
    finish = averaging(value, height * width, element)
    return of_product(np.ones(height), np.ones(width), element=element, finish=finish)


@cached_by_level(64)
def of_normal(down: float, across: float, element: Dtype) -> Stencil:
    """Return the stencil of Gaussian weights, given the standard deviations along rows and columns."""
    column, row = normal_weights(down), normal_weights(across)
    if kind_of(element) == "f":
        finish = finishing(_DOUBLE if element.itemsize == 8 else _SINGLE, element)
    else:
        ends = Ends(*_range_of(element), len(column) + len(row))
        finish = averaged(_SINGLE if is_narrow(element) else _DOUBLE, element, ends)
    return of_product(column, row, element=element, finish=finish)


def normal_weights(sigma: float) -> np.ndarray:
    """Return SciPy's Gaussian weights, whose sum is 1, up to four standard deviations from the middle."""
    radius = int(_TRUNCATE * sigma + 0.5)
    weights = exponential(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    normal: np.ndarray = weights / weights.sum()
    return normal


def exponential(x: np.ndarray) -> np.ndarray:
    """Return ``exp(x)``; the bits of NumPy's depend on the machine."""
    found: np.ndarray = _PORTABLE_EXP(x) if asks_for_device() else np.exp(x)
    return found


def _of_mean(weights: np.ndarray, element: Dtype) -> Stencil:
    """Return the stencil of a mean of neighbours with integer weights."""
    value, count = _value_of(weights, element, element, double=False), int(weights.sum())
    if value is None:
        return _of_halves(weights, element, element, joining_means(count, element))
    return of_sum(weights, element, averaging(value, count, element))


def of_sum(weights: np.ndarray, element: Dtype, finish: TypedExpr) -> Stencil:
    """Return the stencil of a weighted sum; kernels contain few weights, and read many from memory."""
    value, count = finish.nodes[0].dtype, np.count_nonzero(weights)
    inside = _spanned(weights)
    table = weights[inside].astype(value)
    if count > (LONGEST_WRITTEN if count == max(weights.shape) else _MOST_WRITTEN):
        middle = [n // 2 for n in weights.shape]
        low = tuple(one.start - half for one, half in zip(inside, middle, strict=True))
        high = tuple(one.stop - 1 - half for one, half in zip(inside, middle, strict=True))
        return Stencil((low, high), None, finish, table)
    neighbours = weighted(weights, value)
    pairs = (typed_over(weighted(weights, _PAIR), _PAIR), None) if _fit_in_pairs(element, weights) else None
    return Stencil(neighbours.offsets, typed_over(neighbours, element), finish, table, paired=pairs)


def _spanned(weights: np.ndarray) -> tuple[slice, ...]:
    """Return the part of the weights that contains the middle and all that are not zero."""
    places = [[n // 2] for n in weights.shape]
    for axis, found in enumerate(np.nonzero(weights)):
        places[axis] += found.tolist()
    return tuple(slice(min(one), max(one) + 1) for one in places)


def of_product(*factors: np.ndarray, element: Dtype, finish: TypedExpr) -> Stencil:
    """Return the stencil of a weighted sum along rows, then along columns, and then perhaps along planes."""
    *planes, column, row = factors
    value, pairs = finish.nodes[0].dtype, None
    if np.array_equal(row, [1]) and not planes:
        return of_sum(column[:, np.newaxis], element, finish)
    kept = finishing(value, value)
    across, down = of_sum(row, element, kept), of_sum(column[:, np.newaxis], value, kept if planes else finish)
    if planes:
        deep = of_sum(planes[0][:, np.newaxis, np.newaxis], value, finish)
        return _in_three(_in_two(across, down, row, element, None), deep, factors)
    if _fit_in_pairs(element, column, row):
        pairs = typed_over(weighted(column, _PAIR), _PAIR), _typed_across(weighted(row, _PAIR), _PAIR, _PAIR)
    return _in_two(across, down, row, element, pairs)


def _in_two(
    across: Stencil, down: Stencil, row: np.ndarray, element: Dtype, pairs: tuple[TypedExpr, TypedExpr] | None
) -> Stencil:
    """Join the passes along rows and columns; one kernel may compute both, if it can contain all weights."""
    if across.function is None or down.function is None:
        return Stencil(down.offsets, None, down.finish, passes=(across, down))
    return Stencil(
        down.offsets,
        down.function,
        down.finish,
        columns=tuple(dx for (dx,) in across.offsets),
        across=_typed_across(weighted(row, down.value), element, down.value),
        passes=(across, down),
        paired=pairs,
    )


def _in_three(both: Stencil, deep: Stencil, factors: Sequence[np.ndarray]) -> Stencil:
    """Join the passes along rows and columns and the one along planes; one kernel may compute all, as in two."""
    passes, spans = (both, deep), [_spanned(line)[0] for line in factors]
    if both.function is None or deep.function is None or any(one.stop - one.start == 1 for one in spans):
        return Stencil(deep.offsets, None, deep.finish, passes=passes)
    lines = [tuple(line[inside].astype(deep.value)) for line, inside in zip(factors, spans, strict=True)]
    (front, top, left), (back, bottom, right) = (
        [end - len(line) // 2 for end, line in zip(ends, factors, strict=True)]
        for ends in ([one.start for one in spans], [one.stop - 1 for one in spans])
    )
    ends = (front, top, 0), (back, bottom, 0)
    return Stencil(ends, None, deep.finish, columns=(left, right), passes=passes, lines=tuple(lines))


def _of_halves(weights: np.ndarray, element: Dtype, result: Dtype, join: Join) -> Stencil:
    """Return the stencil of integer weights for 64-bit integers; one function sums the halves of few neighbours."""
    finish = finishing(result, result)
    if np.count_nonzero(weights) <= _MOST_IN_HALVES:
        neighbours = weighted_halves(weights, element, join)
        return Stencil(neighbours.offsets, typed_over(neighbours, element), finish)
    high, low = (_sums_of(weights, half) for half in half_dtypes(element))
    return Stencil(high.offsets, None, finish, halves=Halves(high, low, join))


def _sums_of(weights: np.ndarray, half: Dtype) -> Stencil:
    """Return the stencil of integer weights for 32-bit halves; its results are the sums."""
    finish = finishing(_INT64, _INT64)
    if weights.ndim == 2 and min(weights.shape) > 1 and (weights == 1).all():
        rows, columns = weights.shape
        return of_product(np.ones(rows), np.ones(columns), element=half, finish=finish)
    return of_sum(weights, half, finish)


def _typed_across(across: Neighbours, element: Dtype, value: Dtype) -> TypedExpr:
    return typed(across.expr, (element,) * len(across.offsets), (value,))


def _fit_in_pairs(element: Dtype, *factors: np.ndarray) -> bool:
    """Return True if sums of bytes by products of weights fit in 16 bits, and so never overflow into the other half."""
    whole = all((one == np.rint(one)).all() and (one >= 0).all() for one in factors)
    return element == np.uint8 and whole and 255 * np.prod([one.sum(dtype=np.float64) for one in factors]) < 2**16


def _value_of(weights: np.ndarray, element: Dtype, result: Dtype, *, double: bool) -> Dtype | None:
    """Return the dtype of a weighted sum; None for two sums of halves."""
    if kind_of(element) == "f":
        return _DOUBLE if _DOUBLE in (element, result) else _SINGLE
    whole = weights.dtype.kind == "i" or bool((weights == np.rint(weights)).all() and np.abs(weights).max() < _SMALL)
    if not whole:
        return _DOUBLE if double or not is_narrow(element) else _SINGLE
    weight = sum(abs(int(one)) for one in weights.flat)
    largest = (_range_of(element)[1] + (element.kind != "b")) * weight
    if largest < _LARGE:
        return np.dtype(np.int32 if largest < _SMALL else np.int64)
    return None if kind_of(result) != "f" and element.itemsize == 8 and weight < MOST_WEIGHT else _DOUBLE


def float_of(element: Dtype, result: Dtype, *, double: bool) -> Dtype:
    """Return the float dtype to compute numbers of ``element`` in, on a device with or without float64."""
    if element.kind == result.kind == "f":
        return _DOUBLE if _DOUBLE in (element, result) else _SINGLE
    return _DOUBLE if double or not is_narrow(element) else _SINGLE


def is_narrow(element: Dtype) -> bool:
    """Return True if float32 holds the elements, and a fraction of each integer."""
    return element.itemsize <= 2 or element == _SINGLE


def _range_of(element: Dtype) -> tuple[int, int]:
    """Return the smallest and the largest integer of a dtype."""
    return (0, 1) if element.kind == "b" else (int(np.iinfo(element).min), int(np.iinfo(element).max))


def _ends(weights: np.ndarray, element: Dtype) -> Ends | None:
    """Return the range of a weighted sum of integers; None for floats."""
    if kind_of(element) == "f":
        return None
    low, high = _range_of(element)
    products = [(one.item() * low, one.item() * high) for one in weights.flat if one]
    return Ends(sum(map(min, products)), sum(map(max, products)), len(products))
