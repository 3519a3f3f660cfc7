"""How isin looks for elements: by a search in the sorted ones, or in a table of their range."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, reduce
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from gpuprims.core.arrays import native_of
from gpuprims.core.by_numpy import ByNumPy, Compute, Few
from gpuprims.core.device import Device, device_of
from gpuprims.core.keywords import check_flags, is_one_of
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.layout import Form, contiguous
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, as_out, result_forms
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.taking import Step
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, DtypeError, did_you_mean, quoted
from gpuprims.expressions import Expr, trace
from gpuprims.primitives.chain import Chain
from gpuprims.primitives.grouping.flat import flat
from gpuprims.primitives.map.plan import MapRequest
from gpuprims.primitives.map.plan import plan_call as plan_map
from gpuprims.primitives.searchsorted.by_numpy import compares, members_by_numpy
from gpuprims.primitives.searchsorted.plan import SearchRequest
from gpuprims.primitives.searchsorted.plan import plan_call as plan_search
from gpuprims.primitives.sort.calls import in_order
from gpuprims.primitives.take.plan import TakeRequest
from gpuprims.primitives.take.plan import plan_call as plan_take

Kind = Literal["sort", "table"]
# Bytes of a table for each element and each one to find, up to which it is chosen, as NumPy does.
_MOST_EACH = 6
# Elements of the host that NumPy sorts in less time than a launch takes: 1,024 float32 in 8 us.
_FEW = 2**10
# Keys above which a table, if it is small, takes less time than comparisons with each element (row members-compared).
_BESIDE_TABLE = 2**18
# Bytes of the largest table.
_MOST = 2**30
_BOOL = np.dtype(np.bool_)
_IN_TABLE = Few(near=2**12, woken=2**14)  # rows: by_numpy


class MembersRequest(NamedTuple):
    """How to look among elements: the answer for members, and the lowest element and the length of a table, if any."""

    member: bool
    low: int = 0
    length: int | None = None


def bind_isin(
    arrays: tuple[Any, ...],
    assume_unique: bool = False,
    invert: bool = False,
    kind: Kind | None = None,
    out: Any = None,
    device: str | Device | None = None,
    variant: str | Variant | None = None,
) -> tuple[Operands, MembersRequest, Out | None, str | Variant | None]:
    """Find the device of a call, and put what kernels look in beside its array: sorted elements, or a table."""
    if len(arrays) != 2:
        raise ArgumentError(f"isin: elements, and those to look among; got {len(arrays)} argument(s)")
    if kind is not None and not is_one_of(kind, get_args(Kind)):
        hint = did_you_mean(kind, get_args(Kind))
        raise ArgumentError(f"isin: kind= 'sort', 'table' or None; got {quoted(kind)}{hint}")
    check_flags("isin", assume_unique=assume_unique, invert=invert)
    element, test_elements = arrays
    operands = as_operands("isin", (element if hasattr(element, "dtype") else native_of("isin", element),), device)
    among, member = _placed(test_elements, operands), not invert
    small = kind is None and variant is None and not _is_few(operands, among) and _has_small_range(operands, among)
    if kind == "table" or small:
        if variant is not None:
            raise ArgumentError("isin: variant= for searches; got one beside kind='table'")
        low, table = _table(operands, np.ravel(among.to_host(among.natives[0])), member=member)
        there = table if operands.on_host else operands.device.asarray(table)
        operands = operands.beside(there)
        return operands, MembersRequest(member, low, table.size), as_out(operands, out), None
    asked = None if variant is None else asked_by_name("searchsorted", variant)
    operands = operands.beside(_in_order(among, operands))
    return operands, MembersRequest(member), as_out(operands, out), asked


@keeps_calls()
def plan_call(
    request: MembersRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything about a call but its memory."""
    where = written, alignment, device, variant, generation
    if request.length is None and variant is None and compares(device, forms[1], forms[0].dtype):
        return _comparing(request.member, forms, written, alignment, device, generation)
    if request.length is None:
        return exchanged(plan_search(SearchRequest("left", request.member), forms[::-1], *where))
    chain, results = Chain(device, forms, generation), (contiguous(_BOOL, forms[0].shape, alignment),)
    (target,) = result_forms("isin", results, written)
    element, table = chain.given
    place = _place(request.low, request.length, forms[0].dtype)
    (places,) = chain.add(plan_map, MapRequest(place), element)
    chain.add(plan_take, TakeRequest(None, "clip"), table, places, into=[(0, target)])
    plan = chain.plan(results, variant, first=1)
    plan.by_numpy = ByNumPy(lambda x, table: table.take(place(x)), _IN_TABLE)
    return plan


def _comparing(
    member: bool,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    generation: int,
) -> LaunchPlan:
    """Return the plan that compares each element with each of the others."""
    chain, results = Chain(device, forms, generation), (contiguous(_BOOL, forms[0].shape, alignment),)
    (target,) = result_forms("isin", results, written)
    x, among = chain.given
    each = [among.part(k, k + 1).reshaped(()) for k in range(forms[1].shape[0])]
    chain.add(plan_map, MapRequest(_any_equal(len(each), member)), x, *each, into=[(0, target)])
    plan = chain.plan(results, None)
    by_numpy = members_by_numpy(forms[1], forms[0].dtype, member=member)
    plan.by_numpy = by_numpy and by_numpy._replace(compute=_exchanged(by_numpy.compute))
    return plan


@cache
def _any_equal(count: int, member: bool) -> Expr:
    """Return the function that compares its first argument with each of the others."""
    compare, join = (np.equal, np.bitwise_or) if member else (np.not_equal, np.bitwise_and)
    return trace(lambda x, *others: reduce(join, [compare(x, one) for one in others]), count + 1)


def exchanged(plan: LaunchPlan) -> LaunchPlan:
    """Return the plan of a search whose keys come before the array."""
    by_numpy = plan.by_numpy and plan.by_numpy._replace(compute=_exchanged(plan.by_numpy.compute))
    return replace(plan, inputs=[1 - k for k in plan.inputs], by_numpy=by_numpy)


def _exchanged(compute: Compute) -> Compute:
    return lambda first, second: compute(second, first)


def _placed(test_elements: Any, operands: Operands) -> Operands:
    """Return the elements to look among in place, in a dtype that kernels compute with."""
    given = test_elements if hasattr(test_elements, "dtype") else np.asarray(test_elements)
    if not given.size:
        given = np.zeros(0, operands.natives[0].dtype)
    return as_operands("isin", (given,), None if device_of(given) else operands.device)


def _in_order(among: Operands, operands: Operands) -> Any:
    """Sort the elements to look among, on the device of the others; a few of the host there."""
    (array,) = among.natives
    if among.on_host and array.size <= _FEW:
        if operands.in_place:
            return _ordering_few(array.dtype, operands.natives[0].dtype)(array)
        ordered = np.sort(array, axis=None)
        return ordered if operands.on_host else operands.device.asarray(ordered)
    if operands.in_place or among.device is not operands.device:
        array = among.to_host(array)
    return in_order("isin", "keys", (flat(operands, array),), operands.device, real=False)


def _ordering_few(among: np.dtype[Any], dtype: np.dtype[Any]) -> Callable[[np.ndarray], np.ndarray]:
    """Return how few elements to look among are sorted: as floats of ``dtype``, if those to find are.

    Numbers that ``dtype`` lacks become NaN, which is among nothing.
    """
    wide = np.result_type(among, dtype)
    if wide == dtype or dtype.kind != "f" or wide.kind != "f":

        def ordered(array: np.ndarray) -> np.ndarray:
            flat = array.flatten()
            flat.sort()
            return flat

        return ordered

    def narrowed(array: np.ndarray) -> np.ndarray:
        exact = array.ravel().astype(wide, copy=False)
        with np.errstate(over="ignore"):
            narrow = exact.astype(dtype)
        narrow[narrow != exact] = np.nan
        narrow.sort()
        return narrow

    return narrowed


def sorting(operands: Operands, request: MembersRequest, among: Any, plan: LaunchPlan, *, asked: bool) -> Step | None:
    """Return the step that sorts what calls like this one look among.

    There is none if it depends on elements whether they look in a table, or if kernels copy what they look among.
    """
    device, dtype, integers = operands.device, operands.natives[0].dtype, True
    for native in operands.natives:
        integers = integers and native.dtype.kind in "iub"
    if request.length is not None or not (asked or plan.numpys(operands) or not (operands.on_host and integers)):
        return None
    if operands.on_host and not isinstance(among, np.ndarray):  # of a library whose arrays are converted
        return None
    if operands.on_host and among.size <= _FEW:
        order = _ordering_few(among.dtype, dtype)
        return lambda given: (given[0], order(given[1]), *given[2:])
    if among.ndim != 1:
        return None

    def step(given: Sequence[Any]) -> Sequence[Any]:
        return given[0], in_order("isin", "keys", (given[1],), device, real=False), *given[2:]

    return step


def _is_few(operands: Operands, among: Operands) -> bool:
    """Return True for few numbers of the host, which NumPy finds without a table that is made before."""
    if not (operands.in_place and among.on_host):
        return False
    (x,), (found,) = operands.natives, among.natives
    few = members_by_numpy(contiguous(found.dtype, (found.size,), 1), x.dtype, member=True)
    if found.size > _FEW or x.size > _BESIDE_TABLE or few is None:
        return False
    return few.takes(operands.driver, (x, found), ())


def _range(among: np.ndarray) -> tuple[int, int]:
    return (int(among.min()), int(among.max())) if among.size else (0, -1)


def _has_small_range(operands: Operands, among: Operands) -> bool:
    """Return True for integers of the host whose table is small beside the number of elements."""
    (x,), (found,) = operands.natives, among.natives
    if not among.on_host or x.dtype.kind not in "iub" or found.dtype.kind not in "iub":
        return False
    low, high = _range(found)
    return high - low <= _MOST_EACH * (x.size + found.size) and high - low < _MOST


def _table(operands: Operands, among: np.ndarray, *, member: bool) -> tuple[int, np.ndarray]:
    """Return the lowest of the elements to look among, and a table with a place for all others at its end."""
    (x,) = operands.natives
    for name, dtype in (("element", x.dtype), ("test_elements", among.dtype)):
        if dtype.kind not in "iub":
            raise DtypeError(f"isin: {name} of integers or bools with kind='table'; got dtype {dtype}")
    least, most = (0, 1) if x.dtype.kind == "b" else (int(np.iinfo(x.dtype).min), int(np.iinfo(x.dtype).max))
    among = among.view(np.uint8) if among.dtype.kind == "b" else among  # comparable with any integer
    among = among[(among >= least) & (among <= most)]
    low, high = _range(among)
    if high - low >= _MOST:
        rule = f"isin: test_elements in a range of less than {_MOST} with kind='table'"
        raise ArgumentError(f"{rule}; got {low} to {high}")
    wide, table = _wide(x.dtype), np.full(high - low + 2, not member)
    table[(among.astype(wide) - wide.type(low)).astype(np.int64)] = member
    return low, table


def _wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype that holds the distances of elements."""
    return np.dtype(np.uint64 if dtype == np.uint64 else np.int64)


def _place(low: int, length: int, dtype: np.dtype[Any]) -> Expr:
    """Return the function from an element to its place in a table."""
    wide, others = _wide(dtype), length - 1

    def place(number: Any) -> Any:
        within = (number.astype(wide) >= low) & (number.astype(wide) <= low + others - 1)
        return np.where(within, number.astype(wide) - wide.type(low), others).astype(np.int32)

    return trace(place, 1)
