"""Stable partitions by pivots: a scan of the counts of smaller and equal elements gives each element its place."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.layout import Form, contiguous
from gpuprims.core.outputs import result_forms
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.variant import Variant
from gpuprims.expressions import Expr, trace, typed
from gpuprims.operators import Folding
from gpuprims.primitives.fold import plan_scan
from gpuprims.primitives.reduce.plan import ReduceRequest

_INT64 = np.dtype(np.int64)
# Two counts below 2^31 share a word; the second one starts at this bit.
_SECOND = 31
_FIRST = (1 << _SECOND) - 1


class MoveRequest(NamedTuple):
    """The axis of the partition; with ``places``, the indices of elements move along."""

    axis: int
    places: bool


def _before(x: Any, pivot: Any, dtype: np.dtype[Any]) -> Any:
    """Return True for elements that NumPy sorts before the pivot."""
    return (x < pivot) | (np.isnan(pivot) & (x == x)) if dtype.kind == "f" else x < pivot


def _same(x: Any, pivot: Any, dtype: np.dtype[Any]) -> Any:
    return (x == pivot) | (np.isnan(pivot) & np.isnan(x)) if dtype.kind == "f" else x == pivot


def _words(n: int) -> int:
    """Return how many words hold the two counts of a row of ``n``: elements before a pivot, and equal to it."""
    return 1 if n <= _FIRST else 2


def _counts(x: Any, pivot: Any, dtype: np.dtype[Any], words: int) -> tuple[Any, ...]:
    """Return an element's contribution to both counts."""
    before, same = _before(x, pivot, dtype), _same(x, pivot, dtype)
    if words == 1:
        return (np.where(before, 1, np.where(same, 1 << _SECOND, 0)),)
    return np.where(before, 1, 0), np.where(same, 1, 0)


def _split(words: Any) -> tuple[Any, Any]:
    """Return both counts."""
    return tuple(words) if len(words) == 2 else (words[0] & _FIRST, words[0] >> _SECOND)


def requests_of_counts(dtype: np.dtype[Any], axis: int, n: int) -> list[ReduceRequest]:
    """Return the reductions that count, in rows of ``n``, the elements before the pivot and equal to it."""
    words = _words(n)
    marks = [trace(lambda x, pivot, word=word: _counts(x, pivot, dtype, words)[word], 2) for word in range(words)]
    return [ReduceRequest("sum", one, axis, keepdims=True) for one in marks]


@keeps_calls()
def plan_moves(
    request: MoveRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Plan a stable partition of the first array, given the pivots and the counts of elements before and equal to them.

    With ``places``, a further array has the indices to move along with the elements. Without this array, elements still
    are in their original places.
    """
    x, shape = forms[0].dtype, forms[0].shape
    dtypes = tuple(form.dtype for form in forms)
    carried = (x, _INT64)[: 1 + request.places]
    results = [contiguous(dtype, shape, alignment) for dtype in carried]
    targets = result_forms("partition", results, written)
    words = _words(shape[request.axis])
    own, moved = (_INT64,) * words, len(forms) > 2 + words
    op = trace(lambda *each: tuple(a + b for a, b in zip(each[:words], each[words:], strict=True)), 2 * words)
    folding = Folding(
        values=own,
        outputs=carried,
        map=typed(_marks(x, len(forms), words), (*dtypes, _INT64), own),
        op=typed(op, own * 2, own),
        finish=typed(_carried(len(forms), words, moved, request.places), (*own, _INT64, *dtypes), carried),
        identity=(np.int64(0),) * words,
    )
    place = typed(_place(x, len(forms), words, len(carried)), (*own, _INT64, *dtypes), (_INT64,) * len(carried))
    axes = (request.axis,)
    what = device, forms, targets, results, folding, shape, axes, variant
    return plan_scan(*what, commutative=True, inclusive=False, place=place, counted=0)


def _marks(dtype: np.dtype[Any], arrays: int, words: int) -> Expr:
    return trace(lambda x, pivot, *_: _counts(x, pivot, dtype, words), arrays + 1)


def _carried(arrays: int, words: int, moved: bool, places: bool) -> Expr:
    def carried(*given: Any) -> Any:
        j, x, *others = given[words:]
        return (x, others[-1] if moved else j) if places else x

    return trace(carried, words + arrays + 1)


def _place(dtype: np.dtype[Any], arrays: int, words: int, results: int) -> Expr:
    def place(*given: Any) -> Any:
        less, same = _split(given[:words])
        j, x, pivot, *others = given[words:]
        lesser, equals = _split(others[:words])
        after = lesser + equals + (j - less - same)
        to = np.where(_before(x, pivot, dtype), less, np.where(_same(x, pivot, dtype), lesser + same, after))
        return (to,) * results

    return trace(place, words + arrays + 1)
