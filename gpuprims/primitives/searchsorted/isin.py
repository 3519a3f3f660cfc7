"""isin: which elements are among others."""

from __future__ import annotations

from typing import Any, Unpack, overload

import numpy as np

from gpuprims.core.arrays import native_of
from gpuprims.core.device import Device
from gpuprims.core.guests import as_arrays
from gpuprims.core.keywords import keywords_of, named_keywords, refuse_keywords
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.registry import REGISTRY
from gpuprims.core.taking import with_the_same
from gpuprims.core.tensors import as_tensors
from gpuprims.core.warm_calls import WarmCalls
from gpuprims.expressions.masks import plain_array
from gpuprims.primitives.searchsorted.members import Kind, bind_isin, plan_call, sorting
from gpuprims.primitives.signatures import Array, Host, HostArray, IsinKeywords

_WARM = WarmCalls()
# Bytes of elements of the host by whose values calls on a device's arrays are found.
_FEW = 1024


@overload
def isin(
    element: Host,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    **keywords: Unpack[IsinKeywords],
) -> HostArray: ...
@overload
def isin(
    element: Array,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    **keywords: Unpack[IsinKeywords],
) -> Array: ...


@named_keywords
def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: Kind | None = None,
    out: Any = None,
    device: str | Device | None = None,
    variant: str | None = None,
    **unknown: Any,
) -> Any:
    """Test which elements of an array are among others, as :func:`numpy.isin` does.

    Parameters
    ----------
    element : array_like
        The elements to test, of any shape.
    test_elements : array_like
        The elements to compare them with, of any shape. They may be on the host if ``element`` is on a device.
    assume_unique : bool, default False
        Accepted for compatibility with NumPy, without effect.
    invert : bool, default False
        True to return which elements are not among the others.
    kind : {"sort", "table"}, optional
        ``"sort"`` sorts the test elements and searches in them; ``"table"``, for integers and bools, looks up in a
        table of their range, which is made on the host. By default a table if it is small for so many elements, and
        the test elements lie on the host.
    out : array, optional
        Where to write: of the result's shape and dtype, on the device of ``element``. By default a new array.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel of :func:`gpuprims.searchsorted` to use; with it, the test elements are sorted.

    Returns
    -------
    array of bool
        ``out``, or a new array: of the shape of ``element``. NaN is among nothing.

    Raises
    ------
    ArgumentError
        Another ``kind``; a ``variant`` beside ``kind="table"``, or a range that makes the table too large.
    DtypeError
        Floats with ``kind="table"``.
    ArrayError, DeviceMismatchError, NoVariantError
        As :func:`gpuprims.map`.

    Notes
    -----
    Elements are compared in the dtype that :func:`numpy.result_type` gives of both arrays. The test elements are sorted
    where the search runs. On CPUs, elements are compared with each of up to eight test elements, without a search.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> gpuprims.isin(np.float32([1, 2, 3]), [3, 1], device="reference")
    array([ True, False,  True])
    >>> gpuprims.isin(np.int32([[7, 8], [9, 7]]), 7, invert=True, device="reference")
    array([[False,  True],
           [ True, False]])
    """
    if unknown:
        refuse_keywords("isin", keywords_of(isin), unknown)
    among = test_elements
    if not hasattr(among, "dtype"):
        among = plain_array("isin", among)
        if among.dtype.kind in "OSU":
            native_of("isin", test_elements)  # raises, and names what was passed
    told: tuple[Any, ...] | None = None
    if out is None and type(among) is np.ndarray and among.nbytes <= _FEW and type(element) in REGISTRY.facts_by_class:
        told = among.dtype.char, among.shape, among.tobytes()
        key, given, run = _WARM.find_into((assume_unique, invert, kind, variant, told), (element,), None, device)
    else:
        key, given, run = _WARM.find_into((assume_unique, invert, kind, variant), (element, among), out, device)
    if run is not None:
        return run(given)
    if out is None and (read := as_arrays((element, among))) is not None:
        element, among = read
        return as_tensors(isin(element, among, assume_unique, invert, kind=kind, device=device, variant=variant))
    operands, request, result, chosen = bind_isin((element, among), assume_unique, invert, kind, out, device, variant)
    plan = find_plan(plan_call, operands, request, result, chosen)
    if told is not None:
        _WARM.keep(key, plan, operands, with_the_same(operands, 1))
    elif (step := sorting(operands, request, among, plan, asked=kind is not None or variant is not None)) is not None:
        _WARM.keep(key, plan, operands, step, result)
    return plan.run(operands, result)
