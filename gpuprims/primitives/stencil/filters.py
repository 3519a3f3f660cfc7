"""Stencils of SciPy's filters: sums whose integer results are SciPy's, means, and products of the weights of axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.determinism import cached_by_level
from gpuprims.expressions.trace import Recorder
from gpuprims.primitives.stencil.neighbours import finished
from gpuprims.primitives.stencil.rounding import averaging, divided, finishing, nonzero, summed
from gpuprims.primitives.stencil.stencils import Dtype, Stencil, typed_over
from gpuprims.primitives.stencil.weights import LONGEST_WRITTEN, MOST_IN_SPACE, float_of, of_product, of_sum, of_weights

_DOUBLE, _SINGLE = np.dtype(np.float64), np.dtype(np.float32)
# Weights that differ by less are the same to SciPy, and smaller ones among weights of several axes are zero.
_EPSILON = float(np.finfo(np.float64).eps)
_AXES = 3
# Sums with integral weights below this are computed in integers.
_WHOLE = 2**31

Index = tuple[int, ...]
Numbers = tuple[float, ...]


class Filter(NamedTuple):
    """Weights by their bytes, and the offset of the first of them along each axis.

    ``line``: SciPy filters along one axis, and adds equal weights in pairs.
    """

    shape: tuple[int, ...]
    given: bytes
    first: tuple[int, ...]
    line: bool

    @classmethod
    def of(cls, weights: np.ndarray, first: Sequence[int], *, line: bool) -> Filter:
        """Return the filter of an array of weights."""
        return cls(weights.shape, weights.astype(np.float64).tobytes(), tuple(first), line)

    def placed(self, rank: int, places: tuple[int, ...]) -> Filter:
        """Return the filter with its axes among ``rank`` of a neighbourhood."""
        shape, first = [1] * rank, [0] * rank
        for place, length, low in zip(places, self.shape, self.first, strict=True):
            shape[place], first[place] = length, low
        return self._replace(shape=tuple(shape), first=tuple(first))

    def in_row(self, places: Sequence[int]) -> Filter:
        """Return the filter with its weights that are not zero at some places of a row, in order."""
        line = np.zeros(max(places) - min(places) + 1)
        line[np.subtract(places, min(places))] = self.weights[self.weights != 0] if self.weights.any() else 0
        return Filter.of(line, (min(places),), line=False)

    @property
    def offsets(self) -> list[Index]:
        """The offsets of weights that are not zero; one offset if all are."""
        found = np.argwhere(self.weights) if self.weights.any() else np.zeros((1, len(self.shape)), int)
        return [tuple(one) for one in (found + self.first).tolist()]

    @property
    def weights(self) -> np.ndarray:
        """The weights as floats."""
        return np.frombuffer(self.given).reshape(self.shape)

    @property
    def centred(self) -> np.ndarray:
        """The weights, padded with zeros so that the middle one is the element's own."""
        ends = [(one, one + n - 1) for one, n in zip(self.first, self.shape, strict=True)]
        reach = [max(abs(low), abs(high)) for low, high in ends]
        return np.pad(self.weights, [(r + low, r - high) for r, (low, high) in zip(reach, ends, strict=True)])


@cached_by_level(256)
def of_filter(chosen: Filter, element: Dtype, result: Dtype, double: bool) -> Stencil:
    """Return the stencil of a weighted sum, on a device with or without float64."""
    weights = chosen.weights
    whole = bool((weights == np.rint(weights)).all() and np.abs(weights).max() < _WHOLE)
    if result.kind == "f":
        return of_weights(chosen.centred, element, result, double=double)
    if whole and element.kind in "biu" and element.itemsize < _DOUBLE.itemsize:
        given = chosen.centred.astype(np.int64)
        if result.kind != "b":
            return of_weights(given, element, result, double=double)
        exact = of_weights(given, element, np.dtype(np.int32), double=double)
        return of_sum(given, element, nonzero(exact.value))
    value = float_of(element, result, double=double)
    return _rounded(chosen, element, nonzero(value) if result.kind == "b" else summed(value, result, None))


@cached_by_level(256)
def of_mean(count: int, chosen: Filter, element: Dtype, result: Dtype, double: bool) -> Stencil:
    """Return the stencil of the mean of ``count`` neighbours; ``chosen`` has their weights, which are 1."""
    if result == element and element.kind in "iu" and element.itemsize < _DOUBLE.itemsize:
        exact = of_filter(chosen, element, np.dtype(np.int32), double=double)
        return of_sum(chosen.centred.astype(np.int64), element, averaging(exact.value, count, result))
    return _rounded(chosen, element, divided(float_of(element, result, double=double), count, result))


@cached_by_level(256)
def of_factors(factors: tuple[Numbers, ...], element: Dtype, result: Dtype) -> Stencil:
    """Return the stencil of products of float weights, of odd lengths, of two or three axes."""
    finish = finishing(_DOUBLE if _DOUBLE in (element, result) else _SINGLE, result)
    lines = [np.array(one) for one in factors]
    if len(lines) == _AXES and math.prod(map(np.count_nonzero, lines)) <= MOST_IN_SPACE:
        table = np.multiply.outer(np.multiply.outer(lines[0], lines[1]), lines[2])
        return of_sum(table, element, finish)
    if len(lines) < _AXES or len(lines[-1]) > 1:
        return of_product(*lines, element=element, finish=finish)
    planes, rows, _ = lines  # no neighbours beside an element
    value = finish.nodes[0].dtype
    first = of_sum(rows[:, np.newaxis], element, finishing(value, value))
    last = of_sum(planes[:, np.newaxis, np.newaxis], value, finish)
    return Stencil(last.offsets, None, finish, passes=(first, last))


def _rounded(chosen: Filter, element: Dtype, finish: Any) -> Stencil:
    """Return a sum with SciPy's operations in SciPy's order: only then do integers truncate as SciPy's do."""
    value, weights = finish.nodes[0].dtype, chosen.weights
    if np.count_nonzero(weights) > LONGEST_WRITTEN:
        centred = chosen.centred.astype(value)
        low, high = (tuple(sign * (n // 2) for n in centred.shape) for sign in (-1, 1))
        return Stencil((low, high), None, finish, centred, contracted=False)
    recorder, places = Recorder(), dict[Index, int]()

    def neighbour(index: Index) -> Any:
        offset = tuple(at + low for at, low in zip(index, chosen.first, strict=True))
        return recorder.argument(places.setdefault(offset, len(places))).astype(value)

    first, *others = _terms(chosen, neighbour, value)
    for term in others:
        first = first + term
    neighbours = finished(recorder, first, tuple(places))
    return Stencil(neighbours.offsets, typed_over(neighbours, element), finish, contracted=False)


def _terms(chosen: Filter, neighbour: Callable[[Index], Any], value: Dtype) -> list[Any]:
    """Return the terms of SciPy's sum, in order."""
    indices, flat = list(np.ndindex(chosen.shape)), chosen.weights.ravel()
    if chosen.line:
        terms = _of_line(indices, flat, neighbour, value)
    else:
        terms = [
            neighbour(index) * value.type(weight)
            for index, weight in zip(indices, flat, strict=True)
            if abs(weight) > _EPSILON
        ]
    return terms or [neighbour(indices[0]) * value.type(0)]


def _of_line(indices: list[Index], weights: np.ndarray, neighbour: Callable[[Index], Any], value: Dtype) -> list[Any]:
    """Return the terms of one axis: the middle and then pairs around it, or the last and then the others."""
    count, middle = len(indices), len(indices) // 2
    sign = 0 if count % 2 == 0 else next((s for s in (1, -1) if _is_symmetric(weights, s)), 0)
    if sign == 0:
        order = [count - 1, *range(count - 1)]
        return [neighbour(indices[k]) * value.type(weights[k]) for k in order if weights[k]]
    terms = [neighbour(indices[middle]) * value.type(weights[middle])] if weights[middle] else []
    for k in range(middle):
        if weights[k]:
            one, other = neighbour(indices[k]), neighbour(indices[count - 1 - k])
            terms.append((one + other if sign > 0 else one - other) * value.type(weights[k]))
    return terms


def _is_symmetric(weights: np.ndarray, sign: int) -> bool:
    """Return True if the weights are symmetric or antisymmetric about the middle."""
    half = len(weights) // 2
    return bool((np.abs(weights[:half] - sign * weights[::-1][:half]) <= _EPSILON).all())
