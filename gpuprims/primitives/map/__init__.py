"""map: a function of each element, of one array or of several that broadcast together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.kernel_spec import KernelSpec, value_words
from gpuprims.core.launch_plan import Prepared, Result, result_forms, target_forms
from gpuprims.core.layout import Form, as_lanes, broadcast_shapes, plan_layout
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Targets
from gpuprims.core.primitive import Primitive
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, AxisError, ExpressionError, quoted, shortened
from gpuprims.expressions import Expr, TypedExpr, expression, trace, typed
from gpuprims.primitives.map.variants import VARIANTS
from gpuprims.primitives.slabs import map_in_slabs, slab_bytes

PRIMITIVE = Primitive("map", VARIANTS)

Dtypes = tuple[np.dtype[Any], ...]
# As OpenCL's widest vectors; each component is an argument of the kernel's function.
_MOST_LANES = 16


def map(  # noqa: A001 - the primitive's name in every library of its kind
    fn: Any,
    /,
    *arrays: Any,
    out: Any = None,
    vector_axis: int | None = None,
    device: str | Device | None = None,
    variant: str | None = None,
    **named: Any,
) -> Any:
    """Apply a function to each element.

    Parameters
    ----------
    fn : callable or str
        A Python function of elements, in which operators, NumPy ufuncs, ``np.where`` and ``np.clip`` work, or the same
        as a string: ``"where(x > 0, sqrt(x), -y)"``. A tuple returned gives several results.
    *arrays : array_like
        One for each parameter; they broadcast together. A string's names are bound in order of first appearance.
    out : array or tuple of arrays, optional
        Where to write, one for each result: of its shape and dtype, in any layout, on the arrays' device, and apart
        from them in memory. By default new arrays.
    vector_axis : int, optional
        The axis of each array, of at most 16 elements, that ``fn`` gets at once, as a tuple: the channels of a pixel.
        A tuple that it returns becomes that axis of the one result. Vectors of 2, 4, 8 or 16 neighbours are read and
        written in one instruction.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.
    **named : array_like
        Arrays bound to the parameters of these names.

    Returns
    -------
    array or tuple of arrays
        ``out``, or new arrays of the same library as the first array that is not NumPy's, C-contiguous, of the dtype
        that NumPy gives.

    Raises
    ------
    ExpressionError
        A function that cannot be traced, or that raises; a string outside the whitelist, with more than 10,000
        characters or more than 500 levels of nested operators and calls; more than 256 results.
    ArgumentError
        Arrays that do not match the function's parameters, each other's shapes, or ``out``.
    DtypeError
        Arrays of objects, strings or dates, and an ``out`` of another dtype than the result's.

    Notes
    -----
    For real numbers ``+ - * /``, ``sqrt``, comparisons, ``x**2``, ``x**-1``, ``x**0.5`` and conversions to float16 are
    NumPy's bit for bit on every device that rounds quotients and roots correctly in float32, as all CPUs and NVIDIA
    GPUs do. A product is rounded before it is added. ``x**3`` and ``x**4`` are nearly always the nearest number. Other
    functions, such as ``exp``, are the device's own, a few units in the last place off.

    A float that an integer dtype cannot hold converts as in NumPy on x86-64: through int32 to int32 and to dtypes of 16
    bits and fewer, else through int64. NaN, and what those cannot hold, becomes their lowest number.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> gpuprims.map("2*x + 1", np.arange(4), device="reference")
    array([1, 3, 5, 7])
    >>> gpuprims.map(lambda x, y: np.hypot(x, y), np.float32([3, 5]), np.float32([4, 12]), device="reference")
    array([ 5., 13.], dtype=float32)

    A pixel at a time, read as one vector:

    >>> pixels = np.uint8([[10, 20, 30, 255], [0, 128, 255, 255]])
    >>> gpuprims.map(lambda p: (255 - p[0], 255 - p[1], 255 - p[2], p[3]), pixels, vector_axis=-1, device="reference")
    array([[245, 235, 225, 255],
           [255, 127,   0, 255]], dtype=uint8)
    """
    expr, operands, targets = _bind((fn, *arrays), out, vector_axis, device, **named)
    if operands.exceed_room:
        return _in_slabs(expr, operands, targets, vector_axis, variant)
    return _prepared(expr, operands, targets, vector_axis, variant).run(operands, targets)


def prepare_map(
    arrays: tuple[Any, ...],
    out: Any = None,
    vector_axis: int | None = None,
    device: str | Device | None = None,
    variant: str | None = None,
    **named: Any,
) -> tuple[Operands, Targets | None, Prepared]:
    """Decide everything about a :func:`map` but the memory; the first of ``arrays`` is the function."""
    expr, operands, targets = _bind(arrays, out, vector_axis, device, **named)
    return operands, targets, _prepared(expr, operands, targets, vector_axis, variant)


def _bind(
    arrays: tuple[Any, ...], out: Any, vector_axis: int | None, device: str | Device | None, **named: Any
) -> tuple[Expr, Operands, Targets | None]:
    """Trace the function, and find the device of a call."""
    fn, arrays = arrays[0], arrays[1:]
    if not arrays and not named:
        raise ArgumentError("map: at least one array; got none")
    if vector_axis is None:
        expr = expression(fn, len(arrays) + len(named))
        operands = as_operands("map", bind("map", expr, arrays, named), device)
    else:
        if named:
            raise ArgumentError(f"map: positional arrays with vector_axis; got the keyword(s) {', '.join(named)}")
        operands = as_operands("map", arrays, device)
        expr = _of_vectors(fn, [_lanes(native.shape, vector_axis) for native in operands.natives])
    return expr, operands, None if out is None else operands.targets(out)


def _prepared(
    expr: Expr, operands: Operands, targets: Targets | None, vector_axis: int | None, variant: str | None
) -> Prepared:
    where = operands.forms, target_forms(operands, targets), operands.fresh_alignment, operands.device
    return _prepare(expr, vector_axis, *where, asked_by_name("map", variant), REGISTRY.generation)


def _in_slabs(
    expr: Expr, operands: Operands, targets: Targets | None, vector_axis: int | None, variant: str | None
) -> Any:
    """Map host arrays that the device has no room for, a slab at a time."""
    arrays, axis = operands.natives, None
    if vector_axis is not None:  # the vectors last, so that slabs are cut along the axes before
        arrays, axis = tuple(np.moveaxis(a, vector_axis, -1) if a.shape else a for a in arrays), -1
    lanes = [a.shape[-1:] if axis and a.shape else () for a in arrays]
    shape = broadcast_shapes("map", [a.shape[: a.ndim - len(own)] for a, own in zip(arrays, lanes, strict=True)])
    whole = [np.broadcast_to(a, (*shape, *own)) for a, own in zip(arrays, lanes, strict=True)]
    arguments = tuple(a.dtype for a, own in zip(arrays, lanes, strict=True) for _ in range(*own or (1,)))
    vector = axis is not None and not expr.single
    dtypes = _typed_map(expr, arguments, alike=vector)[0].dtypes
    results = [np.empty(*result) for result in _results(dtypes, shape, axis if vector else None)]

    def run(parts: Sequence[np.ndarray], outs: Sequence[np.ndarray]) -> None:
        slab, places = as_operands("map", tuple(parts), operands.device), Targets(tuple(outs), None)
        _prepared(expr, slab, places, axis, variant).run(slab, places)

    map_in_slabs(whole, results, shape, slab_bytes(operands.device), run)
    if vector_axis is not None and vector:
        results = [np.moveaxis(result, -1, vector_axis) for result in results]
    return operands.deliver(results, targets, single=expr.single or vector)


def bind(label: str, expr: Expr, arrays: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """Put positional and named arrays in the order of the function's parameters."""
    if not named and len(arrays) == len(expr.parameters):
        return arrays
    left = [name for name in expr.parameters if name not in named]
    unknown = [name for name in named if name not in expr.parameters]
    if unknown:
        raise ArgumentError(
            f"{label}: keywords of its own or among {quoted(expr.parameters)}; got {', '.join(unknown)}"
        )
    if len(left) != len(arrays):
        raise ArgumentError(f"{label}: one array for each of ({shortened(', '.join(left))}); got {len(arrays)}")
    bound = dict(zip(left, arrays, strict=True)) | named
    return tuple(bound[name] for name in expr.parameters)


def _lanes(shape: tuple[int, ...], axis: int) -> int:
    """Return how many components the vectors of an array have; 0 for a scalar, which is one to every vector."""
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
def _prepare(
    expr: Expr,
    vector_axis: int | None,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | None,
    generation: int,
) -> Prepared:
    inputs, sources = _split(forms, vector_axis)
    shape = broadcast_shapes("map", [form.shape for form in inputs])
    vector = vector_axis is not None and not expr.single
    arguments = tuple(form.dtype for form in inputs for _ in range(form.lanes))
    function, finish = _typed_map(expr, arguments, alike=vector)
    results = _results(function.dtypes, shape, vector_axis if vector else None)
    outputs, places = _split(result_forms("map", results, written, alignment), vector_axis if vector else None)
    steps = tuple(step.dtype for step in function.steps)
    size = math.prod(shape)
    call = CallTraits((*arguments, *steps), 1, size, value_bytes=4 * value_words(function.dtypes))
    chosen = device.select("map", call, variant)
    single = expr.single or vector
    if not size:
        return Prepared(chosen, results, single, None, sources, places)
    layout = plan_layout((*inputs, *outputs), shape, range(len(shape)))
    accesses = layout.accesses
    spec = KernelSpec(
        inputs=accesses[: len(inputs)],
        outputs=accesses[len(inputs) :],
        values=function.dtypes,
        map=function,
        finish=finish,
        vector=layout.vector_width() if chosen.vectors else 1,
        contracted=False,  # map is bound by memory, so NumPy's rounding costs nothing
    )
    groups = chosen.groups(-(-size // chosen.tile), device.capabilities)
    launch = device.kernel(chosen, spec).prepare(groups, layout.pack(1), size)
    return Prepared(chosen, results, single, launch, sources, places)


def _split(forms: Sequence[Form], vector_axis: int | None) -> tuple[list[Form], tuple[int, ...]]:
    """Return the kernel's operands, and which array each lies in."""
    parts = [as_lanes(form, vector_axis) if vector_axis is not None and form.shape else (form,) for form in forms]
    return [form for part in parts for form in part], tuple(k for k, part in enumerate(parts) for _ in part)


def _results(dtypes: Dtypes, shape: tuple[int, ...], vector_axis: int | None) -> tuple[Result, ...]:
    """Return the results: one for each dtype, or all of them side by side along the vector axis."""
    if vector_axis is None:
        return tuple(Result(shape, dtype) for dtype in dtypes)
    place = vector_axis % (len(shape) + 1)
    return (Result((*shape[:place], len(dtypes), *shape[place:]), dtypes[0]),)


def _typed_map(expr: Expr, dtypes: Dtypes, *, alike: bool) -> tuple[TypedExpr, TypedExpr]:
    """Type the function, and the step that hands its values to the outputs unchanged."""
    indexed = _ignoring_index(expr)
    function = typed(indexed, (*dtypes, np.dtype(np.int64)))
    n = len(function.dtypes)
    if alike:  # components of one vector
        function = typed(indexed, (*dtypes, np.dtype(np.int64)), [np.result_type(*function.dtypes)] * n)
    finish = trace(lambda *values: values[:n], n + 1)
    return function, typed(finish, (*function.dtypes, np.dtype(np.int64)))


def _ignoring_index(expr: Expr) -> Expr:
    """Give a function the index that every kernel's map is called with."""
    return trace(lambda *given: expr(*given[:-1]), len(expr.parameters) + 1)
