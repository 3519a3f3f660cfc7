"""The launch plan that finds runs of equal neighbours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.launch_plan import LaunchPlan, Sample, nothing, with_statuses
from gpuprims.core.layout import Form, Layout, contiguous, plan_layout
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.traits import MOVES, CallTraits
from gpuprims.core.variant import Variant
from gpuprims.expressions import trace, typed
from gpuprims.operators import Folding
from gpuprims.primitives.counted import CountedPlan
from gpuprims.primitives.rle.spec import RleSpec, differing
from gpuprims.primitives.rle.variants import RleVariant

T = TypeVar("T")
_WORD, _INT32, _INT64 = np.dtype(np.uint32), np.dtype(np.int32), np.dtype(np.int64)
_HALF = 0xFFFF


class EncodeRequest(NamedTuple):
    """The wanted results: the first elements of runs; their begins, followed by the size, or their lengths.

    With ``equal_nan``, NaN equals NaN.
    """

    values: bool = True
    begins: bool = False
    lengths: bool = False
    equal_nan: bool = True

    def of_wanted(self, *each: T) -> list[T]:
        """Return what belongs to the wanted ones among first elements, begins and lengths."""
        return [one for one, asked in zip(each, (self.values, self.begins, self.lengths), strict=True) if asked]


@keeps_calls()
def plan_call(
    request: EncodeRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Plan a call for a contiguous array, in C order."""
    size, dtype = math.prod(forms[0].shape), forms[0].dtype
    results = [contiguous(one, (length,), alignment) for one, length in _results(request, size, dtype)]
    results.append(contiguous(_INT64, (), alignment))
    layout = _layout(forms[0], size, results)

    def compiling(chosen: Variant) -> Launch:
        if not size:
            return nothing
        able, places = device.capabilities, request.begins or request.lengths
        fitted = RleVariant.of(chosen).gathering(places=places, item=dtype.itemsize, size=size, capabilities=able)
        tiles = -(-size // fitted.tile)
        most = fitted.groups(fitted.most_groups, able)  # as many for arrays of any size, which share kernels
        spec = RleSpec.of(
            _folding(dtype, tuple(one.dtype for one in results)),
            layout,
            inclusive=False,
            vector=min(layout.width_of(0), fitted.items),
            differ=differing(dtype, equal_nan=request.equal_nan),
            gathers=request.values,
            begins=request.begins,
            lengths=request.lengths,
            lookups=-(-most // fitted.block),
        )
        launch = device.kernel(fitted, spec).prepare(min(tiles, most), layout.pack(0), 1, size, tiles)
        return with_statuses(device, launch, 1 + tiles)

    lengths = partial(_lengths, request)
    return CountedPlan(
        *(device, "rle", traits_of(dtype, size), results, compiling), asked=variant, inputs=(0,), lengths=lengths
    )


def _layout(form: Form, size: int, results: Sequence[Form]) -> Layout:
    """Return the layout of the flattened array and the results; the last one is a number."""
    shape = (size + 1,)  # an axis of one element would have no stride
    *along, number = results
    side_by_side = [contiguous(one.dtype, shape, one.alignment) for one in along]
    x = form._replace(shape=shape, strides=(form.item,))
    return plan_layout((x, *side_by_side, number._replace(shape=shape, strides=(0,))), shape, (0,))


def traits_of(dtype: np.dtype[Any], size: int) -> CallTraits:
    """Return the traits of a call."""
    return CallTraits((dtype,), size, value_bytes=dtype.itemsize, **MOVES)


def _results(request: EncodeRequest, size: int, dtype: np.dtype[Any]) -> list[tuple[np.dtype[Any], int]]:
    """Return the dtype and the largest length of each wanted result."""
    index = _INT32 if size < 2**31 else _INT64
    return request.of_wanted((dtype, size), (index, size + 1), (_INT64, size))


def _lengths(request: EncodeRequest, count: int) -> Sequence[int]:
    """Return the length of each result, given the number of runs."""
    return request.of_wanted(count, count + 1, count)


@cache
def _folding(dtype: np.dtype[Any], written: tuple[np.dtype[Any], ...]) -> Folding:
    """Return how statuses of tiles are joined: the sum of their runs, and the place of the last begin."""

    def joined(a: Any, b: Any) -> Any:
        return np.maximum(a - (a & _HALF), b - (b & _HALF)) + ((a + b) & _HALF)

    return Folding(
        values=(_WORD,),
        outputs=written,
        map=typed(trace(lambda x, j: j, 2), (dtype, _INT64), (_WORD,)),
        op=typed(trace(joined, 2), (_WORD, _WORD), (_WORD,)),
        finish=typed(trace(lambda runs, left: (runs,) * len(written), 2), (_WORD, _INT64), written),
        identity=(_WORD.type(0),),
    )


def sample(call: Sample) -> LaunchPlan:
    """Return the plan for values and lengths of the runs of ``call.size`` elements."""
    forms = (contiguous(call.dtype, (call.size,), 16),)
    return plan_call(EncodeRequest(lengths=True), forms, None, 16, call.device, None, 0)
