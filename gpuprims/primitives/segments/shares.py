"""Launch plans of kernels that share elements and segments evenly, and check the offsets on the device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.faults import KnownArrays
from gpuprims.core.geometry import Geometry, Refusal, first_refusal
from gpuprims.core.kernel_spec import value_bytes, value_words
from gpuprims.core.launch_plan import LaunchPlan, asks_for, find_plan, nothing
from gpuprims.core.layout import Layout
from gpuprims.core.operands import Operands
from gpuprims.core.outputs import Out
from gpuprims.core.refusals import SPARE_LOCAL, double_precision, group_fits, not_for_cpus, shuffles, values_fit
from gpuprims.core.registry import REGISTRY
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.core.warm_calls import Step
from gpuprims.errors import ArgumentError, EmptyReductionError
from gpuprims.expressions import trace, typed
from gpuprims.operators import Folding, Op
from gpuprims.primitives.fold_spec import FoldSpec
from gpuprims.primitives.fold_variants import FoldVariant
from gpuprims.primitives.segments.offsets import OWN_COPIES, Segments

_INT64 = np.dtype(np.int64)
_KERNELS = Path(__file__).parent / "kernels"
_HEADER, _ALIGNED = 4, 32  # words before the table, and elements; as in shares.h
# Bytes of elements that a work-item loads, and words of values that it holds.
_LOADED, _HELD = 64, 16  # rows: shares
# Values that a work-item keeps in local memory beside its items: a place after them, the fold of those before, where a
# device has no shuffles its warp's; and room for flags.
_BESIDE = 4
_ANSWER = 8  # bytes of the answer to the check
# Work-items of the smallest group, for values that leave no room for more.
_FEWEST = 64


# Keeps the launch plan of a call on operands, with a step that checks arrays like them.
Keep = Callable[[LaunchPlan, Operands, Step | None], None]


class WrongOffsetsError(Exception):
    """A kernel found offsets that are wrong, or an empty segment where the operator has no value for it."""


def for_shares(at: Geometry) -> Refusal:
    """Refuse CPUs, devices that lack what the kernels need, and too little local memory for a group's values."""
    room = values_fit((2 + _BESIDE) * min(at.block, _FEWEST))
    return first_refusal(not_for_cpus, shuffles(at.block), double_precision, group_fits(at.block), room)


@dataclass(frozen=True)
class SharesVariant(FoldVariant):
    """A variant that checks offsets itself."""

    def fitted(self, folding: Folding, item_bytes: int, able: Capabilities) -> SharesVariant:
        """Return the variant with a group and items that suit the elements, the values and the local memory."""
        block, places = self.block, (able.local_memory - SPARE_LOCAL) // value_bytes(folding.values)
        while block > _FEWEST and places < (2 + _BESIDE) * block:
            block //= 2
        most = min(_LOADED // item_bytes, _HELD // value_words(folding.values), places // block - _BESIDE, self.items)
        return self.resized(block=block, items=1 << max(most, 2).bit_length() - 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class SegmentSpec(FoldSpec):
    """The macros of a fold of segments; the last input has the offsets."""

    def macros(self) -> dict[str, int | str]:
        """Define where a segment begins."""
        k = len(self.inputs) - 1
        return super().macros() | {"BEGIN(o)": f"((i64)x{k}[gp_at_x{k}(layout, o, 0)])"}

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (*super().headers(), _KERNELS / "path.h")


@dataclass(frozen=True, eq=False, kw_only=True)
class RunsSpec(SegmentSpec):
    """The macros of a fold of segments by runs, for CPUs."""

    def macros(self) -> dict[str, int | str]:
        """Tell whether neighbours lie side by side, in either direction."""
        strides = {stride for access in self.inputs for stride in access.reduced}
        return super().macros() | {"LOADS_MASKED": int(strides <= {-1, 0, 1})}

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (_KERNELS / "runs.h", *super().headers())


@dataclass(frozen=True, eq=False, kw_only=True)
class RunsScanSpec(RunsSpec):
    """The macros of a scan of segments by runs."""

    inclusive: bool
    aliases: ClassVar[bool] = True
    scratch_pointers: ClassVar[int] = 1

    def macros(self) -> dict[str, int | str]:
        """Define the kind of scan."""
        return super().macros() | {"INCLUSIVE": int(self.inclusive)}


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
        return (*super().headers(), _KERNELS / "shares.h")


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
    label: str,
    count: int,
    size: int,
    **how: Any,
) -> Launch:
    """Return both launches of a kernel over ``count`` segments of ``size`` elements in all.

    A call waits for the check of its offsets, unless an earlier call found the same array right: then a fault is raised
    later (docs/decisions/0021), or nobody asks for one, if nobody else can write to the array.
    """
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
    place, known = len(layout.forms) - len(folding.outputs) - 1, KnownArrays()

    def fault(_: int) -> Exception:
        known.forget()  # the next call waits for the check again
        return ArgumentError(
            f"{label}: segments= that stay right; got an array that was right in one call, and wrong in a later one,"
            " whose results hold nothing"
        )

    def start(memories: Sequence[Any]) -> None:
        driver, offsets = device.driver, memories[place]
        device.faults.check()
        beside = driver.scratch(nbytes), driver.counters(2)
        if (is_known := offsets in known) and offsets in OWN_COPIES:
            everything = [*memories, *beside, driver.scratch(_ANSWER)]
            prepare(everything)
            work(everything)
            return
        report = driver.report()
        everything = [*memories, *beside, report.memory]
        prepare(everything)
        report.mark()
        work(everything)
        if is_known:
            device.faults.add(report, fault)
            return
        if report.read():
            raise WrongOffsetsError
        if type(offsets) in REGISTRY.facts_by_class:
            known.add(offsets)

    return start


def taking_offsets(folding: Folding, arrays: tuple[np.dtype[Any], ...], offsets: np.dtype[Any]) -> Any:
    """Return the map of a folding for kernels whose last input has the offsets."""
    n = len(arrays)  # the map takes an offset too, and ignores it
    return typed(trace(lambda *given: folding.map(*given[:n], given[-1]), n + 2), (*arrays, offsets, _INT64))


class SegmentsCall(Protocol):
    """What a call on segments asks for; hashable."""

    @property
    def op(self) -> Op:
        """The operator."""

    @property
    def of_nothing(self) -> bool:
        """True if segments may be empty."""

    def described(self, dtypes: tuple[np.dtype[Any], ...], size: int) -> tuple[Folding, CallTraits]:
        """Return the folding of a call on arrays of ``size`` elements, and what variants are asked with."""


@lru_cache(maxsize=1024)
def takes_offsets(
    primitive: str,
    request: SegmentsCall,
    dtypes: tuple[np.dtype[Any], ...],
    size: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> bool:
    """Return True if a primitive has a kernel that reads offsets for the call, or the requested one."""
    if variant is not None:
        return asks_for(primitive, device.backend, variant)
    return device.explain(primitive, request.described(dtypes, size)[1]).chosen is not None


def run_by_offsets(
    plan_call: Any, segments: Segments, request: SegmentsCall, out: Out | None, variant: Any, keep: Keep | None = None
) -> Any:
    """Run a kernel that reads offsets. If it does not check them itself, they are checked before.

    ``keep`` gets the plan of a call that is done with one launch plan.
    """
    beside = segments.beside(apart=out is not None)
    plan: LaunchPlan = find_plan(plan_call, beside, request, out, variant)
    if isinstance(plan.variant, SharesVariant) and plan.compiled() is not nothing:
        try:
            result = plan.run(beside, out)
            if keep is not None:
                keep(plan, beside, None)
            return result
        except WrongOffsetsError as error:
            check(segments, request)
            rule = f"{segments.label}: segments= that stay as they are during the call"
            raise ArgumentError(f"{rule}; got offsets that were wrong and then right") from error
    check(segments, request)
    result = plan.run(beside, out)
    if keep is not None and beside.in_place:
        keep(plan, beside, _offsets_rise(segments.size, strictly=not request.of_nothing))
    return result


def _offsets_rise(size: int, *, strictly: bool) -> Step:
    """Return the step that checks that the last of a call's arrays has right offsets for ``size`` elements."""
    falls = np.less_equal if strictly else np.less

    def check(arrays: Sequence[Any]) -> Sequence[Any]:
        offsets = arrays[-1]
        if offsets[0] != 0 or offsets[-1] != size or falls(offsets[1:], offsets[:-1]).any():
            raise WrongOffsetsError
        return arrays

    return check


def check(segments: Segments, request: SegmentsCall) -> None:
    """Raise if the offsets are wrong, or if a segment is empty and may not be."""
    segments.check()
    if not request.of_nothing and segments.has_empty:
        rule = f"{segments.label} with {request.op.name}: at least one element a segment"
        raise EmptyReductionError(f"{rule}; got an empty segment")
