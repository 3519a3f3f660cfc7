"""Segments: scans and reductions of runs of elements, each apart from the others, given by row offsets as in CSR.

A segmented scan is a scan by another operator, on values beside which a flag says that a segment begins among their
elements: ``(f, a) * (g, b) = (f | g, b if g else a*b)``, which is associative whenever ``*`` is (Blelloch, Prefix sums
and their applications, CMU-CS-90-190, 1990). So every kernel of :func:`gpuprims.scan` does it, with work shared evenly
whatever the segments' lengths. A reduction is the same scan, of which the last value of each segment is stored,
where no kernel that reads the offsets takes it; see :mod:`gpuprims.primitives.segments.runs`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.core.launch_plan import Prepared, Result, result_forms, target_forms
from gpuprims.core.layout import Form, View, plan_layout
from gpuprims.core.operands import Operands
from gpuprims.core.outputs import Targets
from gpuprims.core.primitive import Primitive
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.traits import CallTraits
from gpuprims.errors import EmptyReductionError, ShapeError
from gpuprims.expressions import Expr, TypedExpr, trace, typed
from gpuprims.operators import Folding, Op, as_map, make_folding
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.prefix import ScanPlanner
from gpuprims.primitives.rows import power_of_two
from gpuprims.primitives.segments.offsets import as_offsets
from gpuprims.primitives.segments.runs import choose_runs, fold_runs
from gpuprims.primitives.segments.variants import VARIANTS

PRIMITIVE = Primitive("segments", VARIANTS)

_BOOL, _INT64 = np.dtype(np.bool_), np.dtype(np.int64)


class Segments:
    """Row offsets, checked, and the marks on a device that kernels read in their place.

    Parameters
    ----------
    label : str
        Which primitive, for messages.
    offsets : array_like of int
        Where each segment begins, and after them where the last ends.
    operands : Operands
        The arrays whose elements the segments are of.
    size : int
        The number of elements.
    """

    def __init__(self, label: str, offsets: Any, operands: Operands, size: int) -> None:
        self._offsets = as_offsets(label, offsets, operands, size)
        self.size = size
        self.count = self._offsets.segments
        self._operands = operands

    @property
    def has_empty(self) -> bool:
        """Whether a segment has no elements."""
        return self.count > 0 and self._offsets.shortest == 0

    @property
    def longest(self) -> int:
        """Elements of the longest segment."""
        return self._offsets.longest

    @cached_property
    def offsets(self) -> Any:
        """The offsets where kernels can read them: on the device, or in the host's memory that it shares."""
        array = self._offsets.array
        on_host = isinstance(array, np.ndarray) and not self._operands.in_place
        return self._operands.driver.asarray(array) if on_host else array

    def kept(self, *, apart: bool) -> Any:
        """Return the offsets, apart from memory of the caller's if kernels write to that."""
        if not apart:
            return self.offsets
        device = self._operands.device
        return self.offsets.copy() if self._operands.in_place else map_arrays("x", self.offsets, device=device)

    def heads(self) -> Any:
        """Return an array of bools, true where a segment begins."""
        return self._marks(_TRUE, _beginnings, _BOOL)

    def ends(self) -> Any:
        """Return an array of integers: at the last element of each segment its number, counted from 1; 0 elsewhere."""
        return self._marks(_NUMBER, _endings, np.dtype(np.int32 if self.count < 2**31 else np.int64))

    def fill(self, form: Form, memory: Any, value: Any) -> None:
        """Write a value to every element of a memory on the device."""
        self._write(trace(lambda first, second, j: value, 3), _everywhere, form, memory)

    def _marks(self, function: Expr, places: Callable[..., Any], dtype: np.dtype[Any]) -> Any:
        marks = self._operands.zeros((self.size,), dtype)
        form, memory = self._operands.form(marks), self._operands.memory(marks) if self.size else None
        self._write(function, places, form, memory)
        return marks

    def _write(self, function: Expr, places: Callable[..., Any], form: Form, memory: Any) -> None:
        """Write a function of each segment's number to the place that its offsets say, or a constant everywhere."""
        if form.shape[0]:
            launch = _writer(function, places, self._shown.form, form, self._operands.device, REGISTRY.generation)
            launch([self._shown.memory, self._shown.memory, memory])

    @cached_property
    def _shown(self) -> View:
        """The offsets as the device sees them."""
        driver = self._operands.driver
        return driver.share(self.offsets) if self._operands.in_place else View(self.offsets, driver.form(self.offsets))


_TRUE = trace(lambda first, second, j: True, 3)
_NUMBER = trace(lambda first, second, j: j + 1, 3)


def _everywhere(value: Any, j: Any, first: Any, second: Any) -> Any:
    return j


def _beginnings(value: Any, j: Any, first: Any, second: Any) -> Any:
    return np.where(first < second, first, -1)


def _endings(value: Any, j: Any, first: Any, second: Any) -> Any:
    return np.where(first < second, second - 1, -1)


@keeps_calls()
def _writer(
    function: Expr,
    places: Callable[..., Any],
    offsets: Form,
    target: Form,
    device: Device,
    generation: int,
) -> Any:
    """Return a launch of map over pairs of neighbouring offsets, or, everywhere, over the target's elements."""
    every = places is _everywhere
    size = target.shape[0] if every else offsets.shape[0] - 1
    (step,) = offsets.strides
    first = offsets._replace(shape=(size,), strides=(0 if every else step,))
    second = first._replace(offset=first.offset + (0 if every else step))
    shape, (inputs, targets) = _along_one_axis((first, second), (target,))
    layout = plan_layout((*inputs, *targets), shape, (0,))
    map_ = typed(function, (_INT64, _INT64, _INT64), (target.dtype,))
    finish = typed(trace(lambda value, *_: value, 4), (target.dtype, _INT64, _INT64, _INT64), (target.dtype,))
    place = typed(trace(places, 4), (target.dtype, _INT64, _INT64, _INT64), (_INT64,))
    chosen = device.select("map", CallTraits((_INT64, target.dtype), 1, size, value_bytes=target.dtype.itemsize))
    accesses = layout.accesses
    spec = KernelSpec(accesses[:2], accesses[2:], (target.dtype,), map_, finish, place=place)
    groups = chosen.groups(-(-size // chosen.tile), device.capabilities)
    return device.kernel(chosen, spec).prepare(groups, layout.pack(0), size)


def scan_segments(operands: Operands, targets: Targets | None, offsets: Any, how: Any) -> Any:
    """Scan each segment by itself; ``how`` is the operator, map, inclusive, dtype and variant of a scan."""
    segments = Segments("scan", offsets, operands, _flat_size("scan", operands))
    with operands.settled():
        beside = operands.beside(segments.heads())
        where = beside.forms, target_forms(operands, targets), operands.fresh_alignment, operands.device
        return _prepare_scan(*how, *where, REGISTRY.generation).run(beside, targets)


def reduce_segments(operands: Operands, targets: Targets | None, offsets: Any, op: Op, how: Any) -> Any:
    """Fold each segment by itself; ``how`` is the map, dtype and variant of a reduce."""
    segments = Segments("reduce", offsets, operands, _flat_size("reduce", operands))
    if not op.of_nothing and segments.has_empty:
        raise EmptyReductionError(f"reduce with {op.name}: at least one element a segment; got an empty segment")
    mapped, dtype, _ = how
    dtypes = tuple(np.dtype(native.dtype) for native in operands.natives)
    longest = power_of_two(max(segments.longest, 1))  # by which few choices are told apart
    own = choose_runs(op, *how, dtypes, segments.count, longest, operands.device, REGISTRY.generation)
    if own is not None:
        with operands.settled():
            beside = operands.beside(segments.kept(apart=targets is not None))
            return fold_runs(beside, targets, own, op, mapped, dtype, segments.size)
    with operands.settled():
        beside = operands.beside(segments.heads(), segments.ends())
        where = beside.forms, segments.count, target_forms(operands, targets), operands.fresh_alignment, operands.device
        prepared, written, nothing = _prepare_reduce(op, *how, *where, REGISTRY.generation)

        def launch(memories: Sequence[Any]) -> None:
            for form, memory, value in zip(written, memories[len(beside.natives) :], nothing, strict=False):
                segments.fill(form, memory, value)
            if prepared.launch is not None:
                prepared.launch(memories)

        filled = prepared._replace(launch=launch) if segments.has_empty else prepared
        return filled.run(beside, targets)


def _along_one_axis(*groups: Sequence[Form]) -> tuple[tuple[int], list[list[Form]]]:
    """Lay arrays of one dimension along one axis, whatever their lengths: the layout keeps steps, kernels counts."""
    lengths = [form.shape[0] for forms in groups for form in forms if form.shape]
    shape = (max(2, *lengths),)  # an axis of one element has no step
    return shape, [[form._replace(shape=shape) if form.shape else form for form in forms] for forms in groups]


def _flat_size(label: str, operands: Operands) -> int:
    shapes = {native.shape for native in operands.natives if native.shape}
    if len(shapes) != 1 or len(next(iter(shapes))) != 1:
        got = " and ".join(str(native.shape) for native in operands.natives)
        raise ShapeError(f"{label}: arrays of one dimension and one length with segments=; got {got}")
    return int(next(iter(shapes))[0])


@keeps_calls()
def _prepare_scan(
    op: Op,
    mapped: Any,
    inclusive: bool,
    dtype: Any,
    variant: str | None,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    generation: int,
) -> Prepared:
    folding, nothing = _segmented(op, mapped, tuple(form.dtype for form in forms[:-1]), (_BOOL,), dtype, "scan")
    shape = (forms[-1].shape[0],)
    results = tuple(Result(shape, output) for output in folding.outputs)
    place = None
    if not inclusive:  # before the first element of a segment there is nothing, whatever the scan has come to
        folding, place = _starting_anew(folding, nothing, tuple(form.dtype for form in forms))
    targets = result_forms("scan", results, written, alignment)
    planner = ScanPlanner(
        device, forms, targets, folding, shape, (0,), commutative=False, inclusive=inclusive, place=place
    )
    return planner.prepare(variant, results)


@keeps_calls()
def _prepare_reduce(
    op: Op,
    mapped: Any,
    dtype: Any,
    variant: str | None,
    forms: tuple[Form, ...],
    count: int,
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    generation: int,
) -> tuple[Prepared, tuple[Form, ...], tuple[Any, ...]]:
    marks = tuple(form.dtype for form in forms[-2:])
    folding, nothing = _segmented(op, mapped, tuple(form.dtype for form in forms[:-2]), marks, dtype, "reduce")
    results = tuple(Result((count,), output) for output in folding.outputs)
    fitting = result_forms("reduce", results, written, alignment)
    folding, place = _at_ends(folding, tuple(form.dtype for form in forms))
    size = forms[-1].shape[0]
    shape, (inputs, targets) = _along_one_axis(forms, fitting)
    planner = ScanPlanner(
        device, inputs, targets, folding, shape, (0,), commutative=False, inclusive=True, place=place, count=size
    )
    return planner.prepare(variant, results), fitting, nothing


def _segmented(
    op: Op, mapped: Any, arrays: tuple[Any, ...], marks: tuple[Any, ...], dtype: Any, label: str
) -> tuple[Folding, tuple[Any, ...]]:
    """Return the folding of values beside which a flag and, where results need it, a count stand; and that of nothing.

    Its map takes marks after the arrays, the first of which says whether a segment begins.
    """
    plain = make_folding(op, as_map(label, mapped, len(arrays)), arrays, dtype, label)
    n, m, components = len(arrays), len(marks), len(plain.values)
    counts = op.finish is not None
    count = plain.finish.steps[components].dtype
    beside = (_BOOL, count) if counts else (_BOOL,)
    values = (*beside, *plain.values)
    first = len(beside)

    def load(*given: Any) -> Any:
        own = plain.map(*given[:n], given[-1])
        return (given[n] != 0, *((1,) if counts else ()), *own)

    def fold(*both: Any) -> Any:
        p, q = both[: first + components], both[first + components :]
        joined = plain.op(*p[first:], *q[first:])
        counted = (np.where(q[0], q[1], p[1] + q[1]),) if counts else ()
        return (p[0] | q[0], *counted, *(np.where(q[0], new, old) for new, old in zip(q[first:], joined, strict=True)))

    def finish(*given: Any) -> Any:
        return plain.finish(*given[first : first + components], given[1] if counts else given[-1])

    folding = Folding(
        values=values,
        outputs=plain.outputs,
        map=typed(trace(load, n + m + 1), (*arrays, *marks, _INT64), values),
        op=typed(trace(fold, 2 * len(values)), values * 2, values),
        finish=typed(trace(finish, len(values) + 1), (*values, count), plain.outputs),
        identity=(np.False_, *((count.type(0),) if counts else ()), *plain.identity),
    )
    with np.errstate(all="ignore"):
        nothing = plain.finish(*plain.identity, count.type(0))
    return folding, tuple(np.asarray(value).item() for value in nothing)


def _starting_anew(folding: Folding, nothing: tuple[Any, ...], arrays: tuple[Any, ...]) -> tuple[Folding, TypedExpr]:
    """Give the result of nothing where a segment begins, which the last array says."""
    k, n = len(folding.values), len(arrays)

    def finish(*given: Any) -> Any:
        own = folding.finish(*given[:k], given[k])
        return tuple(np.where(given[-1], value, one) for one, value in zip(own, nothing, strict=True))

    def here(*given: Any) -> Any:
        return (given[k],) * len(folding.outputs)  # the number of elements before, which is the place

    return _placed(folding, finish, here, k, n, arrays)


def _at_ends(folding: Folding, arrays: tuple[Any, ...]) -> tuple[Folding, TypedExpr]:
    """Store where a segment ends, which the last array says, at the segment's number."""
    k, n = len(folding.values), len(arrays)

    def finish(*given: Any) -> Any:
        return folding.finish(*given[:k], given[k])

    def number(*given: Any) -> Any:
        return (given[-1].astype(np.int64) - 1,) * len(folding.outputs)

    return _placed(folding, finish, number, k, n, arrays)


def _placed(
    folding: Folding, finish: Any, place: Any, k: int, n: int, arrays: tuple[Any, ...]
) -> tuple[Folding, TypedExpr]:
    counted = (*folding.values, folding.finish.steps[k].dtype, *arrays)
    placed = (*folding.values, _INT64, *arrays)
    own = typed(trace(finish, k + 1 + n), counted, folding.outputs)
    where = typed(trace(place, k + 1 + n), placed, (_INT64,) * len(folding.outputs))
    return Folding(folding.values, folding.outputs, folding.map, folding.op, own, folding.identity), where
