"""digitize: the bin of each element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from gpuprims.core.arrays import copy_on
from gpuprims.core.call_keys import Key
from gpuprims.core.device import Device
from gpuprims.core.faults import KnownArrays
from gpuprims.core.guests import as_arrays
from gpuprims.core.keywords import check_flags, keywords_of, named_keywords, refuse_keywords
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.layout import is_contiguous
from gpuprims.core.operands import as_operands, is_plain
from gpuprims.core.tensors import as_tensors
from gpuprims.core.warm_calls import Run, WarmCalls, runner_of
from gpuprims.expressions import trace
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.searchsorted import searchsorted
from gpuprims.primitives.searchsorted.ascending import check_behind, start_check
from gpuprims.primitives.searchsorted.edges import elements_of, in_order
from gpuprims.primitives.searchsorted.plan import Side, bind, plan_call
from gpuprims.primitives.signatures import Array, Host, HostArray, Out

# Warm calls of elements on a device, and edges there that ascended.
_WARM, _ASCEND = WarmCalls(), KnownArrays()
# Most bytes of the host's edges in the key of a warm call.
_FEW = 1 << 12
_TURNED = trace(lambda place, count: count - place, 2)


@overload
def digitize(x: Any, bins: Any, right: bool = False, *, out: Out, device: str | Device | None = None) -> Out: ...
@overload
def digitize(x: Host, bins: Host, right: bool = False, *, device: str | Device | None = None) -> HostArray: ...
@overload
def digitize(x: Array, bins: Any, right: bool = False, *, device: str | Device | None = None) -> Array: ...


@named_keywords
def digitize(
    x: Any,
    bins: Any,
    right: bool = False,
    *,
    out: Any = None,
    device: str | Device | None = None,
    **unknown: Any,
) -> Any:
    """Return the bin that each element is in, as :func:`numpy.digitize` does.

    Parameters
    ----------
    x : array_like
        Real numbers, of any shape. NaN is larger than all others.
    bins : array_like
        Sorted edges, ascending or descending, 1-d. A call waits for a GPU to compare those that lie there, but for an
        array that ascended in an earlier call: if it does no more, a later call raises.
    right : bool, default False
        Include the right edge of each bin instead of the left one.
    out : array, optional
        Where to write: of the result's shape and dtype, on the device of ``x``. By default a new array.
    device : str or Device, optional
        Where to compute, for host arrays.

    Returns
    -------
    array of int64
        ``out``, or a new array: the bin of each element, in the shape of ``x``. 0 is before the first edge,
        ``len(bins)`` after the last.

    Raises
    ------
    ArgumentError, ShapeError
        Edges that are not sorted; edges that are not 1-d.
    DtypeError, ArrayError, DeviceMismatchError
        Complex numbers; else as :func:`gpuprims.searchsorted`.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> gpuprims.digitize(np.float32([0.5, 2, 9, -1]), np.float32([0, 1, 2, 4]), device="reference")
    array([1, 3, 4, 0])
    """
    if unknown:
        refuse_keywords("digitize", keywords_of(digitize), unknown)
    check_flags("digitize", right=right)
    side: Side = "left" if right else "right"
    if out is None and (read := as_arrays((x, bins))) is not None:
        x, bins = read
        return as_tensors(digitize(x, bins, right, device=device))
    own, key = bins, None
    if not is_plain(bins):
        if out is None:
            key = _WARM.key_of(side, (bins, x), device)
            if (run := _WARM.find(key)) is not None and bins in _ASCEND:
                return run((bins, x))
        found, own = _there(x, bins, side, device, key, ahead=out is None)
        if found is not None:
            return found
    elif out is None and bins.nbytes <= _FEW and not isinstance(x, np.ndarray):
        key = _WARM.key_of((side, bins.dtype, bins.shape, bins.tobytes()), (x,), device)
        if (run := _WARM.find(key)) is not None:
            return run((x,))
    edges, operands = in_order(own), elements_of(x, device)
    elements = operands.natives[0]
    there = edges.ascending if operands.on_host else copy_on(operands.device, edges.ascending)
    found = searchsorted(there, elements, side, out=out, device=operands.device)
    if edges.rise and own is bins and operands.plain and key is not None:
        _keep_edges(key, edges.ascending, elements, side, operands.device)
    if not edges.rise and elements.size:
        found = map_arrays(_TURNED, found, np.int64(own.size), out=out, device=operands.device)
    return operands.to_caller(found) if out is None else out


def _there(
    x: Any, bins: Any, side: Side, device: str | Device | None, key: Key | None, *, ahead: bool
) -> tuple[Any, np.ndarray]:
    """Return the result for ascending edges on the device of ``x``, or None, and edges on the host.

    With ``ahead``, the search is launched before the host knows whether the edges ascend. Devices that share the
    host's memory have no gain by that.
    """
    operands = as_operands("digitize", (x,), device)
    given = as_operands("digitize", (bins,), operands.device)
    (native,), (elements,) = given.natives, operands.natives
    there = not (given.on_host or operands.on_host or operands.driver.shares_host_memory) and native.ndim == 1
    if ahead and there and "c" not in (native.dtype.kind, elements.dtype.kind) and is_contiguous(given.forms[0]):
        ascend = start_check(given)
        found = searchsorted(native, elements, side, device=operands.device)
        if ascend():
            if native is bins and elements is x:
                _keep(key, native, elements, side, operands.device)
            return operands.to_caller(found), np.empty(0)
    return None, np.asarray(given.to_host(native))


def _keep(key: Key | None, edges: Any, elements: Any, side: Side, device: Device) -> None:
    """Keep what searches in edges that ascended: it does not wait for their check."""
    search = _searching(edges, elements, side)

    def run(arrays: Sequence[Any]) -> Any:
        check_behind(device, arrays[0], _ASCEND)
        return search(arrays)

    _ASCEND.add(edges)
    _WARM.keep_run(key, run)


def _keep_edges(key: Key, edges: np.ndarray, elements: Any, side: Side, device: Device) -> None:
    """Keep what searches in a copy of the host's edges, which stays on the device."""
    search = _searching(copy_on(device, edges), elements, side)
    _WARM.keep_run(key, lambda arrays: search((copy_on(device, edges), *arrays)))


def _searching(edges: Any, elements: Any, side: Side) -> Run:
    """Return the function that searches for the places of elements in edges like these, on their device."""
    operands, request, _, _ = bind((edges, elements), side)
    return runner_of(find_plan(plan_call, operands, request, None, None), operands)
