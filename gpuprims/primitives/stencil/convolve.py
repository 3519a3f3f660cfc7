"""convolve: the convolution of two sequences, as numpy.convolve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from operator import itemgetter
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from gpuprims.core.call_keys import Key
from gpuprims.core.determinism import asks_for_device, cached_by_level
from gpuprims.core.device import Device, device_of
from gpuprims.core.driver import Driver
from gpuprims.core.guests import as_arrays
from gpuprims.core.keywords import is_one_of, keywords_of, named_keywords, refuse_keywords
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.layout import Form, contiguous, is_contiguous
from gpuprims.core.operands import Operands, as_operands, is_plain
from gpuprims.core.outputs import Out, as_out
from gpuprims.core.taking import Step
from gpuprims.core.tensors import as_tensors
from gpuprims.core.warm_calls import Run, WarmCalls, runner_of
from gpuprims.errors import ArgumentError, DtypeError, ShapeError, did_you_mean, quoted
from gpuprims.expressions import computable, trace, typed
from gpuprims.expressions.masks import plain_array
from gpuprims.primitives.beginnings import to_out
from gpuprims.primitives.grouping.flat import flat
from gpuprims.primitives.map import copier
from gpuprims.primitives.stencil.calls import run
from gpuprims.primitives.stencil.grids import border_of, grid_along
from gpuprims.primitives.stencil.plan import plan_call
from gpuprims.primitives.stencil.request import StencilRequest
from gpuprims.primitives.stencil.stencils import Dtype, Stencil
from gpuprims.primitives.stencil.weights import of_sum, of_weights
from gpuprims.primitives.steps import steps_planner

_LABEL = "convolve"
# Most bytes of weights in the key of a warm call, and of host elements whose copy takes less time than a launch.
_FEW, _SHORT = 1 << 12, 1 << 19  # rows: convolve-short
_WARM = WarmCalls()
Ends = Literal["full", "same", "valid"]


@named_keywords
def convolve(
    a: Any,
    v: Any,
    mode: Ends = "full",
    *,
    out: Any = None,
    device: str | Device | None = None,
    **unknown: Any,
) -> Any:
    """Return the convolution of two arrays of one dimension, as :func:`numpy.convolve` does.

    Parameters
    ----------
    a, v : array_like
        Real numbers, of one dimension. The shorter one is read on the host in each call.
    mode : {"full", "same", "valid"}, default "full"
        Which sums to return: all, those in the middle, as many as the longer array has elements, or those in which all
        elements of the shorter array take part.
    out : array, optional
        Where to write: of the result's shape and dtype, on the device of the longer array. By default a new array.
    device : str or Device, optional
        Where to compute, for host arrays.

    Returns
    -------
    array
        ``out``, or a new array: of the dtype of ``a * v``. Integers have exact sums, which keep their low bits if they
        overflow, as in NumPy.

    Raises
    ------
    ArgumentError, ShapeError, DtypeError
        Another mode, an empty array, one of other than one dimension, complex numbers.
    ArrayError, DeviceMismatchError, NoVariantError
        As :func:`gpuprims.map`.

    Notes
    -----
    A stencil adds the products, of floats of 16 bits in float32; ``"full"`` takes a second launch for the sums at the
    end. The time grows with the product of the lengths: convolve by an FFT where both are long. Zeros of the shorter
    array keep infinities and NaN out.

    Examples
    --------
    >>> import gpuprims
    >>> gpuprims.convolve([1, 2, 3], [0, 1, 5], device="reference")
    array([ 0,  1,  7, 13, 15])
    >>> gpuprims.convolve([1, 2, 3], [0.5, 0.5], "valid", device="reference")
    array([1.5, 2.5])
    """
    if unknown:
        refuse_keywords(_LABEL, keywords_of(convolve), unknown)
    _check_mode(mode)
    if out is None and (read := as_arrays((a, v))) is not None:
        return as_tensors(convolve(read[0], read[1], mode, device=device))
    key, length = None, math.prod(getattr(a, "shape", (0,)))  # ``size`` of a tensor is a method
    v = _on_host(v, length)
    if out is None and is_plain(v) and v.nbytes <= _FEW and 0 < v.size <= length:
        key = _WARM.key_of((mode, v.dtype, v.shape, v.tobytes()), (a,), device)
        if (run_again := _WARM.find(key)) is not None:
            return run_again((a,))
    given = [plain_array(_LABEL, one) if isinstance(one, list | tuple) else one for one in (a, v)]
    first, second = (as_operands(_LABEL, (one,), device) for one in given)
    for operands in (first, second):
        _check(operands.natives[0].shape, operands.natives[0].dtype)
    long, short = (first, second) if first.natives[0].size >= second.natives[0].size else (second, first)
    weights = np.asarray(short.to_host(flat(short, short.natives[0])))
    return _convolved(long, weights, mode, as_out(long, out), key)


def _convolved(long: Operands, weights: np.ndarray, mode: Ends, out: Out | None, key: Key | None) -> Any:
    """Return the sums of the longer array, and keep their plan by a key."""
    result = _dtype(long.natives[0].dtype, weights)
    if mode == "same":
        request = _request(long, weights, (len(weights) - 1) // 2, result)
        return run(long, request, out, None, partial(_WARM.keep, key))
    if mode == "full" and long.on_host and long.natives[0].nbytes <= _SHORT:
        return _full_of_few(long, weights, result, out, key)
    sums = (_full if mode == "full" else _valid)(long, weights, result, key)
    (found,) = to_out(long, (sums,), out, (None,))
    return found.copy() if out is None and mode == "valid" and isinstance(found, np.ndarray) else found


def _dtype(element: Dtype, weights: np.ndarray) -> Dtype:
    return computable(np.result_type(element, weights.dtype), _LABEL)


def _on_host(v: Any, length: int) -> Any:
    """Return a few weights of a device as a host array, unless they are the longer array; others as they are."""
    device = device_of(v)
    if device is None or v.ndim != 1 or not 0 < v.size <= length or v.nbytes > _FEW:
        return v
    return np.asarray(device.driver.to_host(v))


def _check(shape: Sequence[int], dtype: Dtype) -> None:
    if len(shape) != 1 or not shape[0]:
        raise ShapeError(f"{_LABEL}: two arrays of one dimension, with elements; got shape {tuple(shape)}")
    if dtype.kind == "c":
        raise DtypeError(f"{_LABEL}: real numbers; got dtype {dtype} (convolve .real and .imag)")


def _check_mode(mode: Any) -> None:
    if not is_one_of(mode, get_args(Ends)):
        raise ArgumentError(f"{_LABEL}: mode= among full, same, valid; got {quoted(mode)}{_hint(mode)}")


def _hint(mode: Any) -> str:
    border = is_one_of(mode, ("nearest", "reflect", "mirror", "wrap", "constant"))
    return " (ndimage.convolve1d has borders)" if border else did_you_mean(mode, get_args(Ends))


class _Runs(list[Run]):
    """What runs the plans of a call again on other arrays, as far as it is known."""

    def note(self, plan: LaunchPlan, operands: Operands, step: Step | None, out: Out | None) -> None:
        """Add a plan that is done with its arrays once it has run."""
        if step is None:
            self.append(runner_of(plan, operands, out))


def _valid(long: Operands, weights: np.ndarray, result: Dtype, key: Key | None) -> Any:
    """Return the sums in which all weights take part, as a view of a longer array, and keep their plan by a key."""
    there, beyond, runs = _there(long), len(weights) - 1, _Runs()
    shape, cut = (there.natives[0].size - beyond,), there.driver.cut
    sums = run(there, _request(there, weights, 0, result), None, None, runs.note)
    if long.plain and runs:
        (first,), ready = runs, _reader(long)
        _WARM.keep_run(key, lambda arrays: cut(first((ready(arrays),)), beyond, shape))
    elif runs and long.as_given and long.natives[0].nbytes <= _SHORT and is_contiguous(long.forms[0]):
        (first,) = runs
        _WARM.keep_run(key, lambda arrays: first(arrays)[beyond:].copy())
    return there.cut(sums, beyond, shape)


def _full(long: Operands, weights: np.ndarray, result: Dtype, key: Key | None) -> Any:
    """Return all sums: one for each element, and those beyond the end, in which the last elements take part."""
    there, beyond, runs = _there(long), len(weights) - 1, _Runs()
    (array,) = there.natives
    size = int(array.size)
    sums = there.empty((size + beyond,), result)
    run(there, _request(there, weights, 0, result), as_out(there, there.cut(sums, 0, (size,))), None, runs.note)
    if beyond:
        last = there.instead(there.cut(array, size - beyond, (beyond,)))
        to = as_out(last, there.cut(sums, size, (beyond,)))
        run(last, _request(last, weights, beyond, result), to, None, runs.note)
    if long.plain and len(runs) == 1 + (beyond > 0):
        _WARM.keep_run(key, _again(runs, there.driver, _reader(long), size, beyond, result))
    return sums


def _reader(long: Operands) -> Run:
    """Return what finds the array in the arrays of a call, or copies it so that its elements lie side by side."""
    return itemgetter(0) if is_contiguous(long.forms[0]) else copier(long.natives[0], long.device)


def _again(runs: Sequence[Run], driver: Driver, ready: Run, size: int, beyond: int, result: Dtype) -> Run:
    """Return the function that convolves another array on the device with the same weights."""
    empty, cut = driver.empty, driver.cut

    def convolved(arrays: Sequence[Any]) -> Any:
        array, sums = ready(arrays), empty((size + beyond,), result)
        runs[0]((array, cut(sums, 0, (size,))))
        if beyond:
            runs[1]((cut(array, size - beyond, (beyond,)), cut(sums, size, (beyond,))))
        return sums

    return convolved


def _full_of_few(long: Operands, weights: np.ndarray, result: Dtype, out: Out | None, key: Key | None) -> Any:
    """Return all sums of few host elements by one launch on the elements padded with zeros."""
    (array,) = long.natives
    zeros = np.zeros(len(weights) - 1, array.dtype)

    def extended(arrays: Sequence[Any]) -> Sequence[Any]:
        return [np.concatenate([arrays[0], zeros]), *arrays[1:]]

    def keep(plan: LaunchPlan, operands: Operands, step: Step | None, out: Out | None) -> None:
        _WARM.keep(key, plan, operands, extended if step is None else lambda arrays: step(extended(arrays)))

    own = long.instead(*extended([array]))
    return run(own, _request(own, weights, 0, result), out, None, keep)


def _there(long: Operands) -> Operands:
    """Return the array, contiguous, where kernels read it."""
    return as_operands(_LABEL, (flat(long, long.natives[0]),), long.device)


def _request(operands: Operands, weights: np.ndarray, ahead: int, result: Dtype) -> StencilRequest:
    """Return the stencil whose first sum multiplies element ``ahead`` by the first weight."""
    (array,) = operands.natives
    return _request_of(int(array.size), array.dtype, weights, ahead, result, operands.device)


def _request_of(
    size: int, element: Dtype, weights: np.ndarray, ahead: int, result: Dtype, device: Device
) -> StencilRequest:
    turned = np.ascontiguousarray(weights[::-1])
    first = ahead - len(weights) + 1
    double = device.capabilities.fp64 or asks_for_device()
    stencil = _stencil(turned.tobytes(), turned.dtype, first, element, result, double)
    grid, _ = grid_along(_LABEL, (size,), (0,))
    return StencilRequest(_LABEL, stencil, border_of(_LABEL, "constant", 0, element), grid)


@cached_by_level(256)
def _stencil(given: bytes, dtype: Dtype, first: int, element: Dtype, result: Dtype, double: bool) -> Stencil:
    weights = np.frombuffer(given, dtype)
    reach = max(-first, first + len(weights) - 1)
    centred = np.pad(weights, (reach + first, reach - first - len(weights) + 1))
    if result.kind == "f":
        return of_weights(centred.astype(np.float64), element, result, double=double)
    # Unsigned sums keep their low bits on every device.
    value = np.dtype(np.uint64 if result.itemsize == 8 else np.uint32)
    finish = typed(trace(lambda sums, n: sums.astype(result), 2), (value, np.dtype(np.int64)), (result,))
    return of_sum(centred.astype(value), element, finish)


class _Weights(NamedTuple):
    """The arguments that a plan keeps: the second array and the mode."""

    v: np.ndarray
    mode: Ends


def _kept(v: Any = None, mode: Ends = "full") -> _Weights:
    if v is None:
        raise ArgumentError(f"plan of {_LABEL}: two arrays; got one (the plan keeps the second)")
    _check_mode(mode)
    operands = as_operands(_LABEL, (v,), None)
    _check(operands.natives[0].shape, operands.natives[0].dtype)
    return _Weights(np.array(operands.to_host(flat(operands, operands.natives[0]))), mode)


def _first(kept: _Weights, forms: tuple[Form, ...], alignment: int, device: Device, generation: int) -> LaunchPlan:
    """Return the plan of the stencil that computes most of the sums."""
    (form,) = forms
    _check(form.shape, form.dtype)
    if form.shape[0] < len(kept.v):
        rule = f"plan of {_LABEL}: an array at least as long as the second, which has {len(kept.v)} elements"
        raise ShapeError(f"{rule}; got {form.shape[0]} (exchange them)")
    (size,), ahead = form.shape, (len(kept.v) - 1) // 2 if kept.mode == "same" else 0
    request = _request_of(size, form.dtype, kept.v, ahead, _dtype(form.dtype, kept.v), device)
    return plan_call(request, (contiguous(form.dtype, (size,), alignment),), None, alignment, device, None, generation)


def _steps(kept: _Weights, long: Operands, out: Out | None) -> Any:
    return _convolved(long, kept.v, kept.mode, out, None)


PLANS = {_LABEL: steps_planner(_LABEL, _kept, _first, _steps, positional=("v", "mode"))}
