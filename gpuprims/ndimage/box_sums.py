"""Sums of many neighbours along an axis, at the same cost for any number, from running sums in both directions.

Along the last axis, a kernel for CPUs takes a few additions for any number of equal weights
(stencil/cpu_long_rows), if elements lie side by side.

Blocks are as long as the boxes, so that a box is the end of a block and the beginning of the next one. Nothing is
subtracted, so rounding errors, infinities and NaN stay in the boxes that they belong to. For float arrays of the host,
box_means.c takes these steps in one pass, with the same bits. The method is that of M. van Herk, A fast algorithm for
local minimum and maximum filters on rectangular and octagonal kernels, Pattern Recognition Letters 13 (1992), with
sums in place of minima.

    elements     a   b   c | d   e   f | g ...       boxes of 3
    to the end  abc  bc  c  def  ef  f
    before       0   a  ab   0   d  de   0
    sums        abc         bc + d   c + de   def
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.by_numpy import Switch, noticed
from gpuprims.core.c_modules import CModule
from gpuprims.core.determinism import asks_for_device
from gpuprims.core.layout import is_contiguous
from gpuprims.core.operands import as_operands
from gpuprims.core.warm_calls import Run
from gpuprims.expressions import Expr, trace
from gpuprims.ndimage.calls import Call, copied, found_again, kept_again, on_device, run_bound
from gpuprims.ndimage.lines import Line, filtered
from gpuprims.ndimage.padded import padded
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.scan import scan
from gpuprims.primitives.stencil.reference import within
from gpuprims.primitives.stencil.rounding import mean_of_whole

_DOUBLE, _SINGLE = np.dtype(np.float64), np.dtype(np.float32)
# Most neighbours of narrow and of wide elements that one stencil adds in less time, and the fewest additions in all for
# which several launches pay; C pays for fewer (stencil's rows: cpu_long_rows-sums, cpu_long_rows-means).
_ADDED, _ADDED_WIDE, _FEWEST = 31, 15, 2**21
_ADDED_IN_C, _FEWEST_IN_C = 12, 2**16
BOX_MEANS = CModule(Path(__file__).with_name("box_means.c"), in_calls=False)
_SAME = trace(lambda element: element, 1)


def takes_blocks(call: Call, lines: Sequence[Line]) -> bool:
    """Return True if a CPU computes some mean faster this way, and the call is not asked for all devices' bits."""
    value = _value(call, call.element, max([line.mean_of for line in lines], default=0))
    if value is None or call.operands.driver.capabilities.kind != "cpu" or asks_for_device():
        return False
    if value == _DOUBLE and not call.operands.driver.capabilities.fp64:
        return False
    together = is_contiguous(call.operands.form(call.operands.natives[0]))
    return any(_is_long(line, value, call) and not (together and _is_last(line, call)) for line in lines)


class Means(NamedTuple):
    """Means of boxes, one axis after the other."""

    call: Call
    lines: Sequence[Line]
    cval: Any

    def run(self, key: Any) -> Any:
        """Compute the means; they are kept for later calls with the same key unless scans compute some of them."""
        call, lines, cval = self
        there, runs = on_device(call), list[Run | None]()
        for number, line in enumerate(lines):
            result, again = _along(there, line, cval, None if key is None else (*key, number))
            runs.append(again)
            there = there._replace(operands=as_operands(call.label, (result,), call.operands.device))
        if None not in runs:
            kept_again(call, key, partial(_in_turn, [again for again in runs if again is not None]))
        return copied(call, there.operands.natives[0])


def _in_turn(runs: Sequence[Run], given: Sequence[np.ndarray]) -> np.ndarray:
    for run in runs:
        given = (run(given),)
    return given[0]


def _along(call: Call, line: Line, cval: Any, key: Any) -> tuple[Any, Run | None]:
    """Return the means along one axis, and what computes them again for an array like this one, if anything does."""
    value = _value(call, call.element, line.mean_of)
    if value is None or not _is_long(line, value, call):
        return run_bound(filtered(call, [line], cval), key), found_again(key)
    if _is_last(line, call):
        together = _in_c_order(call)
        return run_bound(filtered(together, [line], cval), key), found_again(key) if together is call else None
    if (found := _in_c(call, line, cval)) is not None:
        return found(call.operands.natives), found
    return _by_blocks(call, line, value, cval), None


def _is_long(line: Line, value: np.dtype[Any], call: Call) -> bool:
    most, fewest = _ADDED_WIDE if value == _DOUBLE else _ADDED, _FEWEST
    if _are_in_c(call, value) and not _is_last(line, call):
        most, fewest = _ADDED_IN_C, _FEWEST_IN_C
    return line.mean_of > most and line.mean_of * math.prod(call.shape) >= fewest


def _are_in_c(call: Call, value: np.dtype[Any]) -> bool:
    """Return True for means that C computes where there is a compiler; their bits do not depend on it."""
    return call.operands.in_place and value == call.element == call.result


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


def _in_c(call: Call, line: Line, cval: Any) -> Run | None:
    """Return the function in C from the array to the means along one axis, if it computes them."""
    value, driver = _value(call, call.element, line.mean_of), call.operands.driver
    if value is None or _is_last(line, call) or not _is_long(line, value, call) or not _are_in_c(call, value):
        return None
    if not Switch.on or (calls := BOX_MEANS.serves(driver)) is None:
        return None
    n, border = call.shape[line.axis], call.border(line.mode, cval, call.element)
    rows = np.arange(line.first, line.first + n + line.mean_of - 1)
    if border.mode == "constant":
        places = np.where((rows < 0) | (rows >= n), -1, rows)
    else:
        places = within(rows, n, border.mode).astype(np.int64, copy=False)
    shape = math.prod(call.shape[: line.axis]), n, math.prod(call.shape[line.axis + 1 :])
    means, beyond = noticed(driver, call.label, calls.means), float(border.beyond)
    return lambda given: means(np.ascontiguousarray(given[0]).reshape(shape), places, beyond).reshape(call.shape)


def _by_blocks(call: Call, line: Line, value: np.dtype[Any], cval: Any) -> Any:
    """Return the means along one axis, by scans."""
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
