"""The launch plan of a compact."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.by_numpy import ByNumPy, Few
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.launch_plan import LaunchPlan, Sample, find_plan
from gpuprims.core.layout import Form, contiguous
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, as_out
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, DtypeError, ExpressionError, ShapeError, quoted
from gpuprims.expressions import Expr, expression, trace, typed
from gpuprims.expressions.exact import is_exact, prepared
from gpuprims.operators import Folding, find_op
from gpuprims.primitives.beginnings import to_out
from gpuprims.primitives.compact.chunks import prepare
from gpuprims.primitives.counted import CountedPlan
from gpuprims.primitives.fold import plan_scan
from gpuprims.primitives.fold_spec import Packed
from gpuprims.primitives.fold_variants import ScanVariant
from gpuprims.primitives.pipeline import Slab, boxes, compute_slabs, most_elements, whole_box

_INT64 = np.dtype(np.int64)
# Words that an element takes more if no vectors are loaded; with fewer, 64 items spilled 304 bytes (sm_90).
_ALONE = 0.75
_FEW = Few(near=2**14, woken=2**16)  # rows: by_numpy


class CompactRequest(NamedTuple):
    """A function that is true for the elements to keep; None for a mask in memory.

    With ``numbers``, the call returns the places of kept elements in C order, of this dtype, in place of the elements.
    """

    predicate: Expr | None
    numbers: np.dtype[Any] | None = None


def bind(
    arrays: tuple[Any, ...],
    device: str | Device | None = None,
    variant: str | Variant | None = None,
    mask: Any = None,
    out: Any = None,
) -> tuple[Operands, CompactRequest, Out | None, str | Variant | None]:
    """Trace the mask, the second of ``arrays`` or a keyword, and find the device of a call."""
    given = arrays if mask is None else (*arrays, mask)
    if len(given) != 2:
        raise ArgumentError(f"compact: an array and a mask; got {len(given)} argument(s)")
    x, mask = given
    predicate: Expr | None = None
    if callable(mask) or isinstance(mask, str):
        predicate = expression(mask, 1)
        if len(predicate.parameters) != 1 or not predicate.single:
            raise ExpressionError(f"compact: a mask from one element to one truth; got {quoted(mask)}")
    elif isinstance(mask, bool):  # a Python bool beside an array would take its dtype
        mask = np.asarray(mask)
    operands = as_operands("compact", (x,) if predicate else (x, mask), device, stored=True)
    chosen = None if variant is None else asked_by_name("compact", variant)
    return operands, CompactRequest(predicate), as_out(operands, out), chosen


@keeps_calls()
def plan_call(
    request: CompactRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything about a compact but its memory. It runs by its own kernels or by those of a scan."""
    shape, size = forms[0].shape, math.prod(forms[0].shape)
    _check(request, [(form.dtype, form.shape) for form in forms])
    kept = request.numbers or forms[0].dtype
    results = contiguous(kept, (size,), alignment), contiguous(_INT64, (), alignment)
    targets = contiguous(kept, shape, alignment), Form(_INT64, shape, (0,) * len(shape), 0, alignment)
    rank = np.dtype(np.int32) if size < 2**31 else _INT64
    folding, place = _ranking(request, tuple(form.dtype for form in forms), rank, size)
    what = device, forms, targets, results, folding, shape, tuple(range(len(shape))), variant
    packed: Packed = True if request.numbers is None else "places"
    ranked = partial(plan_scan, *what, commutative=True, inclusive=False, place=place, packed=packed, counted=1 - size)
    words = partial(_item_words, forms, packed)
    plan = ranked(primitive="compact", item_words=words, kind=CountedPlan, otherwise=ranked())
    scanned = plan.compiling

    def compiling(variant: Variant) -> Launch:
        if size and ScanVariant.of(variant).scratch == "bits":
            return prepare(device, variant, forms, results, request.predicate, numbered=request.numbers is not None)
        return scanned(variant)

    return replace(plan, compiling=compiling, by_numpy=_by_numpy(request, forms[0].dtype))


def _by_numpy(request: CompactRequest, dtype: np.dtype[Any]) -> ByNumPy | None:
    """Return how NumPy compacts, if it does."""
    keep = _kept if request.numbers is None else partial(_places, request.numbers)
    if request.predicate is None:
        return ByNumPy(keep, _FEW)
    keeps = typed(request.predicate, (dtype,), (np.dtype(np.bool_),))
    return ByNumPy(partial(_kept_by, prepared(keeps), keep), _FEW) if is_exact(keeps) else None


def _kept(x: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return the elements that a mask keeps. Indices, found without branches, take less time than the mask."""
    return x.take(mask.ravel().nonzero()[0])


def _places(dtype: np.dtype[Any], x: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return the places of the elements that a mask keeps."""
    return mask.ravel().nonzero()[0].astype(dtype, copy=False)


def _kept_by(keeps: Callable[..., tuple[Any, ...]], keep: Callable[..., np.ndarray], x: np.ndarray) -> np.ndarray:
    """Keep the elements for which a function is true."""
    (mask,) = keeps(x)
    return keep(x, mask if np.ndim(mask) else np.full(x.shape, mask))


def _check(request: CompactRequest, arrays: Sequence[tuple[np.dtype[Any], tuple[int, ...]]]) -> None:
    """Raise for a mask in memory that does not fit."""
    if request.predicate is None:
        (_, shape), (dtype, masked) = arrays
        if dtype != np.bool_:
            hint = "mask != 0, or x[indices] for indices" if dtype.kind in "iu" else "mask != 0"
            raise DtypeError(f"compact: a mask of dtype bool, or a function; got {dtype} (pass {hint})")
        if masked != shape:
            raise ShapeError(f"compact: a mask of the array's shape, {shape}; got {masked}")


def _item_words(forms: tuple[Form, ...], packed: Packed, vector: int) -> float:
    """Return the words of registers for an element: its own, and a place and a mark if it is alone in its vector.

    A mask, and a place in a tile, take as many as two bytes.
    """
    beside = 2 if packed == "places" else 2 * (len(forms) - 1)
    return max(forms[0].item, beside) / 4 + (_ALONE if vector == 1 else 0)


def sample(call: Sample) -> LaunchPlan:
    """Return the plan for ``call.size`` elements and a mask in memory."""
    forms = tuple(contiguous(dtype, (call.size,), 16) for dtype in (call.dtype, np.dtype(np.bool_)))
    return plan_call(CompactRequest(None), forms, None, 16, call.device, None, 0)


def run_in_slabs(request: CompactRequest, operands: Operands, out: Out | None, variant: str | Variant | None) -> Any:
    """Compact large host arrays, slab by slab."""
    arrays, x = operands.natives, operands.natives[0]
    _check(request, [(native.dtype, native.shape) for native in arrays])
    found, kept = np.empty(x.size, x.dtype), 0  # pages that no slab reaches take no memory

    def slabs() -> Iterator[Slab]:
        most = most_elements(operands.device, x.dtype, *(array.dtype for array in arrays))
        for box in boxes(whole_box(x.shape), range(x.ndim), most):
            yield Slab([array[box] for array in arrays], [])

    def compute(slab: Slab, there: Operands, memory: Callable[[], Out]) -> Sequence[Any]:
        nonlocal kept
        result = find_plan(plan_call, there, request, None, variant).run(there, None)
        slab.targets.append(found[kept : kept + result.size])  # now that the length is known
        kept += int(result.size)
        return [result]

    compute_slabs("compact", operands.device, slabs(), compute, new=True)
    found.resize(kept, refcheck=False)  # gives the rest back, without a copy; views of slabs are done with
    return operands.as_caller_wants(found) if out is None else to_out(operands, (found,), out, (0,))[0]


def _ranking(
    request: CompactRequest, arrays: tuple[np.dtype[Any], ...], rank: np.dtype[Any], size: int
) -> tuple[Folding, Any]:
    """Return the scan that counts kept elements, and the function of places; ``left`` is 0 at the last element."""
    predicate, numbers = request

    def keeps(elements: tuple[Any, ...]) -> Any:
        return (elements[-1] if predicate is None else predicate(*elements)) != 0

    def results(before: Any, left: Any, *elements: Any) -> Any:
        kept = elements[0] if numbers is None else (left + (size - 1)).astype(numbers)
        return kept, before + np.where(keeps(elements), 1, 0)

    def places(before: Any, left: Any, *elements: Any) -> Any:
        return np.where(keeps(elements), before, -1), np.where(left == 0, 0, -1)

    counted, outputs = (rank, _INT64, *arrays), (numbers or arrays[0], _INT64)
    n = len(arrays)
    folding = Folding(
        values=(rank,),
        outputs=outputs,
        map=typed(trace(lambda *given: keeps(given[:-1]), n + 1), (*arrays, _INT64), (rank,)),
        op=typed(find_op("sum").fold, (rank, rank), (rank,)),
        finish=typed(trace(results, n + 2), counted, outputs),
        identity=(rank.type(0),),
    )
    return folding, typed(trace(places, n + 2), counted, (_INT64, _INT64))
