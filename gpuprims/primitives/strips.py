"""Strips of neighbouring outputs, which a scan along an outer axis takes side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.codegen.operands import times
from gpuprims.core.geometry import Geometry, Refusal
from gpuprims.core.layout import Layout
from gpuprims.core.refusals import warps_of
from gpuprims.core.traits import CallTraits
from gpuprims.primitives.fold_spec import ScanSpec
from gpuprims.primitives.fold_variants import ScanVariant
from gpuprims.primitives.scan_tiles import ScanTraits

_HEADER = Path(__file__).parent / "scan" / "kernels" / "strips.h"
# Without warps, each work-item folds the values of at most this many work-items above its own.
_MOST_DOWN = 16
# Rows that a work-item folds at once at most. Work-items of a group that waits for no other.
_MOST_FOLDED, _ALONE = 32, 256
# Most parts of a strip that are tried for the least idle time, if there are many strips.
_PARTS = 8
# Bytes of a word of a status with its tag, and of narrow elements at most. Strips for each running warp, so that few
# warps are idle at the end.
_ENTRY, _NARROW, _WAVES = 8, 2, 4
# Bytes of a line of memory.
_LINE = 128
# Time of a byte of statuses, relative to a byte of a tile. Bytes by which a strip's row seems longer, since short rows
# are slow to read: if rows begin at whole sectors of memory, and if not.
_STATUS_TIME, _EDGE, _RAGGED_EDGE = 0.8, 16, 64  # rows: columns-across
# Time that groups of a strip wait for each other, for each one, up to a number, and time of a group that has a strip.
_WAIT, _WAITS, _UNSHARED = 0.02, 15, 0.95  # rows: columns-across
# Share of statuses in the bytes of a tile from which on asking for elements ahead costs time. rows: columns-across
_MOST_ASKED = 0.3
# Time of groups that share strips in that of groups with strips of their own, which wait for no others.
_ALONE_GAIN = 1.1  # rows: columns-across
# Bytes of statuses for each byte of a tile up to which reading them takes less time than reading elements twice.
_MOST_STATUSES = 8  # rows: column_runs


@dataclass(frozen=True, eq=False, kw_only=True)
class StripSpec(ScanSpec):
    """The macros of a scan by strips."""

    rows: int  # of a strip, that a warp holds of each item
    prefetches: bool = False  # the kernel asks for a tile before it loads it

    def macros(self) -> dict[str, int | str]:
        """Define the number of rows, and how kernels ask for the elements of a later tile."""
        moving = [(k, access) for k, access in enumerate(self.inputs) if any(stride != 0 for stride in access.reduced)]
        asked = [f"gp_prefetch(x{k} + gp_at_x{k}(layout, o, j){times(access.lanes)})" for k, access in moving]
        widest = max((access.dtype.itemsize * access.lanes for _, access in moving), default=1)
        return super().macros() | {
            "ROWS": self.rows,
            "PREFETCHED": int(self.prefetches),
            "PREFETCH(o, j)": f"do {{ {'; '.join(asked)}; }} while (0)",
            "LINE": max(_LINE // widest, 1),
        }

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (*super().headers(), _HEADER)


@dataclass(frozen=True, eq=False, kw_only=True)
class RunSpec(StripSpec):
    """The macros of a scan by runs of strips."""

    folded: int  # rows that a work-item folds at once
    groups: int  # of a multiprocessor

    def macros(self) -> dict[str, int | str]:
        """Define these numbers."""
        return super().macros() | {"FOLDED": self.folded, "GROUPS": self.groups}


class Strips(NamedTuple):
    """The launch of a scan by strips.

    A warp holds ``rows`` of ``width`` neighbouring outputs, and ``across`` warps lie side by side in a tile. ``parts``
    groups share a strip, and take its tiles in turn.
    """

    variant: ScanVariant
    rows: int
    width: int
    across: int
    parts: int
    groups: int
    tiles: int  # of all strips
    turns: int  # tiles that a group takes
    cost: float  # time, relative to an element of a compute unit's work-items
    prefetches: bool  # the kernel asks for a tile before it loads it

    @property
    def statuses(self) -> int:
        """Columns of all tiles whose statuses groups exchange."""
        return self.tiles * self.width * self.across if self.parts > 1 else 0


def neighbouring(layout: Layout, inputs: int) -> bool:
    """Return True if neighbouring outputs lie nearer than neighbouring elements, in every operand that moves.

    Some input must move from output to output.
    """
    if not layout.kept:
        return False
    strides = [
        (abs(own[-1]), abs(along[-1]) if along else 0)
        for own, along in zip(layout.kept_strides, layout.reduced_strides, strict=True)
    ]
    return all(own < along for own, along in strides if along) and any(own for own, _ in strides[:inputs])


def strips_of(variant: ScanVariant, able: Capabilities, call: ScanTraits) -> Strips:
    """Return the launch for a call, by a variant that is fitted to it.

    Groups that share a strip wait for each other, so no more start than run at the same time. Groups with strips of
    their own may be twice as many, with half of the items. (rows: columns)
    """
    together = min(_launches(variant, able, call), key=_cost)
    groups = 2 * (variant.groups_per_unit or 1)
    halved = variant.resized(items=max(variant.items // 2, 1), groups_per_unit=groups)
    alone = min(_launches(halved, able, call, most_parts=1), key=_cost)
    return alone if alone.cost <= _ALONE_GAIN * together.cost else together


def _launches(variant: ScanVariant, able: Capabilities, call: ScanTraits, most_parts: int = 2**30) -> Iterator[Strips]:
    """Yield launches with strips of every width that may be best, shared by up to ``most_parts`` groups."""
    outputs, size = call.outputs, call.size
    warps = warps_of(variant.block, able)
    lanes = variant.block // warps
    run = min(call.neighbours, outputs)
    if size <= variant.items:  # rows of a warp would be empty, and a cache line has all elements of some outputs
        run = outputs
    width = -(-run // -(-run // lanes))
    rows, items = lanes // width, variant.items
    while items > 1 and items // 2 * rows >= size:
        items //= 2
    down = 1  # warps below each other that one output needs
    while down < warps and down * items * rows < size:
        down *= 2
    least = warps // min(down, _MOST_DOWN if lanes == 1 else warps)  # each work-item folds those above its own
    while least > 1 and least // 2 * width >= outputs:
        least //= 2
    fitted, most = variant.resized(items=items), (variant.groups_per_unit or 1) * able.compute_units
    moved, entries = max(call.element_bytes + call.result_bytes, 1), _ENTRY * call.words
    edge = (_EDGE if call.sectors else _RAGGED_EDGE) * max(call.brought + call.taken, 1)
    if most_parts == 1:  # groups that do not wait read other rows meanwhile
        edge = 0
    # Long rows are faster to read, but groups that share a strip read less of each other if its tiles are tall.
    for across in sorted({max(least, wide) for wide in (4, 2, 1) if wide <= warps}, reverse=True):
        tall = warps // across * items * rows
        tiles, strips = -(-size // tall), -(-outputs // (across * width))
        item_time = items * (variant.groups_per_unit or 1) * (1 + edge / (across * width * moved))
        for parts in range(1, min(tiles, most, most_parts) + 1):
            abreast = min(most // parts, strips)
            turns = -(-strips // abreast) * -(-tiles // parts)
            statuses = (parts - 1) * entries / (tall * moved)
            cost = turns * item_time * (1 + _STATUS_TIME * statuses) * (1 + _WAIT * min(parts - 1, _WAITS))
            asks = parts > 1 and statuses < _MOST_ASKED
            sharing = cost if parts > 1 else _UNSHARED * cost
            yield Strips(fitted, rows, width, across, parts, abreast * parts, strips * tiles, turns, sharing, asks)


def _cost(strips: Strips) -> float:
    return strips.cost


class Runs(NamedTuple):
    """The launch of a scan by runs of strips.

    A warp holds ``rows`` of ``width`` neighbouring outputs and scans ``run`` rows; ``across`` warps lie side by side.
    Each of ``parts`` groups takes a part of a strip.
    """

    variant: ScanVariant
    rows: int
    width: int
    across: int
    parts: int
    run: int
    strips: int
    folded: int  # rows that a work-item folds at once
    resident: int  # groups that a compute unit has room for

    @property
    def numbers(self) -> tuple[int, int, int, int]:
        """The kernel's numbers that the host decides."""
        return self.width, self.across, self.parts, self.run

    @property
    def groups(self) -> int:
        """Parts of all strips."""
        return self.strips * self.parts

    @property
    def statuses(self) -> int:
        """Columns of all parts whose statuses groups exchange."""
        return self.groups * self.width * self.across if self.parts > 1 else 0


def runs_of(variant: ScanVariant, able: Capabilities, call: ScanTraits) -> Runs:
    """Return the launch for a call, by a variant that is fitted to it.

    Each strip has a warp of its own if there are enough strips. Otherwise groups share strips, in the number
    that leaves the fewest idle at the end.
    """
    (warps, width), outputs, items = _side_by_side(variant.block, able, call), call.outputs, variant.items
    lanes, resident, columns = variant.block // warps, variant.groups_per_unit or 1, -(-outputs // width)
    units, alone = resident * able.compute_units, variant.block // _ALONE
    if columns >= units * warps and alone > 1:  # groups that wait for no other may be small
        small = variant.resized(block=_ALONE, groups_per_unit=resident * alone)
        return runs_of(small, able, call)
    # More rows at once of narrow elements, which need fewer registers.
    folded = items * max(min(call.value_bytes // max(call.element_bytes, 1), _MOST_FOLDED // items), 1)
    item_rows = lanes // width * folded
    across = warps if columns >= units * warps else 1 if lanes > 1 else max(warps // _MOST_DOWN, 1)
    while across > 1 and across // 2 * width >= outputs:
        across //= 2
    down, strips = warps // across, -(-outputs // (across * width))
    most = -(-call.size // (down * item_rows)) if down > 1 else 1
    parts = min(
        range(1, min(most, max(units // strips, _PARTS)) + 1), key=lambda few: (-(-strips * few // units) / few, few)
    )
    run = -(-call.size // (parts * down * item_rows)) * item_rows
    parts = -(-call.size // (down * run))
    return Runs(variant, lanes // width, width, across, parts, run, strips, folded, resident)


def _side_by_side(block: int, able: Capabilities, call: ScanTraits) -> tuple[int, int]:
    """Return the warps of a group, and how many outputs a warp takes side by side."""
    warps = warps_of(block, able)
    return warps, max(min(block // warps, call.neighbours, call.outputs), 1)


def statuses_pay(at: Geometry) -> Refusal:
    """Refuse calls whose groups would read mostly statuses, and many short, narrow outputs.

    Runs of strips read statuses once, but elements twice. Of short outputs each warp scans its own, and none is idle in
    a tile that they do not fill.
    """

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        traits = ScanTraits.of(call)
        warps, width = _side_by_side(at.block, capabilities, traits)
        units, strips = (at.groups_per_unit or 1) * capabilities.compute_units, -(-traits.outputs // width)
        rows = warps * (at.block // warps // width) * max(at.items // traits.words, 1)
        if traits.size <= rows and 0 < traits.element_bytes <= _NARROW and strips >= _WAVES * warps * units:
            outputs = f"{traits.outputs} outputs of {traits.size} elements of {traits.element_bytes} bytes"
            return f"is for longer or fewer outputs, or elements of more than {_NARROW} bytes; this call has {outputs}"
        between = min(units // max(strips, 1), -(-traits.size // rows)) - 1
        statuses, elements = _ENTRY * traits.words * between, rows * traits.element_bytes
        if statuses > _MOST_STATUSES * elements > 0:
            return (
                f"is for tiles for which groups read up to {_MOST_STATUSES} times their bytes of statuses; "
                f"this call's have {elements}, and {statuses} of statuses"
            )
        return None

    return refuse
