"""Filters of one axis after the other, such as Gaussian ones."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.keywords import is_one_of
from gpuprims.ndimage.arguments import mode_of
from gpuprims.ndimage.calls import Bound, Call
from gpuprims.primitives.stencil.filters import Filter, of_factors, of_filter, of_mean
from gpuprims.primitives.stencil.request import StencilRequest
from gpuprims.primitives.stencil.stencils import Stencil

# Weights whose sum is closer to 1 than this leave a constant array unchanged.
_CLOSE = 1e-9
# Axes that one stencil filters.
_MOST = 3


class Line(NamedTuple):
    """Weights along an axis, the first one's offset, and a mode; a mean of ``mean_of`` elements unless it is 0."""

    axis: int
    weights: tuple[float, ...]
    first: int
    mode: Any
    mean_of: int = 0

    @property
    def centred(self) -> tuple[float, ...]:
        """The weights, padded with zeros so that the middle one is the element's own."""
        share = self.mean_of or 1
        return tuple((Filter.of(np.array(self.weights), (self.first,), line=True).centred / share).tolist())


def filtered(call: Call, lines: Sequence[Line], cval: Any) -> Bound:
    """Return the filters of some axes: float weights of neighbouring axes together, others one after the other."""
    requests, element = list[StencilRequest](), call.element
    groups = _groups(lines, cval) if call.result.kind == "f" else [[line] for line in lines]
    for group in groups:
        requests.append(_request(call, group, element, cval))
        element = call.result
    return Bound(call, tuple(requests))


def _groups(lines: Sequence[Line], cval: Any) -> list[list[Line]]:
    """Group the lines of neighbouring axes if the results are the same as for one axis after the other."""
    lines = [line for line in lines if line.centred != (1.0,)]
    groups = list[list[Line]]()
    if not all(_keeps_constant(line, cval) for line in lines):  # in SciPy's order: each axis has the constant around it
        return [[line] for line in lines]
    for line in sorted(lines):
        if groups and _fit_together([*groups[-1], line]):
            groups[-1].append(line)
        else:
            groups.append([line])
    return groups


def _keeps_constant(line: Line, cval: Any) -> bool:
    return not is_one_of(mode_of(line.mode), ("constant",)) or cval == 0 or abs(sum(line.centred) - 1) < _CLOSE


def _fit_together(lines: Sequence[Line]) -> bool:
    """Return True if one stencil can have several lines of weights."""
    if len(lines) > _MOST or any(b.axis - a.axis != 1 for a, b in pairwise(lines)):
        return False
    return all(line.mode == lines[0].mode and len(line.weights) > 1 for line in lines)


def _request(call: Call, lines: Sequence[Line], element: np.dtype[Any], cval: Any) -> StencilRequest:
    """Return the request of lines of weights along neighbouring axes."""

    def stencil(rank: int, places: tuple[int, ...]) -> Stencil:
        if len(lines) > 1:
            factors: list[tuple[float, ...]] = [(1.0,)] * rank
            for place, line in zip(places, lines, strict=True):
                factors[place] = line.centred
            return of_factors(tuple(factors), element, call.result)
        (line,) = lines
        chosen = Filter.of(np.array(line.weights), (line.first,), line=True).placed(rank, places)
        if not line.mean_of:
            return of_filter(chosen, element, call.result, call.double)
        if call.result.kind == "f":
            shared = Filter.of(chosen.weights / line.mean_of, chosen.first, line=True)
            return of_filter(shared, element, call.result, call.double)
        return of_mean(line.mean_of, chosen, element, call.result, call.double)

    border = call.border(lines[0].mode, cval, element)
    return call.along([line.axis for line in lines], stencil, border)
