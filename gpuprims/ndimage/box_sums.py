"""Sums of many neighbours along an axis, at the same cost for any number, from running sums in both directions.

Along the last axis, a kernel for CPUs takes a few additions for any number of equal weights
(stencil/cpu_long_rows), if elements lie side by side.

Blocks are as long as the boxes, so that a box is the end of a block and the beginning of the next one. Nothing is
subtracted, so rounding errors, infinities and NaN stay in the boxes that they belong to. The same with minima in place
of sums: M. van Herk, A fast algorithm for local minimum and maximum filters on rectangular and octagonal kernels,
Pattern Recognition Letters 13 (1992).

    elements     a   b   c | d   e   f | g ...       boxes of 3
    to the end  abc  bc  c  def  ef  f
    before       0   a  ab   0   d  de   0
    sums        abc         bc + d   c + de   def
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.core.determinism import asks_for_device
from gpuprims.core.layout import is_contiguous
from gpuprims.core.operands import as_operands
from gpuprims.expressions import Expr, trace
from gpuprims.ndimage.calls import Call, copied, on_device, run_bound
from gpuprims.ndimage.lines import Line, filtered
from gpuprims.ndimage.padded import padded
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.scan import scan
from gpuprims.primitives.stencil.rounding import mean_of_whole

_DOUBLE, _SINGLE = np.dtype(np.float64), np.dtype(np.float32)
# Most neighbours of narrow and of wide elements that one stencil adds in less time, and the fewest additions in all for
# which several launches pay (stencil's rows: cpu_long_rows-sums).
_ADDED, _ADDED_WIDE, _FEWEST = 31, 15, 2**21
_SAME = trace(lambda element: element, 1)


def takes_blocks(call: Call, lines: Sequence[Line]) -> bool:
    """Return True if a CPU computes some mean faster this way, and the call is not asked for all devices' bits."""
    value = _value(call, call.element, max([line.mean_of for line in lines], default=0))
    if value is None or call.operands.driver.capabilities.kind != "cpu" or asks_for_device():
        return False
    if value == _DOUBLE and not call.operands.driver.capabilities.fp64:
        return False
    together = is_contiguous(call.operands.form(call.operands.natives[0]))
    return any(_is_long(line, value, call.shape) and not (together and _is_last(line, call)) for line in lines)


def means(call: Call, lines: Sequence[Line], cval: Any) -> Any:
    """Return means of boxes, one axis after the other."""
    there = on_device(call)
    for line in lines:
        value = _value(call, there.element, line.mean_of)
        if value is None or not _is_long(line, value, call.shape):
            found = run_bound(filtered(there, [line], cval))
        elif _is_last(line, call):
            found = run_bound(filtered(_in_c_order(there), [line], cval))
        else:
            found = _by_blocks(there, line, value, cval)
        there = there._replace(operands=as_operands(call.label, (found,), call.operands.device))
    return copied(call, there.operands.natives[0])


def _is_long(line: Line, value: np.dtype[Any], shape: tuple[int, ...]) -> bool:
    most = _ADDED_WIDE if value == _DOUBLE else _ADDED
    return line.mean_of > most and line.mean_of * math.prod(shape) >= _FEWEST


def _value(call: Call, element: np.dtype[Any], count: int) -> np.dtype[Any] | None:
    """Return the dtype of sums of this many elements; None if the order of additions would change results."""
    if element.kind == call.result.kind == "f":
        return _DOUBLE if _DOUBLE in (element, call.result) else _SINGLE
    if element != call.result or element.kind not in "iu" or element.itemsize >= _DOUBLE.itemsize:
        return None
    info = np.iinfo(element)
    return np.dtype(np.int32 if count * max(-info.min, info.max) < 2**31 else np.int64)


def _is_last(line: Line, call: Call) -> bool:
    return line.axis == len(call.shape) - 1


def _in_c_order(call: Call) -> Call:
    """Return a call on an array whose rows lie side by side."""
    (array,), operands = call.operands.natives, call.operands
    if is_contiguous(operands.form(array)):
        return call
    copy = map_arrays(_SAME, array, out=operands.empty(call.shape, call.element), device=operands.device)
    return call._replace(operands=as_operands(call.label, (copy,), operands.device))


def _by_blocks(call: Call, line: Line, value: np.dtype[Any], cval: Any) -> Any:
    """Return the means along one axis."""
    axis, count, device = line.axis, line.mean_of, call.operands.device
    n, low, start = call.shape[axis], max(-line.first, 0), max(line.first, 0)  # where the first box begins
    blocks = -(-(start + n + count) // count)
    reach = low, blocks * count - low - n
    array = padded(call, [axis], [reach], call.border(line.mode, cval, call.element))
    cut = as_operands(call.label, (array,), device).cut
    shape = (*array.shape[:axis], blocks, count, *array.shape[axis + 1 :])
    each = cut(array, 0, shape)
    to_end = scan(each, axis=axis + 1, dtype=value, reverse=True, device=device)
    before = scan(each, axis=axis + 1, dtype=value, inclusive=False, device=device)

    def boxes(sums: Any, first: int) -> Any:
        return cut(sums, 0, tuple(array.shape))[(slice(None),) * axis + (slice(first, first + n),)]

    mean, parts = _mean(value, count, call.result), (boxes(to_end, start), boxes(before, start + count))
    return map_arrays(mean, *parts, device=device)


@lru_cache(maxsize=256)
def _mean(value: np.dtype[Any], count: int, result: np.dtype[Any]) -> Expr:
    """Return the function that joins both parts of the sum of a box."""
    if value.kind == "f":
        return trace(lambda end, begin: ((end + begin) / value.type(count)).astype(result), 2)
    mean = mean_of_whole(value, count, result)
    return trace(lambda end, begin: mean(end + begin).astype(result), 2)
