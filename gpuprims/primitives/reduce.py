"""reduce: fold elements to one value, over all axes or some, with any associative operator."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

from gpuprims.arrays import Operands, Targets, as_operands
from gpuprims.definitions import Definitions, value_words
from gpuprims.device import Device
from gpuprims.errors import ArgumentError, AxisError, EmptyReductionError
from gpuprims.expressions import Expr, expression, trace
from gpuprims.layout import Form, broadcast_shapes, plan_layout
from gpuprims.operators import Folding, Op, as_dtype, find_op, make_folding
from gpuprims.preparation import Prepared, Result, result_forms, target_forms
from gpuprims.registry import MOST_GROUPS, REGISTRY, Call, Variant


def reduce(
    *arrays: Any,
    op: str | Op = "sum",
    map: Any = None,  # noqa: A002 - the fused map, under the primitive's name
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    compensated: bool = False,
    device: str | Device | None = None,
    variant: str | None = None,
) -> Any:
    """Fold elements with an operator.

    Parameters
    ----------
    *arrays : array_like
        What to fold: one array, or one for each component of the operator; with ``map``, its arguments, which
        broadcast together.
    op : str or Op
        ``"sum"``, ``"prod"``, ``"min"``, ``"max"``, ``"any"``, ``"all"``, ``"argmin"``, ``"argmax"``, ``"mean"``,
        ``"var"``, ``"std"``, ``"norm"`` (Euclidean), ``"count_nonzero"``, or an operator of your own.
    map : callable or str, optional
        A function of elements, as in :func:`gpuprims.map`, applied on the way in and never stored:
        ``reduce(x, y, map="x*y")`` is a dot product that reads each array once.
    axis : int or tuple of int, optional
        The axes to fold; all by default.
    keepdims : bool, default False
        Leave the folded axes in the result, of length 1.
    dtype : dtype, optional
        Convert elements to this, and fold in it.
    out : array or tuple of arrays, optional
        Where to write, one for each result: of its shape and dtype, in any layout, on the arrays' device, and apart
        from them in memory. By default new arrays.
    ddof : int or float, default 0
        For var and std: divide by the number of elements less this, as NumPy's argument of this name.
    compensated : bool, default False
        For sum and mean of floats: carry the rounding errors along and add them at the end, which gives the exact sum
        to its last bit or two, unless terms cancel to almost nothing. Integers and bools are exact as they are.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.

    Returns
    -------
    scalar, array, or tuple of them
        ``out``, or new ones of the same library as the first array that is not NumPy's, with the dtypes that NumPy's
        functions of these names give: sums of integers and bools widen to 64 bits, NaN propagates through min and
        max, argmin and argmax give the first place, counted along the folded axes.

    Raises
    ------
    ArgumentError, UnknownOperatorError, AxisError, ShapeError, DtypeError, DeviceMismatchError
        Arguments that do not fit.
    EmptyReductionError
        min, max, argmin or argmax of nothing.
    NoVariantError
        No kernel, or not the one asked for, can run the call.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> x = np.arange(6, dtype=np.float32).reshape(2, 3)
    >>> gpuprims.reduce(x, op="max", axis=1, device="reference")
    array([2., 5.], dtype=float32)
    >>> float(gpuprims.reduce(x, x, map=lambda a, b: a * b, device="reference"))
    55.0
    >>> gpuprims.reduce(x, op="std", axis=0, ddof=1, device="reference").round(3)
    array([2.121, 2.121, 2.121], dtype=float32)
    >>> float(gpuprims.reduce(np.float32([1e8, 1, -1e8]), compensated=True, device="reference"))
    1.0
    """
    operands, targets, prepared = prepare_reduce(
        arrays, op, map, axis, keepdims, dtype, out, ddof, compensated, device, variant
    )
    return prepared.run(operands, targets)


def prepare_reduce(
    arrays: tuple[Any, ...],
    op: str | Op = "sum",
    map: Any = None,  # noqa: A002 - as reduce
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    compensated: bool = False,
    device: str | Device | None = None,
    variant: str | None = None,
) -> tuple[Operands, Targets | None, Prepared]:
    """Decide everything about a :func:`reduce` but the memory; takes what it takes."""
    if not arrays:
        raise ArgumentError("reduce: at least one array; got none")
    operator = find_op(op, ddof=ddof, compensated=compensated)
    mapped = _map(map, len(arrays))
    if len(mapped.parameters) != len(arrays):
        raise ArgumentError(f"reduce: one array for each of ({', '.join(mapped.parameters)}); got {len(arrays)}")
    operands = as_operands("reduce", arrays, device)
    targets = None if out is None else operands.targets(out)
    key = (operator, mapped, _hashable(axis), keepdims, None if dtype is None else as_dtype(dtype, "reduce"))
    where = operands.forms, target_forms(operands, targets), operands.fresh_alignment, operands.device
    return operands, targets, _prepare(*key, *where, variant, REGISTRY.generation)


def _hashable(axis: Any) -> Any:
    """Keep ``axis=True`` apart from ``axis=1`` in the cache, and an unhashable axis out of it."""
    if axis is None or type(axis) is int:
        return axis
    given = axis if isinstance(axis, tuple) else (axis,)
    if not all(isinstance(one, int | np.integer) and not isinstance(one, bool) for one in given):
        raise AxisError(f"axis: an int or a tuple of ints; got {axis!r}")
    return tuple(int(one) for one in given)


def _map(function: Any, arity: int) -> Expr:
    return _elements_themselves(arity) if function is None else expression(function, arity)


@cache
def _elements_themselves(arity: int) -> Expr:
    return trace(lambda *elements: elements, arity)


def _axes(axis: int | tuple[int, ...] | None, ndim: int) -> tuple[int, ...]:
    """Return the folded axes, ascending."""
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, tuple) else (axis,)
    if not all(-ndim <= one < ndim for one in given):
        raise AxisError(f"axis: from {-ndim} to {ndim - 1} for {ndim} dimension(s); got {axis!r}")
    axes = tuple(sorted(one % ndim for one in given))
    if len(set(axes)) != len(axes):
        raise AxisError(f"axis: each axis once; got {axis!r}")
    return axes


@lru_cache(maxsize=1024)
def _prepare(
    operator: Op,
    mapped: Expr,
    axis: int | tuple[int, ...] | None,
    keepdims: bool,
    dtype: np.dtype[Any] | None,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | None,
    generation: int,
) -> Prepared:
    shape = broadcast_shapes("reduce", [form.shape for form in forms])
    axes = _axes(axis, len(shape))
    folding = make_folding(operator, mapped, tuple(form.dtype for form in forms), dtype)
    kept = tuple(1 if k in axes else n for k, n in enumerate(shape) if keepdims or k not in axes)
    results = tuple(Result(kept, output) for output in folding.outputs)
    targets = [_with_axes(form, axes, keepdims) for form in result_forms("reduce", results, written, alignment)]
    return _Planner(device, forms, targets, operator, folding, shape, axes).prepare(variant, results)


def _with_axes(form: Form, axes: tuple[int, ...], keepdims: bool) -> Form:
    """Give a result the folded axes, of length 1, so that it lies beside the arrays axis for axis."""
    if keepdims:
        return form
    shape, strides = list(form.shape), list(form.strides)
    for axis in axes:
        shape.insert(axis, 1)
        strides.insert(axis, 0)
    return form._replace(shape=tuple(shape), strides=tuple(strides))


class _Planner:
    """Decides the launch of one call."""

    def __init__(
        self,
        device: Device,
        forms: tuple[Form, ...],
        targets: Sequence[Form],
        operator: Op,
        folding: Folding,
        shape: tuple[int, ...],
        axes: tuple[int, ...],
    ) -> None:
        self.device = device
        self.operator = operator
        self.folding = folding
        self.inputs = len(forms)
        self.outputs = math.prod(n for k, n in enumerate(shape) if k not in axes)
        self.count = math.prod(shape[k] for k in axes)
        self.layout = plan_layout((*forms, *targets), shape, axes)
        self.value_bytes = 4 * value_words(folding.values)
        if self.outputs and not self.count and not operator.of_nothing:
            raise EmptyReductionError(f"reduce with {operator.name}: at least one element to fold; got shape {shape}")

    def prepare(self, variant: str | None, results: tuple[Result, ...]) -> Prepared:
        """Choose the variant, and fix its launch and its scratch memory."""
        chosen = self.device.select("reduce", self._call(), variant)
        places = tuple(range(self.inputs)), tuple(range(len(results)))
        single = len(results) == 1
        if not self.outputs:
            return Prepared(chosen, results, single, None, *places)
        parts = self._parts(chosen)
        kernel = self.device.kernel(chosen, self._definitions(vectors=chosen.vectors))
        groups = min(self._rows(chosen) * parts, MOST_GROUPS)
        launch = kernel.prepare(groups, self.layout.pack(self.count), self.outputs, self.count, parts)
        tickets, scratch = self._scratch(chosen, parts)
        return Prepared(chosen, results, single, launch, *places, tickets, scratch, reads=bool(self.count))

    def _scratch(self, variant: Variant, parts: int) -> tuple[int, int]:
        """Return how many zeroed words, and how many bytes of partial values, a launch needs."""
        if parts == 1:
            return 1, 0  # unshared outputs need none, and there may be millions
        if variant.accumulates:
            return (self.outputs + 1) // 2 * 2 + self.outputs * self.value_bytes // 4, 0
        return self.outputs, self.outputs * parts * self.value_bytes

    def _call(self) -> Call:
        """Describe the call to the variants."""
        expressions = (self.folding.map, self.folding.op, self.folding.finish)
        return Call(
            dtypes=tuple(step.dtype for typed in expressions for step in typed.steps),
            size=self.count,
            outputs=self.outputs,
            commutative=self.operator.commutative,
            value_bytes=self.value_bytes,
            side_by_side=self.layout.side_by_side(self.inputs),
        )

    def _parts(self, variant: Variant) -> int:
        """Return how many groups share one output: enough to fill the device, and each with a tile of its own."""
        tiles = max(-(-self.count // variant.tile), 1)
        rows = self._rows(variant)
        groups = variant.groups(rows * tiles, self.device.capabilities)
        return max(1, min(tiles, groups // rows))

    def _rows(self, variant: Variant) -> int:
        """Return how many groups compute all outputs once."""
        return -(-self.outputs // variant.outputs_per_group)

    def _definitions(self, *, vectors: bool) -> Definitions:
        accesses = self.layout.accesses
        return Definitions(
            inputs=accesses[: self.inputs],
            outputs=accesses[self.inputs :],
            values=self.folding.values,
            map=self.folding.map,
            finish=self.folding.finish,
            op=self.folding.op,
            identity=self.folding.identity,
            commutative=self.operator.commutative,
            # Where order matters, a work-item's run of elements may start anywhere, not at a whole vector.
            vector=self.layout.vector_width() if vectors and self.operator.commutative else 1,
        )
