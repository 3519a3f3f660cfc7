"""map: a function of each element, of one array or of several that broadcast together."""

from __future__ import annotations

from functools import partial
from typing import Any, overload

from gpuprims.core.determinism import Level, at_level
from gpuprims.core.device import Device
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.lazy import call_by_chunks
from gpuprims.core.operands import Operands
from gpuprims.core.plans import planner
from gpuprims.core.primitive import Planner, Primitive
from gpuprims.core.warm_calls import Run, WarmCalls, runner_of
from gpuprims.errors import LazyArrayError
from gpuprims.expressions import expression
from gpuprims.primitives.map.diff_plan import bind_diff, plan_diff
from gpuprims.primitives.map.in_slabs import run_in_slabs
from gpuprims.primitives.map.orders import axes_in_memory, run_in_order
from gpuprims.primitives.map.plan import MapRequest, bind, plan_call, plan_map, sample
from gpuprims.primitives.map.variants import VARIANTS
from gpuprims.primitives.signatures import Array, Function, Host, HostArray, Out

PRIMITIVE = Primitive(
    "map",
    VARIANTS,
    plan_call,
    sample,
    bind,
    tuning_case=f"{__name__}.tuning_case",
    plans={
        "map": Planner(plan_map, bind),
        "diff": planner(
            *("diff", bind_diff, plan_diff),
            positional=("n", "axis"),
            refused=dict.fromkeys(("prepend", "append"), "plans read one array (join the arrays before)"),
        ),
    },
)
_WARM, _COPIES = WarmCalls(), WarmCalls()


@overload
def map(  # noqa: A001 - the primitive's name in every library of its kind
    fn: Function,
    /,
    *arrays: Host,
    out: None = None,
    vector_axis: int | None = None,
    index: str | tuple[str, ...] | None = None,
    device: str | Device | None = None,
    variant: str | None = None,
    determinism: Level | None = None,
    **named: Host,
) -> HostArray: ...
@overload
def map(  # noqa: A001 - the primitive's name in every library of its kind
    fn: Function,
    /,
    *arrays: Array | complex,
    out: None = None,
    vector_axis: int | None = None,
    index: str | tuple[str, ...] | None = None,
    device: str | Device | None = None,
    variant: str | None = None,
    determinism: Level | None = None,
    **named: Array | complex,
) -> Array: ...
@overload
def map(  # noqa: A001 - the primitive's name in every library of its kind
    fn: Function,
    /,
    *arrays: Any,
    out: Out,
    vector_axis: int | None = None,
    index: str | tuple[str, ...] | None = None,
    device: str | Device | None = None,
    variant: str | None = None,
    determinism: Level | None = None,
    **named: Any,
) -> Out: ...
@overload
def map(  # noqa: A001 - the primitive's name in every library of its kind
    fn: Function,
    /,
    *arrays: Any,
    out: None = None,
    vector_axis: int | None = None,
    index: str | tuple[str, ...] | None = None,
    device: str | Device | None = None,
    variant: str | None = None,
    determinism: Level | None = None,
    **named: Any,
) -> Any: ...


def map(  # noqa: A001 - the primitive's name in every library of its kind
    fn: Any,
    /,
    *arrays: Any,
    out: Any = None,
    vector_axis: int | None = None,
    index: str | tuple[str, ...] | None = None,
    device: str | Device | None = None,
    variant: str | None = None,
    determinism: Level | None = None,
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
        Where to write, one for each result: of its shape and dtype, in any layout, on the device of the arrays. One may
        be an input, ``map("2*x", x, out=x)``; arrays that overlap in another way are refused. By default new arrays.
    vector_axis : int, optional
        An axis of each array, of at most 16 elements, such as the channels of a pixel. ``fn`` gets the elements along
        it as a tuple; in a string, ``p[0]`` or ``p.x`` is the first. It returns a number, or a tuple that becomes this
        axis of the one result. Vectors of 2, 4, 8 or 16 neighbours are read and written in one instruction.
    index : str or tuple of str, optional
        A parameter of ``fn`` that is the index of the element in the result, flat in C order, as int64. A tuple names a
        parameter for each axis: the indices along them. Arrays are bound to the other parameters.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.
    determinism : {"none", "run", "device", "order"}, optional
        What the call promises about the bits of floats, as :func:`gpuprims.use_determinism`. ``"device"``: the same
        bits on every device, by functions within one unit in the last place of the nearest number.
    **named : array_like
        Arrays bound to the parameters of these names.

    Returns
    -------
    array or tuple of arrays
        ``out``, or new arrays of the same library as the first array that is not NumPy's, of the dtype that NumPy
        gives; contiguous, in Fortran order if all arrays of the result's shape lie in this order on the device, else in
        C order. Results for CuPy arrays, and for NumPy arrays on a CPU, lie in any order of axes that these arrays
        share.

    Raises
    ------
    ExpressionError
        A function that cannot be traced, raises, or returns more than 256 results; a string that is not on the
        whitelist, or has more than 10,000 characters or 500 levels of nested operators and calls.
    ArgumentError
        Arrays that do not match the function's parameters, each other's shapes, or ``out``.
    DtypeError
        Arrays of objects, strings or dates, or an ``out`` of another dtype than the result's.

    Notes
    -----
    For real numbers ``+ - * /``, ``sqrt``, comparisons, ``x**2``, ``x**-1``, ``x**0.5`` and conversions to float16 are
    NumPy's bit for bit on every device that rounds quotients and roots correctly in float32, as all CPUs and NVIDIA
    GPUs do. A product is rounded before it is added. ``x**3`` and ``x**4`` are nearly always the nearest number. Other
    functions, such as ``exp``, are the device's own, a few units in the last place off.

    A float that an integer dtype cannot hold converts as in NumPy on x86-64: through int32 to int32 and to dtypes of 16
    bits and fewer, else through int64. NaN, and floats beyond the range of int32 or int64, become its lowest number.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> gpuprims.map("2*x + 1", np.arange(4), device="reference")
    array([1, 3, 5, 7])
    >>> gpuprims.map(lambda x, y: np.hypot(x, y), np.float32([3, 5]), np.float32([4, 12]), device="reference")
    array([ 5., 13.], dtype=float32)

    A function of the element's index, and of its row and column:

    >>> gpuprims.map("x * (i % 2)", np.arange(4) + 10, index="i", device="reference")
    array([ 0, 11,  0, 13])
    >>> gpuprims.map("where(i == j, x, 0)", np.ones((2, 3), int), index=("i", "j"), device="reference")
    array([[1, 0, 0],
           [0, 1, 0]])

    A pixel at a time, read as one vector:

    >>> pixels = np.uint8([[10, 20, 30, 255], [0, 128, 255, 255]])
    >>> gpuprims.map(lambda p: (255 - p[0], 255 - p[1], 255 - p[2], p[3]), pixels, vector_axis=-1, device="reference")
    array([[245, 235, 225, 255],
           [255, 127,   0, 255]], dtype=uint8)
    """
    if determinism is not None:
        how = {"out": out, "vector_axis": vector_axis, "index": index, "device": device, "variant": variant, **named}
        return at_level("map", determinism, lambda: map(fn, *arrays, **how))
    key = None
    if arrays and not named and vector_axis is None and (index is None or type(index) in (str, tuple)):
        if type(fn) is not str:
            fn = expression(fn, len(arrays) + (0 if index is None else 1 if type(index) is str else len(index)))
        keywords = (fn, variant) if index is None else (fn, variant, index)
        key, given, run = _WARM.find_into(keywords, arrays, out, device, in_place=True)
        if run is not None:
            return run(given)
    try:
        operands, request, result, chosen = bind((fn, *arrays), out, vector_axis, index, device, variant, **named)
    except LazyArrayError as found:
        how = {"out": out, "vector_axis": vector_axis, "index": index, "device": device, "variant": variant}
        return call_by_chunks(found, "map", fn, arrays, named, **how)
    if operands.gain_by_slabs:
        return run_in_slabs(request, operands, result, chosen)
    if result is None and (axes := axes_in_memory(operands, request)) is not None:
        return run_in_order(operands, request, axes, chosen, None if key is None else partial(_WARM.keep, key))
    plan = find_plan(plan_call, operands, request, result, chosen)
    _WARM.keep(key, plan, operands, out=result)
    return plan.run(operands, result)


def contiguous_copy(array: Any, device: Device) -> Any:
    """Return a copy of an array in C order."""
    key, given, run = _COPIES.find_into(None, (array,), None, device)
    if run is not None:
        return run(given)
    operands, request = _of_copy(array, device)
    if operands.gain_by_slabs:
        return run_in_slabs(request, operands, None, None)
    plan = find_plan(plan_call, operands, request, None, None)
    _COPIES.keep(key, plan, operands)
    return plan.run(operands, None)


def copier(array: Any, device: Device) -> Run:
    """Return a function that copies arrays like one of a device in C order."""
    operands, request = _of_copy(array, device)
    return runner_of(find_plan(plan_call, operands, request, None, None), operands)


def _of_copy(array: Any, device: Device) -> tuple[Operands, MapRequest]:
    operands, request, _, _ = bind(("x", array), device=device)
    return operands, request._replace(in_c_order=True)
