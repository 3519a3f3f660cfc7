"""stencil: every element from its neighbours, by weights or by a function of one's own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.launch_plan import Prepared, Result, result_forms, target_forms
from gpuprims.core.layout import VECTOR_BYTES, Form, Layout
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Targets
from gpuprims.core.primitive import Primitive
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, DtypeError, quoted
from gpuprims.expressions import computable
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.stencil.grids import Grid, grid_of
from gpuprims.primitives.stencil.neighbours import as_weights
from gpuprims.primitives.stencil.passes import Border, Step
from gpuprims.primitives.stencil.refusals import (
    CPU_NUMBERS,
    LEAST_ITEMS,
    MOST_NUMBERS,
    ROWS_AT_ONCE,
    TILE_WIDTH,
    register_bytes,
)
from gpuprims.primitives.stencil.spec import Mode, StencilSpec, Window, columns_of, reach_of
from gpuprims.primitives.stencil.splitting import run_in_halves
from gpuprims.primitives.stencil.traits import Neighbourhood, StencilTraits
from gpuprims.primitives.stencil.variants import VARIANTS, StencilVariant
from gpuprims.primitives.stencil.weights import with_weights

PRIMITIVE = Primitive("stencil", VARIANTS)

# Of a strip, rows for each one that is loaded beyond its end.
_LEAST_DEPTH = 4
# Neighbours for each byte of an element that take less time than the element does. H200, 2026-11-21, 16384 x 16384
# float32: five neighbours 4.00 TB/s by strips of 12 rows and 3.83 by 332; applied twice in a launch 7.1 and 7.5.
_FEW_TAPS = 2


def stencil(
    x: Any,
    weights: Any,
    *,
    mode: Mode = "nearest",
    cval: Any = 0,
    channel_axis: int | None = None,
    iterations: int = 1,
    dtype: Any = None,
    out: Any = None,
    device: str | Device | None = None,
    variant: str | None = None,
) -> Any:
    """Compute each element from those around it, as :func:`scipy.ndimage.correlate`.

    Parameters
    ----------
    x : array_like
        Of real numbers.
    weights : array_like or callable
        Of one to three axes of odd length, up to 31: each neighbour times its weight, added up. Or a function of a
        neighbourhood ``n``, whose element ``n[dy, dx]`` is so many rows and columns from the one that is computed, made
        of operators and NumPy functions as those of :func:`gpuprims.map`.
    mode : {"nearest", "reflect", "mirror", "wrap", "constant"}, default "nearest"
        What lies beyond the borders: the element at the border, ``d c b a | a b c d | d c b a``, ``d c b | a b c d | c
        b a``, the other end, or ``cval``. SciPy's default is "reflect".
    cval : scalar, default 0
    channel_axis : int, optional
        The axis of channels, which are not neighbours of each other. Of the other axes, neighbourhoods lie along the
        last; along those before, arrays are independent of each other.
    iterations : int, default 1
        How often in a row.
    dtype : dtype, optional
        Of the result: by default that of ``x``, as SciPy's, or with a function what it returns.
    out : array, optional
        Where to write; it is not to overlap ``x``.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.

    Returns
    -------
    array
        Of the shape of ``x``. Floats are summed in float32, or in float64 if ``x`` or the result is float64. Sums of
        integers by integer weights are exact. By other weights they are computed in float64, which keeps 53 bits;
        without float64 on the device, 8 and 16 bits are computed in float32.

    Raises
    ------
    ArgumentError, ShapeError, AxisError, DtypeError, ExpressionError
        Weights of even length, or that are not finite; an unknown mode; a function that cannot be traced.
    ArrayError, DeviceMismatchError, NoVariantError
        As :func:`gpuprims.map`.

    Notes
    -----
    Sums are cut to integers towards zero, as in SciPy. Out of range, 8 and 16 bits keep the low bits of the sum, and
    unsigned integers those of a negative sum, as in SciPy. Other sums saturate in 32 and 64 bits, where SciPy's results
    differ between platforms. NaN becomes the smallest number. All devices give the same.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> x = np.float32([0, 0, 4, 0, 8, 8])
    >>> gpuprims.stencil(x, [0.25, 0.5, 0.25], device="reference")
    array([0., 1., 2., 3., 6., 8.], dtype=float32)
    >>> gpuprims.stencil(x, lambda n: np.maximum(n[-1], n[1]), mode="constant", device="reference")
    array([0., 4., 0., 8., 8., 8.], dtype=float32)
    """
    operands = as_operands("stencil", (x,), device)
    element = operands.natives[0].dtype
    if element.kind == "c":
        raise DtypeError(f"stencil: real numbers; got dtype {element}")
    chosen = None if dtype is None else computable(dtype, "stencil")
    if callable(weights):
        step = Step.of_function(weights, element, chosen)
    else:
        step = Step.of_weights(
            as_weights(weights), element, chosen or element, double=operands.device.capabilities.fp64
        )
    border = Border.of("stencil", mode, cval, element)
    return run_step(operands, out, step, border, (channel_axis, iterations, variant))


# Channel axis, iterations and variant: what is the same for all kinds of stencils.
_How = tuple[int | None, int, str | None]


def run_step(operands: Operands, out: Any, step: Step, border: Border, how: _How) -> Any:
    """Run a pass over an array, so many times."""
    channel_axis, iterations, variant = how
    asked_by_name(operands.label, variant)
    label, element = operands.label, operands.natives[0].dtype
    grid = grid_of(label, operands.natives[0].shape, step.rank, channel_axis)
    if type(iterations) is not int or iterations < 1:
        raise ArgumentError(f"{label}: iterations= a whole number from 1 on; got {quoted(iterations)}")
    if iterations > 1 and step.result != element:
        raise ArgumentError(f"{label}: iterations of results that are {element}, as x is; got {step.result}")
    targets = None if out is None else operands.targets(out)
    if step.halves is not None:
        return run_in_halves(operands, targets, step, border, how, run_step)
    operands = _together(with_weights(operands, step), grid)
    where = operands.forms[0], target_forms(operands, targets), operands.fresh_alignment, operands.device
    passes = _passes(label, step, border, grid, *where, variant, iterations, REGISTRY.generation)
    return _run(operands, targets, passes, grid, variant)


def _together(operands: Operands, grid: Grid) -> Operands:
    """Return an array whose axes before the neighbourhoods are walked in one stride: itself, or a copy."""
    if _is_together(operands.forms[0], grid):
        return operands
    array, *weights = operands.natives
    return operands.instead(map_arrays("x", array, device=operands.device), *weights)


@lru_cache(maxsize=1024)
def _is_together(form: Form, grid: Grid) -> bool:
    return grid.steps(form) is not None


# What is computed in one launch: a step, what lies beyond the borders, and how often it is applied.
_Pass = tuple[Step, Border, int]


@keeps_calls()
def _passes(
    label: str,
    step: Step,
    border: Border,
    grid: Grid,
    form: Form,
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | None,
    iterations: int,
    generation: int,
) -> tuple[_Pass, ...]:
    """Return a stencil's passes: one for each time, or for two times, where its variant does both at once.

    Of two steps, a pass each where no variant, or not the one asked for, does both.
    """
    out = result_forms(label, [Result(grid.shape, step.result)], written, alignment)[0]
    call = _call(step, form.dtype, grid, (form, out))
    if step.across is not None:
        able = [known.name for known, reason in device.explain("stencil", call).refusals if reason is None]
        if not able or (variant is not None and variant not in able):
            first, second = step.passes()
            beyond = step.across(*[np.asarray(border.beyond)] * len(step.columns))[0]  # what the first makes of it
            return ((first, border, 1), (second, Border(border.mode, step.value.type(beyond)), 1)) * iterations
    twice = 0
    if iterations > 1:
        chosen = StencilVariant.of(device.select("stencil", call, variant))
        both = _call(step, form.dtype, grid, (form, out), 2)
        twice = iterations // 2 if chosen.twice and chosen.refuse(device.capabilities, both) is None else 0
    return ((step, border, 2),) * twice + ((step, border, 1),) * (iterations - 2 * twice)


def _run(operands: Operands, targets: Targets | None, passes: Sequence[_Pass], grid: Grid, variant: str | None) -> Any:
    """Run passes one after the other, each on the results of the one before."""
    kept = []  # the host's memory, until kernels have written to it
    weights = operands.natives[1:]
    with operands.settled():
        for one in passes[:-1]:
            prepared = _prepared(operands, None, one, grid, variant)
            result = operands.empty(*prepared.results[0])
            prepared.start(operands, [result])
            kept.append(result)
            operands = operands.instead(result, *weights)
        return _prepared(operands, targets, passes[-1], grid, variant).run(operands, targets)


def _prepared(operands: Operands, targets: Targets | None, one: _Pass, grid: Grid, variant: str | None) -> Prepared:
    where = operands.forms, target_forms(operands, targets), operands.fresh_alignment, operands.device
    return _prepare(operands.label, *one, grid, *where, variant, REGISTRY.generation)


def _call(step: Step, element: np.dtype[Any], grid: Grid, forms: tuple[Form, ...], times: int = 1) -> StencilTraits:
    """Describe a pass to the variants."""
    lines = grid.lines(forms)
    left, right = columns_of(step.columns or [offset[-1] for offset in step.offsets], times)
    top, bottom = reach_of([offset[-2] for offset in step.offsets] if step.rank > 1 else [0])
    reads = Neighbourhood(
        lines=lines is not None,
        across=step.across is not None,
        table=step.weights is not None,
        span=bottom - top + 1,
        beside=(right - left) * grid.lengths[-1],
        taps=len(step.offsets) + len(step.columns),
        paired=step.paired is not None,
        times=times,
    )
    used = () if step.function is None else tuple(one.dtype for one in step.function.steps)
    return StencilTraits((element, step.value, step.result, *used), math.prod(grid.lengths), neighbourhood=reads)


@keeps_calls()
def _prepare(
    label: str,
    step: Step,
    border: Border,
    times: int,
    grid: Grid,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | None,
    generation: int,
) -> Prepared:
    results = (Result(grid.shape, step.result),)
    out = result_forms(label, results, written, alignment)[0]
    call = _call(step, forms[0].dtype, grid, (forms[0], out), times)
    chosen = StencilVariant.of(device.select("stencil", call, variant))
    places = tuple(range(len(forms))), (0,)
    if not call.size:
        return Prepared(chosen, results, True, None, *places)
    plan = _listed if chosen.window == "listed" else _in_lines
    return Prepared(
        chosen, results, True, plan(label, step, border, grid, (*forms, out), call, chosen, device), *places
    )


def _listed(
    label: str,
    step: Step,
    border: Border,
    grid: Grid,
    forms: tuple[Form, ...],
    call: StencilTraits,
    chosen: StencilVariant,
    device: Device,
) -> Launch:
    """Fix the launch of a kernel that takes elements one by one, wherever they lie."""
    layout = grid.layout([forms[0], *forms[2:]] if step.weights else forms)
    if layout is None:
        raise ArgumentError(f"{label}: out= whose axes before the neighbourhoods are walked in one stride; got another")
    if step.weights:  # which no axis runs along
        beside = forms[1]
        steps = layout.reduced_strides[0], (0,) * 5, layout.reduced_strides[1]
        offsets = layout.offsets[0], beside.offset // beside.item, layout.offsets[1]
        layout = Layout((forms[0], beside, forms[2]), (), layout.reduced, ((), (), ()), steps, offsets)
    spec = _spec(step, border, layout, chosen.window)
    kernel = device.kernel(chosen, spec)
    groups = chosen.groups(-(-call.size // chosen.tile), device.capabilities)
    return kernel.prepare(groups, layout.pack(0), call.size)


def _in_lines(
    label: str,
    step: Step,
    border: Border,
    grid: Grid,
    forms: tuple[Form, ...],
    call: StencilTraits,
    chosen: StencilVariant,
    device: Device,
) -> Launch:
    """Fix the launch of a kernel that walks along rows whose elements lie side by side."""
    layout = grid.lines(forms)
    reads = call.neighbourhood
    if layout is None:
        raise TypeError(f"{label}: rows side by side; got {forms}")
    fitted = _fitted(chosen, reads, forms[0].item)
    vectors = [min(layout.width_of(k), fitted.items) if chosen.vectors else 1 for k in range(2)]
    local = min(VECTOR_BYTES // register_bytes(forms[0].dtype), fitted.items)
    lines = _Lines(grid.lengths[-1], vectors[0], vectors[1], local, reads.times)
    spec = _spec(step, border, layout, chosen.window, lines)
    kernel, able = device.kernel(fitted, spec), device.capabilities
    batches, rows, length = layout.reduced
    if chosen.window == "tile":
        tiles = batches * -(-rows // (fitted.tile // TILE_WIDTH)) * -(-length // TILE_WIDTH)
        return kernel.prepare(fitted.groups(tiles, able), layout.pack(0))
    across = -(-length // fitted.tile)
    # Strips so long that there is one for each group, and that the rows loaded beyond their ends are few.
    wanted = max(1, (fitted.groups_per_unit or 1) * able.compute_units // (across * batches))
    if chosen.block == 1:
        depth = min(rows, max(-(-rows // wanted), _LEAST_DEPTH * reads.span))
        strips = -(-rows // depth)
        return kernel.prepare(fitted.groups(across * strips * batches, able), layout.pack(0), strips, depth)
    # Of rows whose neighbours are all within, a multiple of those at once; others are computed one by one. Where memory
    # alone sets the pace, short strips are better, whose rows are still in a cache when the next strip loads them.
    least = _LEAST_DEPTH * reads.span
    depth = least if reads.taps * reads.times <= _FEW_TAPS * forms[0].item else max(-(-rows // wanted), least)
    depth = -(-depth // ROWS_AT_ONCE) * ROWS_AT_ONCE
    covered = max(rows - reads.times * (reads.span - 1), 0) // ROWS_AT_ONCE * ROWS_AT_ONCE
    tasks = -(-covered // depth) + rows - covered
    return kernel.prepare(fitted.groups(across * tasks * batches, able), layout.pack(0), depth, covered)


def _fitted(chosen: StencilVariant, reads: Neighbourhood, item: int) -> StencilVariant:
    """Return a variant with as many elements of a row as it keeps the window of."""
    items = chosen.items if chosen.block == 1 or chosen.window == "tile" else max(VECTOR_BYTES // item, 1)
    most = CPU_NUMBERS if chosen.block == 1 else MOST_NUMBERS // reads.times
    if chosen.window != "tile":
        while items > LEAST_ITEMS and (reads.numbers if chosen.block == 1 else reads.registers)(items) > most:
            items //= 2
    return chosen.resized(items=items)


class _Lines(NamedTuple):
    """How a kernel walks along rows: elements of a pixel, those that it moves at once, and how often it is applied."""

    channels: int = 1
    vector: int = 1
    vector_out: int = 1
    vector_local: int = 1
    times: int = 1


def _spec(
    step: Step,
    border: Border,
    layout: Layout,
    window: Window,
    lines: _Lines = _Lines(),  # noqa: B008 - a tuple
) -> StencilSpec:
    accesses = layout.accesses
    spec = StencilSpec(
        accesses[:-1],
        accesses[-1:],
        (step.value,),
        step.finish if step.function is None else step.function,
        step.finish,
        vector=lines.vector,
        offsets=tuple(_in_space(offset) for offset in step.offsets),
        mode=border.mode,
        beyond=border.beyond,
        channels=lines.channels,
        across=step.across,
        columns=step.columns,
        window="table" if step.weights else window,
        vector_local=lines.vector_local,
        vector_out=lines.vector_out,
        times=lines.times,
        paired=step.paired if window == "strip" else None,
    )
    beside = max(map(abs, spec.reach(2))) * lines.channels * lines.times
    return replace(spec, vector_beside=min(lines.vector_local, 1 << (beside - 1).bit_length()) if beside else 1)


def _in_space(offset: tuple[int, ...]) -> tuple[int, int, int]:
    dz, dy, dx = (0,) * (3 - len(offset)) + offset
    return dz, dy, dx
