"""reduce: fold elements to one value, over all axes or some, with any associative operator."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.launch_plan import Prepared, Result, result_forms, target_forms
from gpuprims.core.layout import Form, broadcast_shapes
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Targets
from gpuprims.core.primitive import Primitive
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, EmptyReductionError
from gpuprims.expressions import Expr, expression
from gpuprims.operators import Op, as_ddof, as_dtype, as_map, find_op, make_folding, make_stages
from gpuprims.primitives.axes import as_axis, axes_of
from gpuprims.primitives.fold import FoldPlanner, with_axes
from gpuprims.primitives.reduce.variants import VARIANTS
from gpuprims.primitives.segments import reduce_segments
from gpuprims.primitives.slabs import FoldSlabs

PRIMITIVE = Primitive("reduce", VARIANTS)


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
    segments: Any = None,
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
    segments : array_like of int, optional
        Row offsets as in CSR, of an array of one dimension: the first is 0, the last the number of elements, and none
        is lower than the one before. They may lie on the device, where they are checked too. Each segment between two
        of them is folded by itself, by a kernel for that or one of :func:`gpuprims.scan`, and the result has an element
        for each; places are counted along the whole array.
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
    >>> gpuprims.reduce(np.float32([3, 1, 4, 1, 5]), segments=[0, 2, 2, 5], device="reference")
    array([ 4.,  0., 10.], dtype=float32)
    """
    operands, targets, how = _bind(arrays, op, map, axis, keepdims, dtype, out, ddof, compensated, device, variant)
    if segments is not None:
        op, mapped, axis, keepdims, dtype, ddof, compensated, variant = how
        if axis is not None or keepdims:
            raise ArgumentError(f"reduce: neither axis nor keepdims with segments; got {axis} and {keepdims}")
        operator = find_op(op, ddof=ddof, compensated=compensated)
        return reduce_segments(operands, targets, segments, operator, (mapped, dtype, variant))
    if operands.exceed_room:
        return _in_slabs(operands, targets, *how)
    return _prepared(operands, targets, how).run(operands, targets)


def prepare_reduce(arrays: tuple[Any, ...], **keywords: Any) -> tuple[Operands, Targets | None, Prepared]:
    """Decide everything about a :func:`reduce` but the memory; takes its keywords."""
    operands, targets, how = _bind(arrays, **keywords)
    return operands, targets, _prepared(operands, targets, how)


# Operator and map as they were given, axes, keepdims, dtype, ddof, compensated and variant: how to fold any arrays.
_How = tuple[Any, ...]


def _bind(
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
) -> tuple[Operands, Targets | None, _How]:
    """Find the device of a call, and put its keywords in a form that can be looked up."""
    if not arrays:
        raise ArgumentError("reduce: at least one array; got none")
    if type(op) is not str:
        find_op(op)  # raises for what is no operator, such as a list
    if ddof != 0:
        ddof = as_ddof(ddof)
    mapped = map if map is None or type(map) is str else expression(map, len(arrays))
    operands = as_operands("reduce", arrays, device)
    targets = None if out is None else operands.targets(out)
    chosen = None if dtype is None else as_dtype(dtype, "reduce")
    return (
        operands,
        targets,
        (op, mapped, as_axis(axis), keepdims, chosen, ddof, compensated, asked_by_name("reduce", variant)),
    )


def _prepared(operands: Operands, targets: Targets | None, how: _How) -> Prepared:
    where = operands.forms, target_forms(operands, targets), operands.fresh_alignment, operands.device
    return _prepare(*how, *where, REGISTRY.generation)


def _in_slabs(
    operands: Operands,
    targets: Targets | None,
    op: str | Op,
    mapped: str | Expr | None,
    axis: int | tuple[int, ...] | None,
    keepdims: bool,
    dtype: np.dtype[Any] | None,
    ddof: float,
    compensated: bool,
    variant: str | None,
) -> Any:
    """Fold host arrays that the device has no room for, a slab at a time."""
    operator = find_op(op, ddof=ddof, compensated=compensated)
    shape = broadcast_shapes("reduce", [native.shape for native in operands.natives])
    axes = axes_of(axis, len(shape))
    stages = make_stages(
        operator, as_map("reduce", mapped, len(operands.natives)), tuple(a.dtype for a in operands.natives), dtype
    )
    slabs = FoldSlabs(operands.device, stages, axes, variant, commutative=operator.commutative)
    results = slabs.run([np.broadcast_to(native, shape) for native in operands.natives])
    shaped = results if keepdims else [result.squeeze(axes) for result in results]
    return operands.deliver(shaped, targets, single=len(shaped) == 1)


@keeps_calls(typed=True)  # axis=True is no axis=1
def _prepare(
    op: str | Op,
    mapped: str | Expr | None,
    axis: int | tuple[int, ...] | None,
    keepdims: bool,
    dtype: np.dtype[Any] | None,
    ddof: float,
    compensated: bool,
    variant: str | None,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    generation: int,
) -> Prepared:
    operator = find_op(op, ddof=ddof, compensated=compensated)
    shape = broadcast_shapes("reduce", [form.shape for form in forms])
    axes = axes_of(axis, len(shape))
    folding = make_folding(operator, as_map("reduce", mapped, len(forms)), tuple(form.dtype for form in forms), dtype)
    kept = tuple(1 if k in axes else n for k, n in enumerate(shape) if keepdims or k not in axes)
    results = tuple(Result(kept, output) for output in folding.outputs)
    if math.prod(kept) and not math.prod(shape) and not operator.of_nothing:
        raise EmptyReductionError(f"reduce with {operator.name}: at least one element to fold; got shape {shape}")
    targets = [with_axes(form, axes, keepdims) for form in result_forms("reduce", results, written, alignment)]
    planner = FoldPlanner(device, forms, targets, folding, shape, axes, commutative=operator.commutative)
    return planner.prepare(variant, results)
