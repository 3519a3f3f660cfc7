"""The launches of compact/cpu_chunks: one finds a bit for each element, the next copies the kept elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gpuprims.core.codegen.operands import stored
from gpuprims.core.counters import with_scratch
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.core.layout import Form, plan_layout
from gpuprims.core.variant import Variant
from gpuprims.expressions import Expr, TypedExpr, trace, typed

_INT64, _TRUTH = np.dtype(np.int64), np.dtype(np.bool_)
_WORD = 64  # elements, a bit of a word for each
# Outputs of a tile that lie side by side, and the most words of each.
_ROWS, _WORDS = 64, 16
# Fewest outputs that lie side by side, and fewest elements of each, for tiles of several outputs.
_FEWEST_ACROSS, _FEWEST_ALONG = 4, 16
# Elements so many bytes apart, or more, are read across neighbouring outputs if these lie closer.
_FAR = 32


class Tiles(NamedTuple):
    """How a compact divides its elements.

    The first ``axes`` count ``outputs``, the others ``n`` elements of each; both are in C order. A tile has ``rows``
    neighbouring outputs, of the ``across`` that lie at one stride, and ``words`` words of each.
    """

    axes: int
    rows: int
    across: int
    outputs: int
    n: int
    words: int

    @property
    def number(self) -> int:
        """The number of tiles."""
        strips = self.outputs // self.across * -(-self.across // self.rows)
        return strips * -(-self.n // (_WORD * self.words))

    @property
    def scratch(self) -> int:
        """Bytes for all bits, and for counts of rows and tiles."""
        return self.number * (self.rows * (8 * self.words + 4) + 4)


@dataclass(frozen=True, eq=False, kw_only=True)
class BitsSpec(KernelSpec):
    """The macros of one of the two launches."""

    finds: bool  # the first one
    rows: int  # of a tile
    side_by_side: bool  # neighbouring outputs lie closer than neighbouring elements
    numbered: bool = False  # results are the places of kept elements

    scratch_pointers: ClassVar[int] = 1

    def macros(self) -> dict[str, int | str]:
        """Define the launch and its tiles."""
        masked = self.finds and self.inputs[0].dtype == _TRUTH
        macros = {"FINDS": self.finds, "MASKED": masked, "ROWS": self.rows, "SIDE_BY_SIDE": self.side_by_side}
        kept = "(staged_t)(j)" if self.numbered else "ELEMENT_ROW(row, j)"
        return {name: int(number) for name, number in macros.items()} | {"KEPT(row, j)": kept}

    def text(self) -> list[str]:
        """Define the type of an element in memory."""
        return [f"typedef {stored(self.outputs[0].dtype)} staged_t;"]


def prepare(
    device: Device,
    variant: Variant,
    forms: Sequence[Form],
    results: Sequence[Form],
    predicate: Expr | None,
    *,
    numbered: bool,
) -> Launch:
    """Return both launches, on the memories of the arrays and of the results."""
    x, decides, last = forms[0], forms[-1], len(forms) - 1
    tiles = tiles_of(forms, variant.items)
    keeps = trace(lambda x, j: (x if predicate is None else predicate(x)) != 0, 2)
    # The first launch writes no elements; a kernel for masks need not know what they are.
    unwritten = results[0]._replace(dtype=_TRUTH), results[1]
    finds = _launch(device, variant, tiles, decides, unwritten, typed(keeps, (decides.dtype, _INT64), (_TRUTH,)))
    same = typed(trace(lambda x, j: x, 2), (x.dtype, _INT64), (x.dtype,))
    copies = _launch(device, variant, tiles, x, results, same, finds=False, numbered=numbered)

    def start(memories: Sequence[Any]) -> None:
        beside = memories[last + 1 :]
        finds([memories[last], *beside])
        copies([memories[0], *beside])

    return with_scratch(device, start, tiles.scratch)


def tiles_of(forms: Sequence[Form], items: int) -> Tiles:
    """Return tiles of several outputs if an array lies so, else tiles of ``items`` elements of one output."""
    shape = forms[0].shape
    for form in forms:
        axes = _nearest_axis(form) + 1
        across, along = _merged_last(forms, shape, axes), math.prod(shape[axes:])
        if across >= _FEWEST_ACROSS and along >= _FEWEST_ALONG:
            return Tiles(axes, _ROWS, across, math.prod(shape[:axes]), along, min(-(-along // _WORD), _WORDS))
    size = math.prod(shape)
    return Tiles(0, 1, 1, 1, size, -(-min(items, size) // _WORD))


def _nearest_axis(form: Form) -> int:
    """Return the axis along which elements lie closest, if those of the last axis lie far apart; else the last one."""
    apart = {
        axis: abs(step) for axis, (step, n) in enumerate(zip(form.strides, form.shape, strict=True)) if n > 1 and step
    }
    last = len(form.shape) - 1
    if not apart or apart[max(apart)] < _FAR:
        return last
    nearest = min(apart, key=lambda axis: (apart[axis], -axis))
    return last if nearest == max(apart) else nearest


def _merged_last(forms: Sequence[Form], shape: tuple[int, ...], axes: int) -> int:
    """Return how many neighbours of the first axes lie at one stride in all arrays."""
    kept = plan_layout(forms, shape, range(axes, len(shape))).kept
    return kept[-1] if kept else 1


def _launch(
    device: Device,
    variant: Variant,
    tiles: Tiles,
    form: Form,
    results: Sequence[Form],
    function: TypedExpr,
    *,
    finds: bool = True,
    numbered: bool = False,
) -> Launch:
    """Return one of the launches, with the axes of its own array merged as they lie."""
    shape = form.shape
    still = [one._replace(shape=shape, strides=(0,) * len(shape)) for one in results]
    layout = plan_layout((form, *still), shape, range(tiles.axes, len(shape)))
    spec = BitsSpec(
        inputs=layout.accesses[:1],
        outputs=layout.accesses[1:],
        values=function.dtypes,
        map=function,
        finds=finds,
        rows=tiles.rows,
        side_by_side=tiles.rows > 1 and layout.side_by_side(1),
        numbered=numbered,
    )
    groups = variant.groups(tiles.number, device.capabilities)
    numbers = tiles.outputs, tiles.n, tiles.across, tiles.words
    return device.kernel(variant, spec).prepare(groups, layout.pack(1), *numbers)
