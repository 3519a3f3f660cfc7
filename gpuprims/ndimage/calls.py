"""Run SciPy's filters: as a chain of stencils, each along some axes of one array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from inspect import signature
from typing import Any, NamedTuple, ParamSpec, Protocol, runtime_checkable

import numpy as np

from gpuprims.core.arrays import meet, span_of, unchanged
from gpuprims.core.determinism import asks_for_device
from gpuprims.core.device import Device, device_of
from gpuprims.core.keywords import is_one_of, keywords_of, refuse_keywords
from gpuprims.core.layout import is_contiguous
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, as_out, host_results
from gpuprims.core.warm_calls import Run, WarmCalls
from gpuprims.errors import ArgumentError, DtypeError, ShapeError, quoted
from gpuprims.expressions import Expr, computable
from gpuprims.ndimage.arguments import mode_of
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.stencil.calls import run
from gpuprims.primitives.stencil.grids import Border, border_of, grid_along
from gpuprims.primitives.stencil.request import StencilRequest
from gpuprims.primitives.stencil.stencils import Stencil, of_function

P = ParamSpec("P")
_WARM = WarmCalls()
# Weights of more bytes are not compared in each call.
_FEW = 1 << 15


class Call(NamedTuple):
    """The array of a call, the dtype of its result, and where to write it."""

    label: str
    operands: Operands
    result: np.dtype[Any]
    out: Out | None
    # The caller's array of output=, if the input lies in the same memory.
    behind: Out | None = None

    @property
    def element(self) -> np.dtype[Any]:
        """Dtype of the array."""
        dtype: np.dtype[Any] = self.operands.natives[0].dtype
        return dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return tuple(self.operands.natives[0].shape)

    @property
    def double(self) -> bool:
        """True if sums are float64: the device computes in it, or all devices must give the same bits."""
        return self.operands.driver.capabilities.fp64 or asks_for_device()

    def along(
        self, axes: Sequence[int], stencil: Callable[[int, tuple[int, ...]], Stencil], border: Border
    ) -> StencilRequest:
        """Return the request of a stencil along some axes, in order.

        ``stencil`` gets the number of axes of a neighbourhood, and which of them the given ones are.
        """
        grid, places = grid_along(self.label, self.shape, tuple(axes))
        return StencilRequest(self.label, stencil(len(grid.space), places), border, grid)

    def border(self, mode: Any, cval: Any, element: np.dtype[Any]) -> Border:
        """Return how an array of a dtype continues beyond its borders."""
        known = mode_of(mode)
        return border_of(self.label, known, cval if is_one_of(known, ("constant",)) else 0, element)


class Bound(NamedTuple):
    """A call, and the stencils to apply in order."""

    call: Call
    requests: tuple[StencilRequest, ...]


@runtime_checkable
class Composed(Protocol):
    """A call of several filters."""

    def run(self, key: Any) -> Any:
        """Apply the filters; a later call with the same key does no more than that."""


def begin(label: str, given: Any, output: Any, device: str | Device | None) -> Call:
    """Find the device of a call, and check ``output=``: None, a dtype, or an array."""
    operands = as_operands(label, (given,), device)
    array = operands.natives[0]
    if array.dtype.kind == "c":
        raise DtypeError(f"{label}: real numbers; got dtype {array.dtype} (filter .real and .imag)")
    if not array.ndim:
        raise ShapeError(f"{label}: an array of one axis or more; got shape ()")
    if output is None:
        return Call(label, operands, array.dtype, None)
    if isinstance(output, str | type | np.dtype):
        result = computable(output, label)
        if result.kind == "c":
            raise DtypeError(f"{label}: output= real numbers; got dtype {result}")
        return Call(label, operands, result, None)
    if device_of(output) is None and not hasattr(output, "__dlpack__"):
        raise ArgumentError(f"{label}: output= an array or a dtype; got {quoted(output)}")
    if tuple(output.shape) != tuple(array.shape):
        raise ShapeError(f"{label}: output= of the array's shape, {tuple(array.shape)}; got {tuple(output.shape)}")
    if type(output) is type(given):  # an output that overlaps the input is written at the end
        alone = as_operands(label, (output,), device).natives[0]
        if meet(span_of(operands.driver, alone), span_of(operands.driver, array)):
            return Call(label, operands, alone.dtype, None, Out((alone,), output))
    out = as_out(operands, output)
    return Call(label, operands, array.dtype if out is None else out.natives[0].dtype, out)


def filtering(bind: Callable[P, Any]) -> Callable[P, Any]:
    """Decorate a function that returns a :class:`Bound` or a :class:`Composed`: run it, and refuse unknown keywords."""
    known = frozenset(keywords_of(bind))
    place = list(signature(bind).parameters).index("output")

    @wraps(bind)
    def call(*args: P.args, **keywords: P.kwargs) -> Any:
        key, given, run_again = _known(bind, args, keywords, place)
        if run_again is not None:
            return run_again(given)
        if not keywords.keys() <= known:
            refuse_keywords(
                f"ndimage.{bind.__name__}", keywords_of(bind), {k: v for k, v in keywords.items() if k not in known}
            )
        bound = bind(*args, **keywords)
        if isinstance(bound, Bound):
            return run_bound(bound, key)
        return bound.run(key) if isinstance(bound, Composed) else bound

    return call


def _known(
    bind: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any], place: int
) -> tuple[Any, Any, Any]:
    """Return the key of a warm call, its arrays and its runner; no key if the arguments do not determine a plan.

    ``output`` is the argument at a ``place``, if it has no name.
    """
    if not args:
        return None, None, None
    output = args[place] if len(args) > place else keywords.get("output")
    as_dtype, device = output is None or isinstance(output, str | type | np.dtype), keywords.get("device")
    told = [_told(None if one is output and not as_dtype else one) for one in args[1:]]
    told += [
        (name, _told(one)) for name, one in keywords.items() if name != "device" and (as_dtype or name != "output")
    ]
    if _UNKNOWN in told or any(type(one) is tuple and one[1:] == (_UNKNOWN,) for one in told):
        return None, None, None
    return _WARM.find_into((bind, *told), (args[0],), None if as_dtype else output, device)


_UNKNOWN = object()


def _told(given: Any) -> Any:
    """Return a key that distinguishes an argument from others; ``_UNKNOWN`` if there is none."""
    kind = type(given)
    if kind in (int, str, type(None), bool) or isinstance(given, type | np.dtype):
        return kind, given
    if kind is float:
        return kind, given, given.hex()  # 0.0 is equal to -0.0
    if kind is np.ndarray and given.nbytes <= _FEW:
        return given.dtype, given.shape, given.tobytes()
    if kind in (tuple, list) and len(given) <= _FEW:
        found = tuple(map(_told, given))
        return _UNKNOWN if _UNKNOWN in found else (kind, found)
    return _UNKNOWN


def run_bound(bound: Bound, key: Any = None) -> Any:
    """Apply the stencils of a call, and keep the plan for later calls with the same key."""
    call, requests = bound
    if call.behind is not None:
        return copied(call, run_bound(Bound(on_device(call), requests)))
    first, *others = requests or (_unchanged(call),)
    return run(call.operands, first._replace(then=tuple(others)), call.out, None, partial(_WARM.keep, key))


def run_several(call: Call, parts: Sequence[Bound], combine: Expr, key: Any) -> Any:
    """Apply the stencils of several calls, and then a function to their results."""
    keys = [None if key is None else (*key, k) for k in range(len(parts))]
    results = [run_bound(part, own) for part, own in zip(parts, keys, strict=True)]
    device = call.operands.device
    if key is not None:
        runs = [run for own in keys if (run := found_again(own)) is not None]

        def run_again(given: Sequence[Any]) -> Any:
            return map_arrays(combine, *[run(given) for run in runs], device=device)

        if len(runs) == len(parts):
            kept_again(call, key, run_again)
    return copied(call, map_arrays(combine, *results, device=device))


def found_again(key: Any) -> Run | None:
    """Return what was kept for calls with a key."""
    return None if key is None else _WARM.find(key)


def kept_again(call: Call, key: Any, run: Run) -> None:
    """Keep the plan for later calls with the same key, if the arrays and the result are the caller's own."""
    operands = call.operands
    if key is not None and operands.in_place and operands.as_given and call.out is None and call.behind is None:
        _WARM.keep_run(key, run)


def on_device(call: Call) -> Call:
    """Return a call whose results stay on the device, as arrays of its vendor, without ``output=``."""
    operands, natives, forms = call.operands, call.operands.natives, None
    on_host = operands.in_place or operands.gain_by_slabs
    if not on_host:
        forms, memories = operands.place()
        natives = tuple(memories)
    there = Operands(call.label, operands.device, natives, on_host, unchanged, forms)
    return call._replace(operands=there, out=None, behind=None)


def copied(call: Call, result: Any) -> Any:
    """Return a result of :func:`on_device` to the caller, in the dtype of ``output=``, or write it there."""
    operands, out = call.operands, call.out or call.behind
    if operands.on_host:
        if not isinstance(result, np.ndarray) and not is_contiguous(operands.driver.form(result)):
            result = map_arrays(lambda v: v, result, device=operands.device)  # transfers need contiguous arrays
        with np.errstate(all="ignore"):
            host = np.ascontiguousarray(operands.to_host(result)).astype(call.result, copy=False)
        return host_results(operands, [host], out, single=True)
    if out is None and result.dtype == call.result and is_contiguous(operands.driver.form(result)):
        return operands.to_caller(result)
    given = None if out is None else out.given
    copy = map_arrays(lambda v: v.astype(call.result), result, out=given, device=operands.device)
    return operands.to_caller(copy) if given is None else copy


def _unchanged(call: Call) -> StencilRequest:
    """Return the request that copies the array."""
    border = call.border("nearest", 0, call.element)
    stencil = of_function(_itself, call.element, call.result)
    return call.along((len(call.shape) - 1,), lambda rank, places: stencil, border)


def _itself(n: Any) -> Any:
    return n[0]
