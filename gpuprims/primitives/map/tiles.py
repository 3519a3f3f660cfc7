"""Maps of arrays that lie in memory along another axis than the results, by tiles in local memory."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.codegen.operands import load, names_of, stored
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.geometry import power_of_two
from gpuprims.core.kernel_spec import Access, KernelSpec, StrideClass
from gpuprims.core.layout import VECTOR_BYTES, Layout
from gpuprims.core.refusals import lacks_local
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.primitives.map.spec import MapSpec

# Elements along a side of a square tile, and of one with vectors of large arrays; rows: tile, tile-wide.
SIDE, _WIDE_SIDE, _LARGE = 32, 64, 2**20
# Sides of other tiles along the results, as more steps than the usual side, and how many more places than elements the
# usual side may leave. A step is a whole number of vectors for groups of so many.
_MORE_STEPS, _MOST_EMPTY, _BLOCK = (0, 1, 2, -1), 1.2, 256
# Bytes of staged elements in wide tiles, and of any element there, at most.
_STAGED_WIDE, _WIDEST = 8, 4
# Inputs that are broadcast to so many times their elements are in a cache.
_CACHED = 16
# Bytes that a work-item without vectors loads and stores at once.
_BYTES_ALONE = 32


@dataclass(frozen=True)
class MapTraits(CallTraits):
    """Facts about a map that variants are asked with.

    ``tile_bytes`` is 0 if no input lies along another axis. ``in_blocks`` says that ``blocks.Blocks`` cuts the call,
    ``shifted`` that ``shifts.Shifting`` reads it.
    """

    tile_bytes: int = 0
    in_blocks: bool = False
    shifted: bool = False


@dataclass(frozen=True)
class MapVariant(Variant):
    """A variant of a map; its kernel may work by tiles, by blocks, or by vectors that it shifts."""

    tiles: bool = False
    blocks: bool = False
    shifts: bool = False

    def fitted(self, spec: KernelSpec) -> Self:
        """Return the variant with a vector a work-item or more, and without vectors with as many bytes in flight."""
        if not self.vectors:
            return self
        widest = max(access.dtype.itemsize * access.lanes for access in (*spec.inputs, *spec.outputs))
        alone = min(_BYTES_ALONE // widest, 16) if spec.vector == 1 else 0  # rows: grid
        return self.resized(items=max(self.items, spec.vector, alone))


class Tiling(NamedTuple):
    """A layout whose kept axes follow the inputs ``staged`` in memory, and whose reduced axes follow the results.

    Work-items load ``across`` neighbours of staged inputs at once, and ``vector`` of the other operands.
    """

    layout: Layout
    staged: tuple[int, ...]
    tile_o: int
    tile_j: int
    across: int
    vector: int

    @classmethod
    def of(cls, flat: Layout, inputs: int) -> Self | None:
        """Split the axes of a map, which are in the order of the results; None if all inputs lie in this order."""
        axes, strides = range(len(flat.reduced)), flat.reduced_strides
        staged = tuple([k for k in range(inputs) if lies_across(strides[k]) and not _is_cached(flat, k)])
        if not staged:
            return None
        finest = finest_axis(strides[staged[0]])
        inner, length = [axes[-1]], flat.reduced[-1]
        while length < SIDE and inner[0] - 1 != finest:
            inner.insert(0, inner[0] - 1)
            length *= flat.reduced[inner[0]]
        outer = sorted((a for a in axes if a not in inner), key=lambda axis: -abs(strides[staged[0]][axis]))
        layout = replace(
            flat,
            kept=tuple([flat.reduced[a] for a in outer]),
            reduced=tuple([flat.reduced[a] for a in inner]),
            kept_strides=tuple([tuple([own[a] for a in outer]) for own in strides]),
            reduced_strides=tuple([tuple([own[a] for a in inner]) for own in strides]),
        )
        across, vector = _widths(layout, staged)
        items = [form.item for form in flat.forms]
        small = sum(items[k] for k in staged) <= _STAGED_WIDE and max(items) <= _WIDEST
        # Loads of one element each take too many registers in wide tiles.
        loads = (across, vector) if len(staged) < inputs else (across,)
        wide = small and math.prod(flat.reduced) >= _LARGE and min(loads) > 1
        side = _WIDE_SIDE if wide else SIDE
        across, vector = (min(width, side * side // _BLOCK) for width in (across, vector))
        tile_o, tile_j = (min(side, power_of_two(number)) for number in (flat.reduced[finest], length))
        if tile_o < side:
            tile_j = side * side // tile_o
        elif tile_j < side:
            tile_o = side * side // tile_j
        elif sum(items[k] for k in staged) <= VECTOR_BYTES:  # wider ones fill local memory
            tile_j = _side_of(length, side, max(across, vector))
        return cls(layout, staged, tile_o, tile_j, across, vector)

    @property
    def tile_bytes(self) -> int:
        """Bytes of local memory of a tile, at most."""
        element = np.dtype(
            [(str(k), self.layout.forms[k].dtype, self.layout.forms[k].lanes) for k in self.staged], align=True
        )
        return element.itemsize * self.tile_j * (self.tile_o + max(1, 32 // self.tile_j) * 4)

    def prepare(self, device: Device, variant: Variant, spec: MapSpec) -> Launch:
        """Return the launch, given the spec of a map in this layout."""
        tiled = TileSpec.of(spec, staged=self.staged, tile_o=self.tile_o, tile_j=self.tile_j)
        fitted = variant.resized(items=self.tile_o * self.tile_j // variant.block)
        outputs, n = math.prod(self.layout.kept), math.prod(self.layout.reduced)
        groups = fitted.groups(-(-outputs // self.tile_o) * -(-n // self.tile_j), device.capabilities)
        return device.kernel(fitted, tiled).prepare(groups, self.layout.pack(1), outputs, n)


def _widths(layout: Layout, staged: Sequence[int]) -> tuple[int, int]:
    """Return how many neighbours of the staged inputs, and of the other operands, one instruction may move."""
    across = _only(layout, staged).width_across(len(staged))
    vector = _only(layout, [k for k in range(len(layout.forms)) if k not in staged]).vector_width()
    return across, math.gcd(vector, layout.reduced[-1])


def _only(layout: Layout, operands: Sequence[int]) -> Layout:
    """Return the layout of some operands."""
    return replace(
        layout,
        forms=tuple([layout.forms[k] for k in operands]),
        kept_strides=tuple([layout.kept_strides[k] for k in operands]),
        reduced_strides=tuple([layout.reduced_strides[k] for k in operands]),
        offsets=tuple([layout.offsets[k] for k in operands]),
    )


def _is_cached(flat: Layout, k: int) -> bool:
    """Return True for an input that is broadcast to many times its elements."""
    moving = [n for n, stride in zip(flat.reduced, flat.reduced_strides[k], strict=True) if stride]
    return math.prod(moving) * _CACHED <= math.prod(flat.reduced)


def lies_across(strides: Sequence[int]) -> bool:
    """Return True if neighbours along the last axis lie further apart than along another one."""
    return any(0 < abs(stride) < abs(strides[-1]) for stride in strides)


def _side_of(length: int, side: int, vector: int) -> int:
    """Return the side of tiles along ``length`` elements that leaves few places empty beyond them."""
    if -(-length // side) * side <= _MOST_EMPTY * length:
        return side
    step = _BLOCK * vector // side
    sides = [side + more * step for more in _MORE_STEPS if 0 < side + more * step <= 3 * side // 2]
    return min(sides, key=lambda one: -(-length // one) * one)


def finest_axis(strides: Sequence[int]) -> int:
    """Return the axis along which neighbours lie closest."""
    return min((axis for axis, stride in enumerate(strides) if stride), key=lambda axis: abs(strides[axis]))


def across(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse calls whose inputs lie in the order of the results, and tiles larger than local memory."""
    wanted = call.tile_bytes if isinstance(call, MapTraits) else 0
    if not wanted:
        return "is for arrays that lie in memory along another axis than the results; this call's do not"
    return lacks_local(wanted, capabilities)


@dataclass(frozen=True, eq=False, kw_only=True)
class TileSpec(MapSpec):
    """The macros of a map by tiles."""

    staged: tuple[int, ...]
    tile_o: int
    tile_j: int

    def macros(self) -> dict[str, int | str]:
        """Define the tile, and how kernels load elements: staged ones into it, the others into registers."""
        names = names_of("x", self.inputs)
        layout = "layout, " if self.constants else ""
        elements = ", ".join(f"(elements).e{k}" for k in range(len(self.inputs)))
        return {
            "TILE_O": self.tile_o,
            "TILE_J": self.tile_j,
            "FETCH_STAGED(o, j, to)": f"gp_fetch_staged({names}, layout, o, j, to)",
            "FETCH_DIRECT(o, j, to)": f"gp_fetch_direct({names}, layout, o, j, to)",
            "APPLY(elements, j)": f"gp_apply({layout}{elements}, j)",
        }

    def text(self) -> list[str]:
        """Write the types of elements and of staged ones, and the functions of these macros."""
        places = dict(enumerate(self.inputs))
        staged = {k: places[k] for k in self.staged}
        direct = {k: access for k, access in places.items() if k not in staged}
        copies = [f"e{k}[{lane}]" for k, access in staged.items() for lane in range(access.lanes)]
        return [
            _struct("elements_t", places),
            _struct("staged_t", staged),
            *_fetch("gp_fetch_staged", "staged_t", {k: (a, a.kept, self.vector_across) for k, a in staged.items()}),
            *_fetch("gp_fetch_direct", "elements_t", {k: (a, a.reduced, self.vector) for k, a in direct.items()}),
            "DEVICE void gp_stage(const staged_t *from, LOCAL staged_t *to)",
            "{",
            *(f"    to->{copy} = from->{copy};" for copy in copies),
            "}",
            "DEVICE void gp_unstage(LOCAL const staged_t *from, elements_t *to)",
            "{",
            *(f"    to->{copy} = from->{copy};" for copy in copies),
            "}",
        ]


def _struct(name: str, accesses: dict[int, Access]) -> str:
    members = "; ".join(f"{stored(access.dtype)} e{k}[{access.lanes}]" for k, access in accesses.items())
    return f"typedef struct {{ {members}; }} {name};"


def _fetch(name: str, kind: str, accesses: dict[int, tuple[Access, tuple[StrideClass, ...], int]]) -> list[str]:
    """Write a function that loads neighbours of some inputs, whose strides along them and number are given."""
    lines: list[str] = []
    for k, (access, strides, width) in accesses.items():
        loaded, many = width if strides[-1:] == (1,) else 1, access.lanes
        lines += load(k, access, loaded)
        for one, lane in itertools.product(range(width), range(many)):
            lines.append(f"    to[{one}].e{k}[{lane}] = e{k}[{one * many + lane if loaded > 1 else lane}];")
    return [
        f"DEVICE void {name}(INPUTS, const layout_t layout, const i64 o, const i64 j, {kind} *to)",
        "{",
        *lines,
        "}",
    ]
