"""Launch plans of kernels that share elements and segments evenly, and check the offsets on the device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.geometry import Geometry, Refusal
from gpuprims.core.kernel_spec import value_bytes, value_words
from gpuprims.core.launch_plan import LaunchPlan, find_plan, nothing
from gpuprims.core.layout import Layout
from gpuprims.core.outputs import Out
from gpuprims.core.refusals import values_fit
from gpuprims.core.variant import Variant
from gpuprims.errors import ArgumentError, EmptyReductionError
from gpuprims.expressions import trace, typed
from gpuprims.operators import Folding, Op
from gpuprims.primitives.fold_spec import FoldSpec
from gpuprims.primitives.fold_variants import FoldVariant
from gpuprims.primitives.segments.offsets import Segments

_INT64 = np.dtype(np.int64)
_HEADER, _ALIGNED = 4, 32  # words before the table, and elements; as in shares.h
# Bytes of elements that a work-item loads, and words of values that it holds.
_LOADED, _HELD = 64, 16  # rows: shares
# Values that a work-item keeps in local memory beside its items: a place after them, the fold of those before, where a
# device has no shuffles its warp's; and room for flags.
_BESIDE = 4


class WrongOffsetsError(Exception):
    """A kernel found offsets that are wrong, or an empty segment where the operator has no value for it."""


def staged_fits(at: Geometry) -> Refusal:
    """Refuse devices whose local memory is too small for a group's values."""
    return values_fit((2 + _BESIDE) * at.block)


@dataclass(frozen=True)
class SharesVariant(FoldVariant):
    """A variant that checks offsets itself."""

    def fitted(self, folding: Folding, item_bytes: int, able: Capabilities) -> SharesVariant:
        """Return the variant with as many items as suit the elements, the values and the local memory."""
        room = able.local_memory // (self.block * value_bytes(folding.values)) - _BESIDE
        most = min(_LOADED // item_bytes, _HELD // value_words(folding.values), room, self.items)
        return self.resized(items=1 << max(most, 2).bit_length() - 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class SegmentSpec(FoldSpec):
    """The macros of a fold of segments; the last input has the offsets."""

    def macros(self) -> dict[str, int | str]:
        """Define where a segment begins."""
        k = len(self.inputs) - 1
        return super().macros() | {"BEGIN(o)": f"((i64)x{k}[gp_at_x{k}(layout, o, 0)])"}


@dataclass(frozen=True, eq=False, kw_only=True)
class SharesSpec(SegmentSpec):
    """The macros of a fold by equal shares."""

    of_nothing: bool
    resident: int
    inclusive: bool = True
    scratch_pointers: ClassVar[int] = 3

    def macros(self) -> dict[str, int | str]:
        """Tell whether segments may be empty."""
        own = {"OF_NOTHING": int(self.of_nothing), "INCLUSIVE": int(self.inclusive), "GROUPS": self.resident}
        return super().macros() | own

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (*super().headers(), Path(__file__).parent / "kernels" / "shares.h")


@dataclass(frozen=True, eq=False, kw_only=True)
class SharesScanSpec(SharesSpec):
    """The macros of a scan by equal shares."""

    stores_vectors: ClassVar[bool] = True
    aliases: ClassVar[bool] = True


def launch_shares(
    variant: Variant,
    device: Device,
    folding: Folding,
    layout: Layout,
    spec: type[SharesSpec],
    count: int,
    size: int,
    **how: Any,
) -> Launch:
    """Return both launches of a kernel over ``count`` segments of ``size`` elements in all."""
    loaded = max(form.item for form in layout.forms[: len(layout.forms) - len(folding.outputs) - 1])
    chosen = SharesVariant.of(variant).fitted(folding, loaded, device.capabilities)
    able, vector = device.capabilities, min(layout.vector_width(), chosen.items)
    own = spec.of(folding, layout, vector=vector, resident=chosen.groups_per_unit or 1, **how)
    kernel = device.kernel(chosen, own)
    tiles = -(-(size + count) // (chosen.tile - _ALIGNED))
    parts = chosen.groups(tiles, able)
    each = -(-tiles // parts)
    parts = -(-tiles // each)
    checking = max(parts, min(-(-max(count // 4, tiles + 1) // chosen.block), 8 * able.compute_units))
    numbers = count, size, tiles, parts
    packed = layout.pack(0)
    prepare, work = kernel.prepare(checking, packed, *numbers, 0), kernel.prepare(parts, packed, *numbers, 1)
    nbytes = 4 * (_HEADER + 2 * (tiles + 1) + 2 * parts * value_words(folding.values))

    def start(memories: Sequence[Any]) -> None:
        driver = device.driver
        report = driver.report()
        everything = [*memories, driver.scratch(nbytes), driver.counters(2), report.memory]
        prepare(everything)
        report.mark()
        work(everything)
        if report.read():
            raise WrongOffsetsError

    return start


def taking_offsets(folding: Folding, arrays: tuple[np.dtype[Any], ...], offsets: np.dtype[Any]) -> Any:
    """Return the map of a folding for kernels whose last input has the offsets."""
    n = len(arrays)  # the map takes an offset too, and ignores it
    return typed(trace(lambda *given: folding.map(*given[:n], given[-1]), n + 2), (*arrays, offsets, _INT64))


def run_by_offsets(plan_call: Any, segments: Segments, op: Op, request: Any, out: Out | None, variant: Any) -> Any:
    """Run a kernel that reads offsets. If it does not check them itself, they are checked before."""
    beside = segments.beside(apart=out is not None)
    plan: LaunchPlan = find_plan(plan_call, beside, request, out, variant)
    if isinstance(plan.variant, SharesVariant) and plan.compiled() is not nothing:
        try:
            return plan.run(beside, out)
        except WrongOffsetsError as error:
            check(segments, op)
            rule = f"{segments.label}: segments= that stay as they are during the call"
            raise ArgumentError(f"{rule}; got offsets that were wrong and then right") from error
    check(segments, op)
    return plan.run(beside, out)


def check(segments: Segments, op: Op) -> None:
    """Raise if the offsets are wrong, or if a segment is empty and the operator has no value for it."""
    segments.check()
    if not op.of_nothing and segments.has_empty:
        rule = f"{segments.label} with {op.name}: at least one element a segment"
        raise EmptyReductionError(f"{rule}; got an empty segment")
