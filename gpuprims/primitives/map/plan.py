"""The launch plan of a map of elements, or of short vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.kernel_spec import KernelSpec, unchanged, value_words
from gpuprims.core.keywords import refuse_keywords
from gpuprims.core.launch_plan import LaunchPlan, Sample, find_plan, nothing
from gpuprims.core.layout import Form, Layout, contiguous, plan_layout, turned
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, as_out, check_out, host_results, result_forms, shares_elements
from gpuprims.core.planned import Planned
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.shapes import broadcast_shapes
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, AxisError, ExpressionError, quoted, shortened
from gpuprims.expressions import Expr, TypedExpr, expression, trace, typed
from gpuprims.primitives.axes import in_fortran_order
from gpuprims.primitives.by_rows import by_rows
from gpuprims.primitives.map.blocks import Blocks
from gpuprims.primitives.map.lanes import split_lanes
from gpuprims.primitives.map.rows import joined
from gpuprims.primitives.map.spec import MapSpec
from gpuprims.primitives.map.tiles import MapTraits, MapVariant, Tiling
from gpuprims.primitives.near import groups_near
from gpuprims.primitives.pipeline import Slab, boxes, compute_slabs, most_elements, whole_box

Dtypes = tuple[np.dtype[Any], ...]
# OpenCL's widest vectors have as many; each component is an argument of the kernel's function.
_MOST_LANES = 16


class MapRequest(NamedTuple):
    """The function to apply, and the axis of the vectors that it takes."""

    expr: Expr
    vector_axis: int | None = None
    # New results lie in memory in C order whatever the arrays' order, for kernels that take no strides.
    in_c_order: bool = False
    # An array of out= has the elements of an input.
    in_place: bool = False

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
        indexed = trace(lambda *given: self.expr(*given[:-1]), len(self.expr.parameters) + 1)
        arguments = (*dtypes, np.dtype(np.int64))
        function = typed(indexed, arguments)
        if self.result_axis is None:
            return function
        return typed(indexed, arguments, [np.result_type(*function.dtypes)] * len(function.dtypes))

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
    device: str | Device | None = None,
    variant: str | Variant | None = None,
    **named: Any,
) -> tuple[Operands, MapRequest, Out | None, str | Variant | None]:
    """Trace the function, the first of ``arrays``, and find the device of a call; takes the keywords of ``map``."""
    fn, arrays = arrays[0], arrays[1:]
    if not arrays and not named:
        raise ArgumentError("map: at least one array; got none")
    if vector_axis is None:
        expr = expression(fn, len(arrays) + len(named))
        operands = as_operands("map", _bound(expr, arrays, named), device)
    else:
        if named:
            raise ArgumentError(f"map: positional arrays with vector_axis; got the keyword(s) {', '.join(named)}")
        operands = as_operands("map", arrays, device)
        expr = _of_vectors(fn, [_lanes(native.shape, vector_axis) for native in operands.natives])
    asked = None if variant is None else asked_by_name("map", variant)
    result = as_out(operands, out, in_place=True)
    return operands, MapRequest(expr, vector_axis, in_place=shares_elements(operands, result)), result, asked


def plan_map(arrays: tuple[Any, ...], keywords: dict[str, Any]) -> Planned:
    """Describe a call for :func:`gpuprims.plan`. Kernels for separate memory must not write in place."""
    operands, request, out, variant = bind(arrays, **keywords)
    plan = find_plan(plan_call, operands, request, out, variant)
    return Planned("map", operands, out, plan, request.in_place)


def _bound(expr: Expr, arrays: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """Put positional and named arrays in the order of the function's parameters."""
    if not named and len(arrays) == len(expr.parameters):
        return arrays
    left = [name for name in expr.parameters if name not in named]
    unknown = [name for name in named if name not in expr.parameters]
    if unknown:
        known = (*("out", "vector_axis", "device", "variant"), *expr.parameters)
        refuse_keywords("map", known, dict.fromkeys(unknown))
    if len(left) != len(arrays):
        hint = ""
        if 0 < len(arrays) < len(left):
            hint = f" (pass the others too, such as {left[len(arrays)]}=2.0)"
        raise ArgumentError(f"map: one array for each of ({shortened(', '.join(left))}); got {len(arrays)}{hint}")
    bound = dict(zip(left, arrays, strict=True)) | named
    return tuple(bound[name] for name in expr.parameters)


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
    """Trace a function of vectors as one of all their components."""
    if not callable(fn):
        raise ExpressionError(f"map: a Python function with vector_axis, to index its vectors; got {quoted(fn)}")

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
    function = request.typed(arguments)
    results = request.results(function.dtypes, shape, alignment)
    if not request.in_c_order and request.vector_axis is None and in_fortran_order(forms, shape):
        results = tuple([turned(result) for result in results])
    outputs, places = split_lanes(result_forms("map", results, written), request.result_axis)
    size = math.prod(shape)

    read, operands = len(inputs), (*inputs, *outputs)
    layout = plan_layout(operands, shape, range(len(shape)), reduced_by=range(read, len(operands)))
    tiling, blocks = Tiling.of(layout, read), Blocks.of(layout, read)

    def compiling(chosen: Variant) -> Launch:
        if not size:
            return nothing
        if MapVariant.of(chosen).tiles and tiling is not None:
            return tiling.prepare(device, chosen, spec_of(tiling.layout, tiling.vector, tiling.across))
        if MapVariant.of(chosen).blocks and blocks is not None:
            return blocks.prepare(device, chosen, spec_of(blocks.layout, 1), function)
        placed = by_rows(layout) if chosen.by_rows else layout
        spec = spec_of(placed, placed.vector_width() if chosen.vectors else 1)
        fitted = MapVariant.of(chosen).fitted(spec)
        if chosen.by_rows:
            fitted = joined(fitted, placed, function, device.capabilities)
        groups = fitted.groups(-(-size // fitted.tile), device.capabilities)
        if chosen.by_rows:
            groups = groups_near(groups, sum([form.item for form in operands]) * size, function)
        return device.kernel(fitted, spec).prepare(groups, placed.pack(1), size)

    def spec_of(layout: Layout, vector: int, across: int = 1) -> KernelSpec:
        accesses = layout.accesses
        return MapSpec(
            inputs=accesses[:read],
            outputs=accesses[read:],
            values=function.dtypes,
            map=function,
            finish=unchanged(function.dtypes),
            vector=vector,
            vector_across=across,
            aliases=request.in_place,
        )

    traits = MapTraits(
        arguments + function.computed_in,
        1,
        size,
        value_bytes=4 * value_words(function.dtypes),
        tile_bytes=0 if tiling is None else tiling.tile_bytes,
        in_blocks=blocks is not None,
    )
    return LaunchPlan(
        device, "map", traits, results, compiling, asked=variant, inputs=sources, outputs=places, single=request.single
    )


def sample(call: Sample) -> LaunchPlan:
    """Return the plan of a map of so many elements."""
    forms = (contiguous(call.dtype, (call.size,), 16),)
    return plan_call(MapRequest(expression("x")), forms, None, 16, call.device, None, 0)


def run_in_slabs(request: MapRequest, operands: Operands, out: Out | None, variant: str | Variant | None) -> Any:
    """Map large host arrays, a slab at a time."""
    arrays, vector_axis = operands.natives, request.vector_axis
    if vector_axis is not None:  # the vectors last, so that slabs are cut along the axes before
        arrays = tuple(np.moveaxis(a, vector_axis, -1) if a.shape else a for a in arrays)
        request = request._replace(vector_axis=-1)
    lanes = [a.shape[-1:] if vector_axis is not None and a.shape else () for a in arrays]
    shape = broadcast_shapes("map", [a.shape[: a.ndim - len(own)] for a, own in zip(arrays, lanes, strict=True)])
    whole = [np.broadcast_to(a, (*shape, *own)) for a, own in zip(arrays, lanes, strict=True)]
    arguments = tuple(a.dtype for a, own in zip(arrays, lanes, strict=True) for _ in range(*own or (1,)))
    forms = request.results(request.typed(arguments).dtypes, shape)
    results = [np.empty(form.shape, form.dtype) for form in forms]
    axis = vector_axis if request.result_axis is not None else None
    wanted = [_move(result, -1, axis) for result in results]
    given = None if out is None or operands.in_place else out
    if given is not None:
        check_out("map", wanted, given.natives)
        results = [_move(array, axis, -1) for array in given.natives]

    def slabs() -> Iterator[Slab]:
        vectors = [(a, math.prod(a.shape[len(shape) :])) for a in (*whole, *results)]
        most = most_elements(operands.device, *(a.dtype for a, lanes in vectors for _ in range(lanes)))
        for box in boxes(whole_box(shape), range(len(shape)), most):
            yield Slab([a[box] for a in whole], [result[box] for result in results])

    def compute(slab: Slab, there: Operands, memory: Callable[[], Out]) -> Sequence[Any]:
        places = memory()
        find_plan(plan_call, there, request, places, variant).run(there, places)
        return places.natives

    compute_slabs("map", operands.device, slabs(), compute, new=out is None)
    return host_results(operands, wanted, out, single=request.single) if given is None else given.given


def _move(array: np.ndarray, axis: int | None, to: int | None) -> np.ndarray:
    return array if axis is None or to is None else np.moveaxis(array, axis, to)
