"""The launch plan of a map of elements, or of short vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.determinism import asks_for_device
from gpuprims.core.device import Device
from gpuprims.core.kernel_spec import value_words
from gpuprims.core.keywords import refuse_keywords
from gpuprims.core.launch_plan import LaunchPlan, Sample, find_plan
from gpuprims.core.layout import Form, contiguous, plan_layout, turned
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, as_out, result_forms, shares_elements
from gpuprims.core.planned import Planned
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.shapes import broadcast_shapes
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, AxisError, did_you_mean, quoted, shortened
from gpuprims.expressions import (
    INDEX,
    Expr,
    TypedExpr,
    along_axes,
    as_portable,
    expression,
    in_vectors,
    parse_vectors,
    trace,
    typed,
    with_last,
)  # fmt: skip
from gpuprims.expressions.exact import computes_integers
from gpuprims.primitives.axes import in_fortran_order
from gpuprims.primitives.map.blocks import Blocks
from gpuprims.primitives.map.by_numpy import maps_by_numpy
from gpuprims.primitives.map.lanes import split_lanes
from gpuprims.primitives.map.launch import MapWork
from gpuprims.primitives.map.shifts import Shifting
from gpuprims.primitives.map.tiles import MapTraits, Tiling

Dtypes = tuple[np.dtype[Any], ...]
# OpenCL's widest vectors have as many; each component is an argument of the kernel's function.
_MOST_LANES = 16


class MapRequest(NamedTuple):
    """The function to apply, the axis of the vectors that it takes, and how many indices follow its elements."""

    expr: Expr
    vector_axis: int | None = None
    # New results lie in memory in C order whatever the arrays' order, for kernels that take no strides.
    in_c_order: bool = False
    # An array of out= has the elements of an input.
    in_place: bool = False
    # None without an index, 0 with the index in C order, else the number of axes.
    indices: int | None = None
    # The same bits on each device: portable functions.
    portable: bool = False

    @property
    def result_axis(self) -> int | None:
        """The axis of the vectors that the function returns; None if it returns scalars."""
        return None if self.expr.single else self.vector_axis

    @property
    def single(self) -> bool:
        """True if the call has one result, not a tuple."""
        return self.expr.single or self.vector_axis is not None

    def typed(self, dtypes: Dtypes) -> TypedExpr:
        """Type the function; kernels call it with an index too. Components of a vector have one dtype."""
        indexed = self.expr
        if self.indices is None:
            indexed = trace(lambda *given: self.expr(*given[:-1]), len(self.expr.parameters) + 1)
        arguments = (*dtypes, *[INDEX] * max(self.indices or 0, 1))
        function = typed(indexed, arguments)
        if self.result_axis is not None:
            function = typed(indexed, arguments, [np.result_type(*function.dtypes)] * len(function.dtypes))
        return as_portable(function) if self.portable else function

    def results(self, dtypes: Dtypes, shape: tuple[int, ...], alignment: int = 1) -> tuple[Form, ...]:
        """Return the results: one for each dtype, or all of them side by side along the vector axis."""
        if self.result_axis is None:
            return tuple(contiguous(dtype, shape, alignment) for dtype in dtypes)
        place = self.result_axis % (len(shape) + 1)
        return (contiguous(dtypes[0], (*shape[:place], len(dtypes), *shape[place:]), alignment),)


def bind(
    arrays: tuple[Any, ...],
    out: Any = None,
    vector_axis: int | None = None,
    index: str | tuple[str, ...] | None = None,
    device: str | Device | None = None,
    variant: str | Variant | None = None,
    **named: Any,
) -> tuple[Operands, MapRequest, Out | None, str | Variant | None]:
    """Trace the function, the first of ``arrays``, and find the device of a call; takes the keywords of ``map``."""
    fn, arrays = arrays[0], arrays[1:]
    if not arrays and not named:
        if not isinstance(fn, str | Expr | Callable):
            expression(fn, 1)  # raises: an array without a function
        raise ArgumentError("map: at least one array; got none")
    indices = None
    if vector_axis is None:
        names = _names(index)
        expr = expression(fn, len(arrays) + len(named) + len(names))
        if names:
            expr, indices = _indexed(expr, names), 0 if isinstance(index, str) else len(names)
        operands = as_operands("map", _bound(expr, arrays, named, len(names)), device, stored=True)
    else:
        if index is not None:
            raise ArgumentError(f"map: index= or vector_axis=; got both, {quoted(index)} and {vector_axis}")
        if named:
            raise ArgumentError(f"map: positional arrays with vector_axis; got the keyword(s) {', '.join(named)}")
        operands = as_operands("map", arrays, device, stored=True)
        expr = _of_vectors(fn, [_lanes(native.shape, vector_axis) for native in operands.natives])
    asked = None if variant is None else asked_by_name("map", variant)
    result = as_out(operands, out, in_place=True)
    in_place = shares_elements(operands, result)
    request = MapRequest(expr, vector_axis, in_place=in_place, indices=indices, portable=asks_for_device())
    return operands, request, result, asked


def plan_map(arrays: tuple[Any, ...], keywords: dict[str, Any]) -> Planned:
    """Describe a call for :func:`gpuprims.plan`. Kernels for separate memory must not write in place."""
    operands, request, out, variant = bind(arrays, **keywords)
    plan = find_plan(plan_call, operands, request, out, variant)
    return Planned("map", operands, out, plan, request.in_place)


def _names(index: object) -> tuple[str, ...]:
    """Return the names of the parameters that are indices."""
    names = (index,) if isinstance(index, str) else () if index is None else index
    if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names) or index == ():
        rule = "the name of a parameter of the function, or a tuple of one for each axis"
        raise ArgumentError(f"map: index= {rule}; got {quoted(index)}")
    return names


def _indexed(expr: Expr, names: tuple[str, ...]) -> Expr:
    """Return a function with its indices after its elements."""
    if wrong := [name for name in names if name not in expr.parameters or names.count(name) > 1]:
        hint = did_you_mean(wrong[0], [name for name in expr.parameters if name not in names])
        rule = f"parameters of the function, each once, among {shortened(', '.join(expr.parameters))}"
        raise ArgumentError(f"map: index= {rule}; got {quoted(wrong[0])}{hint}")
    return with_last(expr, names)


def _bound(expr: Expr, arrays: tuple[Any, ...], named: dict[str, Any], indices: int) -> tuple[Any, ...]:
    """Put positional and named arrays in the order of the function's parameters; the last parameters are indices."""
    parameters = expr.parameters[: len(expr.parameters) - indices]
    if not named and len(arrays) == len(parameters):
        return arrays
    left = [name for name in parameters if name not in named]
    unknown = [name for name in named if name not in parameters]
    if unknown:
        known = (*("out", "vector_axis", "index", "device", "variant", "determinism"), *parameters)
        refuse_keywords("map", known, dict.fromkeys(unknown))
    if len(left) != len(arrays):
        hint = ""
        if not left and indices:
            hint = " (index= names a parameter of its own beside those of the arrays, such as i in 'x + i')"
        elif 0 < len(arrays) < len(left):
            hint = f" (pass the others too, such as {left[len(arrays)]}=2.0)"
        none = "one array for each parameter of the function, which has none" + " left" * bool(expr.parameters)
        rule = f"one array for each of ({shortened(', '.join(left))})" if left else none
        raise ArgumentError(f"map: {rule}; got {len(arrays)}{hint}")
    bound = dict(zip(left, arrays, strict=True)) | named
    return tuple(bound[name] for name in parameters)


def _lanes(shape: tuple[int, ...], axis: int) -> int:
    """Return the number of components of an array's vectors; 0 for a scalar, which goes with every vector."""
    if not shape:
        return 0
    if type(axis) is not int or not -len(shape) <= axis < len(shape):
        raise AxisError(
            f"map: vector_axis from {-len(shape)} to {len(shape) - 1} for shape {shape}; got {quoted(axis)}"
        )
    if not 1 <= shape[axis] <= _MOST_LANES:
        raise ArgumentError(f"map: from 1 to {_MOST_LANES} elements along vector_axis; got {shape[axis]} in {shape}")
    return shape[axis]


def _of_vectors(fn: Callable[..., Any], lanes: Sequence[int]) -> Expr:
    """Trace or parse a function of vectors as one of all their components."""
    if isinstance(fn, str):
        return parse_vectors(fn, tuple(lanes))

    def flat(*components: Any) -> Any:
        left = iter(components)
        return fn(*(tuple(next(left) for _ in range(count)) if count else next(left) for count in lanes))

    return trace(flat, sum(max(count, 1) for count in lanes))


@keeps_calls()
def plan_call(
    request: MapRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything about a map but its memory."""
    inputs, sources = split_lanes(forms, request.vector_axis)
    shape = broadcast_shapes("map", [form.shape for form in inputs])
    arguments = tuple(form.dtype for form in inputs for _ in range(form.lanes))
    function = _function(request, arguments, shape)
    if device.capabilities.calls_by_element:
        function = in_vectors(function)  # rows: pocl-functions
    results = request.results(function.dtypes, shape, alignment)
    if not request.in_c_order and request.vector_axis is None and in_fortran_order(forms, shape):
        results = tuple([turned(result) for result in results])
    outputs, places = split_lanes(result_forms("map", results, written), request.result_axis)

    read, operands, size = len(inputs), (*inputs, *outputs), math.prod(shape)
    indexed, by = request.indices is not None, range(read, len(operands))
    layout = plan_layout(operands, shape, range(len(shape)), reduced_by=by, indexed=indexed)
    # These put axes in other orders, in which an element's index is not found.
    cuts: tuple[Tiling | None, Blocks | None, Shifting | None] = (None, None, None)
    if not indexed:
        cuts = Tiling.of(layout, read), Blocks.of(layout, read), Shifting.of(layout, read)
    traits = _traits(request, function, arguments, size, *cuts)
    work = MapWork(device, function, layout, read, size, *cuts, indexed, request.in_place)
    plan = LaunchPlan(
        device,
        "map",
        traits,
        results,
        work.launch,
        asked=variant,
        inputs=sources,
        outputs=places,
        single=request.single,
    )
    if request.indices is None and request.vector_axis is None:
        plan.by_numpy = maps_by_numpy(device, function, forms, results)
    return plan


def _traits(
    request: MapRequest,
    function: TypedExpr,
    arguments: Dtypes,
    size: int,
    tiling: Tiling | None,
    blocks: Blocks | None,
    shifting: Shifting | None,
) -> MapTraits:
    return MapTraits(
        arguments + function.computed_in,
        1,
        size,
        value_bytes=4 * value_words(function.dtypes),
        tile_bytes=0 if tiling is None else tiling.tile_bytes,
        in_blocks=blocks is not None,
        shifted=shifting is not None,
        rounds=False,  # each result is computed from one element of each array
        portable=request.portable or computes_integers(function),
    )


def _function(request: MapRequest, dtypes: Dtypes, shape: tuple[int, ...]) -> TypedExpr:
    """Return the typed function, which finds indices along axes from that in C order."""
    function = request.typed(dtypes)
    if not request.indices:
        return function
    if request.indices != len(shape):
        rule = f"index= a name for each of {len(shape)} dimension(s), or one name without a tuple"
        raise ArgumentError(f"map: {rule}; got {request.indices} in a tuple")
    return along_axes(function, shape)


def sample(call: Sample) -> LaunchPlan:
    """Return the plan of a map of ``call.size`` elements."""
    forms = (contiguous(call.dtype, (call.size,), 16),)
    request = MapRequest(expression("x"), portable=asks_for_device())
    return plan_call(request, forms, None, 16, call.device, None, 0)
