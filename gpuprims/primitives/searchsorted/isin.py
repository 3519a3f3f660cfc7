"""isin: which elements are among others."""

from __future__ import annotations

from typing import Any, Literal, Unpack, get_args, overload

import numpy as np

from gpuprims.core.device import Device, device_of
from gpuprims.core.keywords import keywords_of, named_keywords, refuse_keywords
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, DtypeError, did_you_mean, quoted
from gpuprims.primitives.grouping.flat import flat
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.searchsorted.plan import SearchRequest, plan_call
from gpuprims.primitives.signatures import Array, Host, HostArray, IsinKeywords
from gpuprims.primitives.sort.calls import in_order
from gpuprims.primitives.take import take

Kind = Literal["sort", "table"]
# Bytes of a table for each element and each one to find, up to which it is chosen, as NumPy does.
_MOST_EACH = 6
# Bytes of the largest table.
_MOST = 2**30


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
    device: str | Device | None = None,
    variant: str | None = None,
    **unknown: Any,
) -> Any:
    """Return which elements are among others, as :func:`numpy.isin` does.

    Parameters
    ----------
    element : array_like
        The elements to look for, of any shape.
    test_elements : array_like
        Those to look among, of any shape. They may lie on the host beside an ``element`` on a device.
    assume_unique : bool, default False
        Makes no difference; NumPy has it.
    invert : bool, default False
        True to return which elements are not among the others.
    kind : {"sort", "table"}, optional
        ``"sort"`` sorts the test elements and searches in them; ``"table"``, for integers and bools, looks up in a
        table of their range, which is made on the host. By default a table if it is small for so many elements, and
        the test elements lie on the host.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel of :func:`gpuprims.searchsorted` to use; with it, the test elements are sorted.

    Returns
    -------
    array of bool
        Of the shape of ``element``. NaN is among nothing.

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
    where the search runs.

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
    if kind is not None and kind not in get_args(Kind):
        hint = did_you_mean(kind, get_args(Kind))
        raise ArgumentError(f"isin: kind= 'sort', 'table' or None; got {quoted(kind)}{hint}")
    element = element if hasattr(element, "dtype") else np.asarray(element)
    operands = as_operands("isin", (element,), device)
    among = _placed(test_elements, operands)
    if kind == "table" or (kind is None and variant is None and _has_small_range(operands, among)):
        if variant is not None:
            raise ArgumentError("isin: variant= for searches; got one beside kind='table'")
        return _by_table(operands, np.ravel(among.to_host(among.natives[0])), member=not invert)
    both = operands.instead(_in_order(among, operands), operands.natives[0])
    request = SearchRequest("left", not invert)
    asked = None if variant is None else asked_by_name("searchsorted", variant)
    return find_plan(plan_call, both, request, None, asked).run(both, None)


def _placed(test_elements: Any, operands: Operands) -> Operands:
    """Return the elements to look among where they lie, in a dtype that kernels compute with."""
    given = test_elements if hasattr(test_elements, "dtype") else np.asarray(test_elements)
    if not given.size:
        given = np.zeros(0, operands.natives[0].dtype)
    return as_operands("isin", (given,), None if device_of(given) else operands.device)


def _in_order(among: Operands, operands: Operands) -> Any:
    """Sort the elements to look among, on the device of the others."""
    (array,) = among.natives
    if operands.in_place or among.device is not operands.device:
        array = among.to_host(array)
    return in_order("isin", "keys", (flat(operands, array),), operands.device, real=False)


def _range(among: np.ndarray) -> tuple[int, int]:
    return (int(among.min()), int(among.max())) if among.size else (0, -1)


def _has_small_range(operands: Operands, among: Operands) -> bool:
    """Return True for integers of the host whose table takes few bytes for so many elements."""
    (x,), (found,) = operands.natives, among.natives
    if not among.on_host or x.dtype.kind not in "iub" or found.dtype.kind not in "iub":
        return False
    low, high = _range(found)
    return high - low <= _MOST_EACH * (x.size + found.size) and high - low < _MOST


def _by_table(operands: Operands, among: np.ndarray, *, member: bool) -> Any:
    """Look elements up in a table of those to look among, with a place for all others at its end."""
    (x,) = operands.natives
    for name, dtype in (("element", x.dtype), ("test_elements", among.dtype)):
        if dtype.kind not in "iub":
            raise DtypeError(f"isin: {name} of integers or bools with kind='table'; got dtype {dtype}")
    least, most = (0, 1) if x.dtype.kind == "b" else (int(np.iinfo(x.dtype).min), int(np.iinfo(x.dtype).max))
    among = among[(among >= least) & (among <= most)]
    low, high = _range(among)
    if high - low >= _MOST:
        rule = f"isin: test_elements in a range of less than {_MOST} with kind='table'"
        raise ArgumentError(f"{rule}; got {low} to {high}")
    wide, others = np.dtype(np.uint64 if x.dtype == np.uint64 else np.int64), high - low + 1
    table = np.full(others + 1, not member)
    table[(among.astype(wide) - wide.type(low)).astype(np.int64)] = member

    def place(number: Any) -> Any:
        within = (number.astype(wide) >= low) & (number.astype(wide) <= high)
        return np.where(within, number.astype(wide) - wide.type(low), others).astype(np.int32)

    device = operands.device
    there = x if operands.in_place or not operands.on_host else device.asarray(x)
    places = map_arrays(place, there, device=device)
    looked_up = take(table if operands.in_place else device.asarray(table), places, mode="clip", device=device)
    return operands.to_caller(looked_up)
