"""scan: the fold of all elements up to each one, with any associative operator."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.launch_plan import Prepared, Result, result_forms, target_forms
from gpuprims.core.layout import Form, broadcast_shapes, contiguous
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Targets
from gpuprims.core.primitive import Primitive
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, AxisError, quoted
from gpuprims.expressions import Expr, expression
from gpuprims.operators import Op, as_dtype, as_map, find_op, make_folding
from gpuprims.primitives.prefix import ScanPlanner
from gpuprims.primitives.scan.variants import VARIANTS
from gpuprims.primitives.segments import scan_segments

PRIMITIVE = Primitive("scan", VARIANTS)


def scan(
    *arrays: Any,
    op: str | Op = "sum",
    map: Any = None,  # noqa: A002 - the fused map, under the primitive's name
    inclusive: bool = True,
    axis: int | None = None,
    dtype: Any = None,
    out: Any = None,
    segments: Any = None,
    device: str | Device | None = None,
    variant: str | None = None,
) -> Any:
    """Fold, for each element, all elements up to it.

    Parameters
    ----------
    *arrays : array_like
        What to fold: one array, or one for each component of the operator; with ``map``, its arguments, which
        broadcast together.
    op : str or Op
        ``"sum"``, ``"prod"``, ``"min"``, ``"max"`` or any other that :func:`gpuprims.reduce` knows by name, or an
        operator of your own.
    map : callable or str, optional
        A function of elements, as in :func:`gpuprims.map`, applied on the way in and never stored.
    inclusive : bool, default True
        Whether a result counts the element at its own place. Without, it folds those before, and the first result is
        the operator's identity: 0 for a sum, the lowest value of the dtype for a max.
    axis : int, optional
        The axis to scan along; by default the elements in C order, and the result is flat.
    dtype : dtype, optional
        Convert elements to this, and fold in it.
    out : array or tuple of arrays, optional
        Where to write, one for each result: of its shape and dtype, in any layout, on the arrays' device, and apart
        from them in memory or one of them. By default new arrays.
    segments : array_like of int, optional
        Row offsets as in CSR, of an array of one dimension: the first is 0, the last the number of elements, and none
        is lower than the one before. They may lie on the device, where they are checked too. Each segment between two
        of them is scanned by itself.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.

    Returns
    -------
    array or tuple of arrays
        ``out``, or new ones of the same library as the first array that is not NumPy's, C-contiguous, with the dtypes
        that :func:`gpuprims.reduce` gives: sums of integers and bools widen to 64 bits.

    Raises
    ------
    ArgumentError, UnknownOperatorError, AxisError, ShapeError, DtypeError, DeviceMismatchError
        Arguments that do not fit.
    NoVariantError
        No kernel, or not the one asked for, can run the call.

    Notes
    -----
    Sums of floats are put in brackets by tiles of elements, so that they round less than one running sum does, and the
    same from run to run on one device; a variant that cannot promise that says so in its ``repeats``.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> x = np.float32([3, 1, 4, 1, 5])
    >>> gpuprims.scan(x, device="reference")
    array([ 3.,  4.,  8.,  9., 14.], dtype=float32)
    >>> gpuprims.scan(x, inclusive=False, device="reference")
    array([0., 3., 4., 8., 9.], dtype=float32)
    >>> gpuprims.scan(x, op="max", device="reference")
    array([3., 3., 4., 4., 5.], dtype=float32)
    >>> gpuprims.scan(x.reshape(1, 5), map="x > 1", axis=1, device="reference")
    array([[1, 1, 2, 2, 3]])
    >>> gpuprims.scan(x, segments=[0, 2, 2, 5], device="reference")
    array([ 3.,  4.,  4.,  5., 10.], dtype=float32)
    """
    operands, targets, how = _bind(arrays, op, map, inclusive, axis, dtype, out, device, variant)
    if segments is not None:
        if axis is not None:
            raise ArgumentError(f"scan: no axis with segments, which are of one dimension; got axis={axis}")
        op, mapped, inclusive, _, dtype, variant = how
        return scan_segments(operands, targets, segments, (_operator(op, inclusive), mapped, inclusive, dtype, variant))
    return _prepared(operands, targets, how).run(operands, targets)


def cumsum(
    x: Any,
    axis: int | None = None,
    dtype: Any = None,
    out: Any = None,
    *,
    device: str | Device | None = None,
    variant: str | None = None,
) -> Any:
    """Return the cumulative sum, as :func:`numpy.cumsum`: :func:`scan` with ``op="sum"``.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> gpuprims.cumsum(np.int8([100, 100, 100]), device="reference")
    array([100, 200, 300])
    """
    return scan(x, op="sum", axis=axis, dtype=dtype, out=out, device=device, variant=variant)


def cumprod(
    x: Any,
    axis: int | None = None,
    dtype: Any = None,
    out: Any = None,
    *,
    device: str | Device | None = None,
    variant: str | None = None,
) -> Any:
    """Return the cumulative product, as :func:`numpy.cumprod`: :func:`scan` with ``op="prod"``.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> gpuprims.cumprod(np.arange(1, 6), device="reference")
    array([  1,   2,   6,  24, 120])
    """
    return scan(x, op="prod", axis=axis, dtype=dtype, out=out, device=device, variant=variant)


def prepare_scan(arrays: tuple[Any, ...], **keywords: Any) -> tuple[Operands, Targets | None, Prepared]:
    """Decide everything about a :func:`scan` but the memory; takes its keywords."""
    operands, targets, how = _bind(arrays, **keywords)
    return operands, targets, _prepared(operands, targets, how)


# Operator and map as they were given, inclusive, axis, dtype and variant: how to scan any arrays.
_How = tuple[Any, ...]


def _bind(
    arrays: tuple[Any, ...],
    op: str | Op = "sum",
    map: Any = None,  # noqa: A002 - as scan
    inclusive: bool = True,
    axis: int | None = None,
    dtype: Any = None,
    out: Any = None,
    device: str | Device | None = None,
    variant: str | None = None,
) -> tuple[Operands, Targets | None, _How]:
    """Find the device of a call, and put its keywords in a form that can be looked up."""
    if not arrays:
        raise ArgumentError("scan: at least one array; got none")
    if type(op) is not str:
        find_op(op)  # raises for what is no operator, such as a list
    mapped = map if map is None or type(map) is str else expression(map, len(arrays))
    operands = as_operands("scan", arrays, device)
    targets = None if out is None else operands.targets(out, in_place=True)
    chosen = None if dtype is None else as_dtype(dtype, "scan")
    return operands, targets, (op, mapped, bool(inclusive), _as_axis(axis), chosen, asked_by_name("scan", variant))


def _operator(op: str | Op, inclusive: bool) -> Op:
    operator = find_op(op)
    if not inclusive and not operator.of_nothing and operator.finish:
        raise ArgumentError(f"scan with {operator.name}: inclusive=True, for nothing has no place; got inclusive=False")
    return operator


def _as_axis(axis: Any) -> int | None:
    if axis is None or type(axis) is int:
        return axis
    if not isinstance(axis, np.integer):
        raise AxisError(f"axis: an int; got {quoted(axis)}")
    return int(axis)


def _prepared(operands: Operands, targets: Targets | None, how: _How) -> Prepared:
    where = operands.forms, target_forms(operands, targets), operands.fresh_alignment, operands.device
    return _prepare(*how, *where, REGISTRY.generation)


@keeps_calls()
def _prepare(
    op: str | Op,
    mapped: str | Expr | None,
    inclusive: bool,
    axis: int | None,
    dtype: np.dtype[Any] | None,
    variant: str | None,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    generation: int,
) -> Prepared:
    operator = _operator(op, inclusive)
    shape = broadcast_shapes("scan", [form.shape for form in forms]) or (1,)
    if axis is not None and not -len(shape) <= axis < len(shape):
        raise AxisError(f"axis: from {-len(shape)} to {len(shape) - 1} for {len(shape)} dimension(s); got {axis}")
    axes = tuple(range(len(shape))) if axis is None else (axis % len(shape),)
    function = as_map("scan", mapped, len(forms))
    folding = make_folding(operator, function, tuple(form.dtype for form in forms), dtype, "scan")
    flat = (math.prod(shape),)
    results = tuple(Result(flat if axis is None else shape, output) for output in folding.outputs)
    targets = result_forms("scan", results, written, alignment)
    if axis is None:
        targets = tuple(_as_shaped(form, shape) for form in targets)
    planner = ScanPlanner(
        device, forms, targets, folding, shape, axes, commutative=operator.commutative, inclusive=inclusive
    )
    return planner.prepare(variant, results)


def _as_shaped(flat: Form, shape: tuple[int, ...]) -> Form:
    """See a flat array as one of a shape, in C order."""
    (stride,) = flat.strides
    steps = contiguous(np.dtype(np.int8), shape, 1).strides
    return flat._replace(shape=shape, strides=tuple(step * stride for step in steps))
