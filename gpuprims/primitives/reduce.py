"""reduce: fold elements to one value, over all axes or some, with any associative operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuprims.arrays import Operands, as_operands
from gpuprims.definitions import Access, Definitions, value_dtype
from gpuprims.device import Device
from gpuprims.errors import ArgumentError, AxisError, EmptyReductionError
from gpuprims.expressions import Expr, expression, trace
from gpuprims.layout import Layout, View, broadcast_shapes, plan_layout
from gpuprims.operators import Folding, Op, as_dtype, find_op, make_folding
from gpuprims.registry import Call, Variant


def reduce(
    *arrays: Any,
    op: str | Op = "sum",
    map: Any = None,  # noqa: A002 - the fused map, under the primitive's name
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    dtype: Any = None,
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
        ``"sum"``, ``"prod"``, ``"min"``, ``"max"``, ``"any"``, ``"all"``, ``"argmin"``, ``"argmax"``, ``"mean"``, or an
        operator of your own.
    map : callable or str, optional
        A function of elements, as in :func:`gpuprims.map`, applied on the way in and never stored:
        ``reduce(x, y, map="x*y")`` is a dot product that reads each array once.
    axis : int or tuple of int, optional
        The axes to fold; all by default.
    keepdims : bool, default False
        Leave the folded axes in the result, of length 1.
    dtype : dtype, optional
        Convert elements to this, and fold in it.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.

    Returns
    -------
    scalar, array, or tuple of them
        Of the same library as the first array that is not NumPy's; dtypes as NumPy's functions of these names give: sums
        of integers and bools widen to 64 bits, NaN propagates through min and max, argmin and argmax give the first
        place, counted along the folded axes.

    Raises
    ------
    UnknownOperatorError, AxisError, ShapeError, DtypeError, DeviceMismatchError
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
    """
    if not arrays:
        raise ArgumentError("reduce: at least one array; got none")
    operator = find_op(op)
    mapped = _map(map, len(arrays))
    if len(mapped.parameters) != len(arrays):
        raise ArgumentError(f"reduce: one array for each of ({', '.join(mapped.parameters)}); got {len(arrays)}")
    operands = as_operands("reduce", arrays, device)
    shape = broadcast_shapes("reduce", [view.shape for view in operands.views])
    axes = _axes(axis, len(shape))
    folding = make_folding(operator, mapped, tuple(view.dtype for view in operands.views), as_dtype(dtype, "reduce"))
    results = _Reduction(operands, operator, folding, shape, axes).run(variant)
    kept = tuple(1 if k in axes else n for k, n in enumerate(shape)) if keepdims else None
    finished = [_finish(operands, result, kept) for result in results]
    return finished[0] if len(finished) == 1 else tuple(finished)


def _map(function: Any, arity: int) -> Expr:
    if function is None:
        return trace(lambda *elements: elements, arity)
    return expression(function, arity)


def _axes(axis: int | tuple[int, ...] | None, ndim: int) -> tuple[int, ...]:
    """Return the folded axes, ascending."""
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, tuple) else (axis,)
    for one in given:
        if not isinstance(one, int | np.integer) or isinstance(one, bool):
            raise AxisError(f"axis: an int or a tuple of ints; got {axis!r}")
        if not -ndim <= one < ndim:
            raise AxisError(f"axis: from {-ndim} to {ndim - 1} for {ndim} dimension(s); got {axis!r}")
    axes = tuple(sorted(int(one) % ndim for one in given))
    if len(set(axes)) != len(axes):
        raise AxisError(f"axis: each axis once; got {axis!r}")
    return axes


def _finish(operands: Operands, result: Any, kept: tuple[int, ...] | None) -> Any:
    finished = operands.finish(result if kept is None else result.reshape(kept))
    return finished[()] if isinstance(finished, np.ndarray) and finished.ndim == 0 else finished


class _Reduction:
    """The passes of one call: one launch where a group takes an output whole, else two, through partial values."""

    def __init__(
        self, operands: Operands, operator: Op, folding: Folding, shape: tuple[int, ...], axes: Sequence[int]
    ) -> None:
        self.operands = operands
        self.device = operands.device
        self.views = operands.views
        self.operator = operator
        self.folding = folding
        self.shape = shape
        self.axes = axes
        self.kept = tuple(n for k, n in enumerate(shape) if k not in set(axes))
        self.outputs = int(np.prod(self.kept, dtype=np.int64))
        self.count = int(np.prod([shape[k] for k in axes], dtype=np.int64))
        if self.outputs and not self.count and not operator.of_nothing:
            raise EmptyReductionError(f"reduce with {operator.name}: at least one element to fold; got shape {shape}")

    def run(self, name: str | None) -> list[Any]:
        """Return the result arrays, of the device's own class."""
        variant = self.device.select("reduce", self._call(), name)
        results = [self.operands.empty(self.kept, dtype) for dtype in self.folding.outputs]
        if not self.outputs:
            return results
        outputs = [self.operands.view(result) for result in results]
        parts = self._parts(variant) if self.count else 0
        if parts == 1:
            self._fold_elements(variant, outputs, parts)
        else:
            values = self._partial_values(parts)
            if parts:
                self._fold_elements(variant, [values], parts)
            self._fold_partials(variant, values, outputs, parts)
        return results

    def _fold_elements(self, variant: Variant, outputs: Sequence[View], parts: int) -> None:
        """Run the pass that reads the arrays; each output's elements are shared by ``parts`` groups."""
        layout = plan_layout(self.views, self.shape, self.axes)
        inputs = layout.accesses([view.dtype for view in self.views])
        definitions = self._definitions(inputs, first=True, last=parts == 1)
        self._launch(variant, definitions, self.views, outputs, layout, self.count, parts)

    def _fold_partials(self, variant: Variant, values: View, outputs: Sequence[View], parts: int) -> None:
        """Run the pass that folds what the groups left, in order; of no parts it stores the finished identity."""
        rows = Layout((self.outputs,), (parts,), ((parts,),), ((1,),), (values.offset,))
        definitions = self._definitions((Access(values.dtype, (None,), (1,)),), first=False, last=True)
        self._launch(variant, definitions, [values], outputs, rows, parts, 1)

    def _partial_values(self, parts: int) -> View:
        """Allocate one ``value_t`` for each part of each output."""
        nbytes = self.outputs * max(parts, 1) * self._value_dtype.itemsize
        raw = self.device.driver.view(self.device.driver.empty((nbytes,), np.dtype(np.uint8)))
        return raw._replace(dtype=self._value_dtype)

    @property
    def _value_dtype(self) -> np.dtype[Any]:
        return value_dtype(self.folding.values)

    def _call(self) -> Call:
        steps = (*self.folding.map.steps, *self.folding.op.steps, *self.folding.finish.steps)
        return Call(
            dtypes=tuple(step.dtype for step in steps),
            size=self.count,
            outputs=self.outputs,
            commutative=self.operator.commutative,
            value_bytes=self._value_dtype.itemsize,
        )

    def _parts(self, variant: Variant) -> int:
        """Return how many groups share one output: enough to fill the device, and each with a tile of its own."""
        tiles = -(-self.count // variant.tile)
        groups = variant.groups(self.outputs * tiles, self.device.capabilities)
        return max(1, min(tiles, groups // self.outputs))

    def _definitions(self, inputs: tuple[Access, ...], *, first: bool, last: bool) -> Definitions:
        """Return a pass's macros: the first maps elements to values, the last finishes values to results."""
        folding = self.folding
        return Definitions(
            inputs=inputs,
            outputs=folding.outputs if last else (self._value_dtype,),
            values=folding.values,
            map=folding.map if first else None,
            finish=folding.finish if last else None,
            op=folding.op,
            identity=folding.identity,
            commutative=self.operator.commutative,
        )

    def _launch(
        self,
        variant: Variant,
        definitions: Definitions,
        inputs: Sequence[View],
        outputs: Sequence[View],
        layout: Layout,
        n: int,
        parts: int,
    ) -> None:
        groups = min(self.outputs * parts, _MOST_GROUPS)
        kernel = self.device.kernel(variant, definitions)
        kernel(groups, inputs, outputs, layout.pack(self.count), self.outputs, n, parts)


# A grid's first dimension holds 2^31 - 1 groups in CUDA; groups take further tasks in a loop.
_MOST_GROUPS = 2**30
