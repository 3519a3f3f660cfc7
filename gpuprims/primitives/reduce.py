"""reduce: fold elements to one value, over all axes or some, with any associative operator."""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from gpuprims.arrays import Operands, as_operands
from gpuprims.definitions import Definitions, value_words
from gpuprims.device import Device
from gpuprims.driver import Launch
from gpuprims.errors import ArgumentError, AxisError, EmptyReductionError
from gpuprims.expressions import Expr, expression, trace
from gpuprims.layout import Form, broadcast_shapes, plan_layout
from gpuprims.operators import Folding, Op, as_dtype, find_op, make_folding
from gpuprims.registry import MOST_GROUPS, REGISTRY, Call, Variant


def reduce(
    *arrays: Any,
    op: str | Op = "sum",
    map: Any = None,  # noqa: A002 - the fused map, under the primitive's name
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    dtype: Any = None,
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
        Of the same library as the first array that is not NumPy's; dtypes as NumPy's functions of these names give:
        sums of integers and bools widen to 64 bits, NaN propagates through min and max, argmin and argmax give the
        first place, counted along the folded axes.

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
    if not arrays:
        raise ArgumentError("reduce: at least one array; got none")
    operator = find_op(op, ddof=ddof, compensated=compensated)
    mapped = _map(map, len(arrays))
    if len(mapped.parameters) != len(arrays):
        raise ArgumentError(f"reduce: one array for each of ({', '.join(mapped.parameters)}); got {len(arrays)}")
    operands = as_operands("reduce", arrays, device)
    key = (operator, mapped, operands.forms, _hashable(axis), keepdims, as_dtype(dtype, "reduce"))
    results = _plan(*key, operands.device, variant, REGISTRY.generation).run(operands)
    return results[0] if len(results) == 1 else tuple(results)


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


class _Plan(NamedTuple):
    """What is decided about a call before its memory is known.

    ``scratch`` bytes hold partial values, where several groups share one of the ``tickets`` outputs; without elements
    to read there is no memory of inputs, and the kernel folds nothing.
    """

    shape: tuple[int, ...]
    dtypes: tuple[np.dtype[Any], ...]
    launch: Launch | None
    scratch: int
    tickets: int
    reads: bool

    def run(self, operands: Operands) -> list[Any]:
        """Launch on the memory of a call, and return its results as the caller wants them."""
        results = [operands.empty(self.shape, dtype) for dtype in self.dtypes]
        if self.launch is not None:
            driver = operands.device.driver
            tickets = driver.tickets(self.tickets)
            inputs = [view.memory for view in operands.views] if self.reads else [tickets] * len(operands.views)
            outputs = [operands.view(result).memory for result in results]
            partials = driver.view(driver.empty((self.scratch,), _BYTES)).memory if self.scratch else tickets
            self.launch([*inputs, *outputs, partials, tickets])
        finished = [operands.finish(result) for result in results]
        return [each[()] if isinstance(each, np.ndarray) and each.ndim == 0 else each for each in finished]


_BYTES = np.dtype(np.uint8)


@lru_cache(maxsize=1024)
def _plan(
    operator: Op,
    mapped: Expr,
    forms: tuple[Form, ...],
    axis: int | tuple[int, ...] | None,
    keepdims: bool,
    dtype: np.dtype[Any] | None,
    device: Device,
    variant: str | None,
    generation: int,
) -> _Plan:
    shape = broadcast_shapes("reduce", [form.shape for form in forms])
    axes = _axes(axis, len(shape))
    folding = make_folding(operator, mapped, tuple(form.dtype for form in forms), dtype)
    planner = _Planner(device, forms, operator, folding, shape, axes)
    chosen = device.select("reduce", planner.call(), variant)
    kept = tuple(1 if k in axes else n for k, n in enumerate(shape) if keepdims or k not in axes)
    if not planner.outputs:
        return _Plan(kept, folding.outputs, None, 0, 0, reads=False)
    launch, scratch = planner.prepare(chosen)
    tickets = planner.outputs if scratch else 1  # unshared outputs need none, and there may be millions
    return _Plan(kept, folding.outputs, launch, scratch, tickets, reads=bool(planner.count))


class _Planner:
    """Decides the launch of one call."""

    def __init__(
        self,
        device: Device,
        forms: tuple[Form, ...],
        operator: Op,
        folding: Folding,
        shape: tuple[int, ...],
        axes: tuple[int, ...],
    ) -> None:
        self.device = device
        self.forms = forms
        self.operator = operator
        self.folding = folding
        self.shape = shape
        self.axes = axes
        self.outputs = math.prod(n for k, n in enumerate(shape) if k not in axes)
        self.count = math.prod(shape[k] for k in axes)
        self.layout = plan_layout(forms, shape, axes)
        self.value_bytes = 4 * value_words(folding.values)
        if self.outputs and not self.count and not operator.of_nothing:
            raise EmptyReductionError(f"reduce with {operator.name}: at least one element to fold; got shape {shape}")

    def call(self) -> Call:
        """Describe the call to the variants."""
        expressions = (self.folding.map, self.folding.op, self.folding.finish)
        return Call(
            dtypes=tuple(step.dtype for typed in expressions for step in typed.steps),
            size=self.count,
            outputs=self.outputs,
            commutative=self.operator.commutative,
            value_bytes=self.value_bytes,
            side_by_side=self.layout.side_by_side(),
        )

    def prepare(self, variant: Variant) -> tuple[Launch, int]:
        """Return the launch, and how many bytes of partial values it needs."""
        parts = self._parts(variant)
        definitions = self._definitions(vectors=variant.vectors)
        groups = min(self._rows(variant) * parts, MOST_GROUPS)
        kernel = self.device.kernel(variant, definitions)
        launch = kernel.prepare(groups, self.layout.pack(self.count), self.outputs, self.count, parts)
        return launch, self.outputs * parts * self.value_bytes if parts > 1 else 0

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
        # Where order matters, a work-item's run of elements may start anywhere, not at a whole vector.
        vector = self.layout.vector_width(self.forms, ()) if vectors and self.operator.commutative else 1
        return Definitions(
            inputs=self.layout.accesses([form.dtype for form in self.forms]),
            outputs=self.folding.outputs,
            values=self.folding.values,
            map=self.folding.map,
            finish=self.folding.finish,
            op=self.folding.op,
            identity=self.folding.identity,
            commutative=self.operator.commutative,
            vector=vector,
        )
