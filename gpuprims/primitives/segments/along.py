"""Segments along one axis of several: the segments of all rows, one row after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.call_keys import Key
from gpuprims.core.capture import keep
from gpuprims.core.contents import Contents
from gpuprims.core.device import Device
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, as_out, each_result
from gpuprims.core.warm_calls import AS_GIVEN, BEGINS, Run, WarmCalls
from gpuprims.errors import ArgumentError, ShapeError
from gpuprims.expressions import trace
from gpuprims.operators import OPERATORS, Op, find_op
from gpuprims.primitives.axes import one_axis
from gpuprims.primitives.beginnings import to_out
from gpuprims.primitives.found import must_find
from gpuprims.primitives.grouping.flat import flat
from gpuprims.primitives.grouping.indices import numbers
from gpuprims.primitives.map import contiguous_copy
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.segments.contents import ByContents, is_usual, keeps_contents, keyed_with
from gpuprims.primitives.segments.offsets import MADE, OWN_COPIES, Segments

_OFFSET = trace(lambda row, n, offset: row * n + offset, 3)
_LAST = trace(lambda offset, total: offset * 0 + total, 2)
_PLACE = trace(lambda place, row, n: np.where(place < 0, place, place - row * n), 3)
# Fewest rows whose elements are scanned where they lie (rows: across, across-gpu).
_SIDE_BY_SIDE, _SIDE_BY_SIDE_GPU = 16, 128
# Most offsets of all rows that the host computes: four maps on a device take longer, and must be compiled.
_ON_HOST = 2**13
# Most offsets of all rows that are kept for later calls, of 16 MB.
_KEPT = 2**21
_INT64 = np.dtype(np.int64)
_WARM = WarmCalls()
_BY_VALUE = AS_GIVEN | {bool}  # with their classes, because True equals 1
_PLACES = ("argmin", "argmax", "nanargmin", "nanargmax")


def along_axis(
    function: Callable[..., Any],
    label: str,
    arrays: tuple[Any, ...],
    offsets: Any,
    axis: Any,
    device: str | Device | None,
    *,
    out: Any,
    where: Any = None,
    how: dict[str, Any],
    across: Callable[[Segments, int], Any] | None,
) -> Any:
    """Return a fold of segments along an axis by ``function``, reduce or scan, with its keywords ``how``.

    ``across`` folds rows whose elements lie apart in memory; without it, they are copied, as are results for ``out``.
    """
    given, key, op, reduces = arrays if where is None else (*arrays, where), None, how["op"], label == "reduce"
    there = type(arrays[0]) is not np.ndarray and out is None and type(axis) is int
    if there and (keywords := _keywords_of(how)) is not None:
        keyed = keyed_with(arrays[0], offsets)
        key, _, run = _WARM.find_into(
            (label, axis, where is None, len(keyed), keywords), (*given, *keyed[1:]), None, device
        )
        if run is not None:
            return run((*given, offsets))
    counts_rows = _finds_places(label, op)
    operands = as_operands(label, given, device, stored=True)
    lines = Lines.of(operands, _common_shape(operands), axis)
    call = _Call(partial(function, **how), lines, where is not None, reduces, counts_rows)
    apart = across is not None and lines.lie_apart(sums=not reduces and find_op(op) is OPERATORS["sum"])
    if not apart and keeps_contents(key, operands, offsets):
        return _repeated(key, call, operands, offsets)
    segments = Segments(offsets, operands, lines.n)
    segments.check()
    back = must_find(label, find_op(op), operands) if reduces else None
    written = as_out(operands, out, in_place=not reduces)
    if apart and across is not None:
        results = across(segments, lines.along)
    else:
        results = each_result(operands.to_caller, call.run(operands.natives, lines.offsets(segments), segments.count))
    return _returned(operands, results if back is None else back(results), written)


def _keywords_of(how: dict[str, Any]) -> Any:
    """Return the keywords of a fold as the key of later calls; None if they cannot be compared."""
    initial, others = how["initial"], [one for name, one in how.items() if name not in ("initial", "op", "dtype")]
    if type(initial) not in BEGINS or not _BY_VALUE.issuperset(map(type, others)):
        return None
    # 0 is equal to 0.0 and -0.0.
    return how["op"], how["dtype"], repr(initial), *[(type(one), one) for one in others]


class _Call(NamedTuple):
    """A fold of the segments of all rows, by a fold of arrays of one dimension."""

    fold: Callable[..., Any]
    lines: Lines
    masked: bool  # the last array is a mask
    reduces: bool
    places: bool  # results are places, which count from the start of a row

    def run(self, arrays: Sequence[Any], offsets: Any, count: int) -> Any:
        """Fold arrays, by the offsets of the ``count`` segments of each row, one row after the other."""
        lines, device = self.lines, self.lines.operands.device
        given = [lines.flat(one) for one in arrays]
        masks = {"where": given.pop()} if self.masked else {}
        found, each = self.fold(*given, segments=offsets, device=device, **masks), count if self.reduces else lines.n
        return each_result(lambda one: lines.shaped(one, each, places=self.places), found)


def _repeated(key: Key | None, call: _Call, operands: Operands, offsets: Any) -> Any:
    """Fold arrays of a device, and keep how for later calls."""
    device, lines = operands.device, call.lines._replace(operands=operands.instead())
    later = call._replace(lines=lines)

    def prepare(offsets: np.ndarray) -> Run:
        segments = Segments(offsets, lines.operands, lines.n)
        every, count = lines.offsets(segments), segments.count
        if isinstance(every, np.ndarray):
            every = device.driver.asarray(every)
        right = OWN_COPIES if segments.has_empty else MADE

        def run(arrays: Sequence[Any]) -> Any:
            if every not in right:
                right.add(every)
            return later.run(arrays, keep(every), count)

        return run

    run = ByContents(device, prepare).run
    given = offsets if is_usual(offsets) else as_operands(operands.label, (offsets,), device).natives[0]
    results = run((*operands.natives, given))
    _WARM.keep_run(key, run)
    return each_result(operands.to_caller, results)


def _returned(operands: Operands, results: Any, out: Out | None) -> Any:
    """Return results of the caller's library, or copy them to the caller's arrays."""
    if out is None:
        return results
    several = results if isinstance(results, tuple) else (results,)
    natives = as_operands(operands.label, several, operands.device, stored=True).natives
    given = to_out(operands, natives, out, (None,) * len(natives))
    return given if out.several else given[0]


def _finds_places(label: str, op: Any) -> bool:
    """Return True for operators whose results are indices; refuse those that may use an element's index."""
    found = find_op(op)
    if isinstance(op, Op) and op.prepare is not None and op not in OPERATORS.values():
        rule = f"{label}: with segments= along an axis, an operator without prepare=, which may ask for an index"
        raise ArgumentError(f"{rule}; got {op.name!r} (fold each row in a call of its own)")
    return found in [OPERATORS[name] for name in _PLACES]


def _common_shape(operands: Operands) -> tuple[int, ...]:
    shapes = {tuple(native.shape) for native in operands.natives if native.shape}
    if len(shapes) != 1:
        got = " and ".join(str(tuple(native.shape)) for native in operands.natives)
        raise ShapeError(f"{operands.label}: arrays of one shape with segments= along an axis; got {got}")
    return shapes.pop()


class Lines(NamedTuple):
    """The ``rows`` rows of ``n`` elements along an axis of an array, whose other axes have the lengths ``others``."""

    operands: Operands
    along: int
    n: int
    others: tuple[int, ...]

    @classmethod
    def of(cls, operands: Operands, shape: tuple[int, ...], axis: Any) -> Lines:
        """Return the rows of arrays of a shape; raise for an axis that they do not have."""
        along = one_axis(axis, len(shape))
        return cls(operands, along, shape[along], (*shape[:along], *shape[along + 1 :]))

    @property
    def rows(self) -> int:
        """The number of rows."""
        return math.prod(self.others)

    def lie_apart(self, *, sums: bool) -> bool:
        """Return True if other elements lie between those of a row, and it pays to fold rows where they lie.

        ``sums`` is True for scans by addition. On GPUs, other scans and reductions take less time on copies of rows.
        """
        on_cpu = self.operands.driver.capabilities.kind == "cpu"
        least = _SIDE_BY_SIDE if on_cpu else _SIDE_BY_SIDE_GPU
        if not on_cpu and not sums:
            return False
        form = next(form for form in self.operands.forms if form.shape)
        return self.n > 1 and self.rows >= least and form.strides[self.along] != form.item

    def flat(self, array: Any) -> Any:
        """Return an array along one axis, row by row; a number as it is."""
        if not array.ndim:
            return array
        order = [one for one in range(array.ndim) if one != self.along]
        return flat(self.operands, array if self.along == array.ndim - 1 else array.transpose((*order, self.along)))

    def offsets(self, segments: Segments) -> Any:
        """Return the offsets of the segments of all rows, one row after the other."""
        return _of_all(self.operands, segments, self.rows, self.n)

    def shaped(self, one: Any, each: int, *, places: bool) -> Any:
        """Return results, ``each`` of a row, with the axes of the array; ``places`` count from the start of a row."""
        operands = self.operands
        if places and one.size:
            there = operands.cut(one, 0, (self.rows, each))
            row = operands.cut(numbers(self.rows, one, operands.device), 0, (self.rows, 1))
            one = map_arrays(_PLACE, there, row, np.int64(self.n), device=operands.device)
        shape = (*self.others, each)
        whole = operands.cut(one, 0, shape) if one.size else operands.empty(shape, one.dtype)
        return _moved(operands, whole, self.along)


def _moved(operands: Operands, whole: Any, axis: int) -> Any:
    """Return an array with its last axis moved to a place, in C order."""
    last = whole.ndim - 1
    if axis == last:
        return whole
    turned = whole.transpose((*range(axis), last, *range(axis, last)))
    if not whole.size:
        return operands.empty(tuple(turned.shape), whole.dtype)
    return contiguous_copy(turned, operands.device)


def _of_all(operands: Operands, segments: Segments, rows: int, n: int) -> Any:
    """Return the offsets of the segments of all rows, one row after the other."""
    size, offsets = rows * segments.count, segments.on_host  # checked
    if operands.in_place or size <= _ON_HOST:
        own = offsets[:-1].astype(np.int64)
        return np.append((np.arange(rows, dtype=np.int64)[:, None] * n + own).ravel(), rows * n)
    make, order = _kept if size <= _KEPT else _on_device, operands.driver.order
    return make(operands.device, order, Contents(offsets), rows, n)


def _on_device(device: Device, order: int, contents: Contents, rows: int, n: int) -> Any:
    """Compute the offsets of the segments of all rows on the device."""
    driver, count = device.driver, contents.array.size - 1
    given, result = driver.asarray(contents.array.astype(np.int64)), driver.empty((rows * count + 1,), _INT64)
    row = driver.cut(numbers(rows, given, device), 0, (rows, 1))
    firsts, end = driver.cut(given, 0, (1, count)), driver.cut(result, rows * count, (1,))
    map_arrays(_OFFSET, row, np.int64(n), firsts, out=driver.cut(result, 0, (rows, count)), device=device)
    map_arrays(_LAST, driver.cut(given, 0, (1,)), np.int64(rows * n), out=end, device=device)
    (MADE if (contents.array[:-1] < contents.array[1:]).all() else OWN_COPIES).add(result)
    return result


@lru_cache(maxsize=8)
def _kept(device: Device, order: int, contents: Contents, rows: int, n: int) -> Any:
    """Return the same array for equal offsets, so that kernels check it once at most."""
    contents.keep()
    return _on_device(device, order, contents, rows, n)
