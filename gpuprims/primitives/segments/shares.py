"""Launch plans of kernels that share elements and segments evenly, and check the offsets on the device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.counters import all_with_counters
from gpuprims.core.determinism import asks_for_device
from gpuprims.core.device import Device
from gpuprims.core.driver import Kernel, Launch
from gpuprims.core.faults import KnownArrays
from gpuprims.core.geometry import Geometry, Refusal, first_refusal
from gpuprims.core.kernel_spec import value_bytes, value_words
from gpuprims.core.launch_plan import LaunchPlan, asks_for, find_plan, in_turn, nothing
from gpuprims.core.layout import Layout
from gpuprims.core.operands import Operands
from gpuprims.core.outputs import Out
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.refusals import SPARE_LOCAL, double_precision, group_fits, lacks_local, not_for_cpus, shuffles
from gpuprims.core.registry import REGISTRY
from gpuprims.core.taking import Step
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.errors import ArgumentError, EmptyReductionError
from gpuprims.expressions import as_portable, trace, typed
from gpuprims.operators import Folding, Op
from gpuprims.primitives.fold_variants import FoldVariant
from gpuprims.primitives.segments.offsets import MADE, OWN_COPIES, Segments
from gpuprims.primitives.segments.spec import SharesScanSpec, SharesSpec

_INT64 = np.dtype(np.int64)
_CHECK, _CHECKED, _ALONE, _PREPARE = range(4)  # steps, as in shares.h
_HEADER = 4  # words before the segments' numbers, as in shares.h
_MOST_ENDS = 8  # ends of segments that a lane reads at once (rows: shares)
# Bytes of elements that a work-item loads, and words of values that it holds; both double for segments of _LONG.
_LOADED, _HELD, _LONG = 64, 16, 64  # rows: shares
# What a work-item keeps in local memory beside its items. First the number of values: one after the items and, if the
# work-item is a warp of its own, its head, its tail and a fold. Then the bytes of words.
_BESIDE, _WORDS_BESIDE = 4, 24
_ANSWER = 8  # bytes of the answer to the check
_MOST_STEPS = 2**30  # of a warp, which counts in 32 bits
# Work-items of the smallest group, for values that leave no room for more.
_FEWEST = 64


# Keeps the launch plan of a call on operands, with a step that checks arrays like them.
Keep = Callable[[LaunchPlan, Operands, Step | None], None]


class WrongOffsetsError(Exception):
    """A kernel found offsets that are wrong, or an empty segment where the operator has no value for it."""


def for_shares(at: Geometry) -> Refusal:
    """Refuse CPUs, devices that lack what the kernels need, and too little local memory for a group's values."""
    block = min(at.block, _FEWEST)

    def room(able: Capabilities, call: CallTraits) -> str | None:
        return lacks_local(block * ((2 + _BESIDE) * call.value_bytes + _WORDS_BESIDE) + SPARE_LOCAL, able)

    return first_refusal(not_for_cpus, shuffles(at.block), double_precision, group_fits(at.block), room)


@dataclass(frozen=True)
class SharesVariant(FoldVariant):
    """A variant that checks offsets itself."""

    more_if_short: int = 0  # additional groups that fit on a compute unit if segments have fewer elements than _LONG

    def fitted(self, folding: Folding, item_bytes: int, mean: int, able: Capabilities) -> SharesVariant:
        """Return the variant as a call with ``mean`` elements a segment needs it, and as local memory has room."""
        block, each = self.block, value_bytes(folding.values)
        while block > _FEWEST and _places(block, each, able) < (2 + _BESIDE) * block:
            block //= 2
        held = (_HELD if mean < _LONG else 2 * _HELD) // value_words(folding.values)
        most = min(_LOADED // item_bytes, held, _places(block, each, able) // block - _BESIDE, self.items)
        groups = (self.groups_per_unit or 1) + self.more_if_short * (mean < _LONG)
        return self.resized(block=block, items=1 << max(most, 2).bit_length() - 1, groups_per_unit=groups)


def _places(block: int, each: int, able: Capabilities) -> int:
    """Return how many values of ``each`` bytes fit in local memory beside the words of each work-item."""
    return (able.local_memory - SPARE_LOCAL - _WORDS_BESIDE * block) // each


def _window(items: int, mean: int) -> int:
    """Return how many ends of segments each lane reads at once, for a window about as long as a tile."""
    wanted = -(-items // max(mean, 1))
    return min(1 << max(wanted - 1, 0).bit_length(), _MOST_ENDS)


class _Call(NamedTuple):
    """A call on segments with ``size`` elements in total: the variant fitted to the call, and its kernel."""

    device: Device
    label: str
    variant: SharesVariant
    kernel: Kernel
    layout: np.ndarray
    offsets: int  # the offsets' place among the operands
    value_words: int
    segments: int
    size: int
    known: KnownArrays

    @classmethod
    def of(
        cls,
        variant: Variant,
        device: Device,
        folding: Folding,
        layout: Layout,
        spec: type[SharesSpec],
        label: str,
        segments: int,
        size: int,
        known: KnownArrays,
        **how: Any,
    ) -> _Call:
        """Compile the kernel."""
        place = len(layout.forms) - len(folding.outputs) - 1
        loaded = max(form.item for form in layout.forms[:place])
        chosen = SharesVariant.of(variant).fitted(folding, loaded, size // segments, device.capabilities)
        vector, window = min(layout.vector_width(), chosen.items), _window(chosen.items, size // segments)
        own = spec.of(folding, layout, vector=vector, resident=chosen.groups_per_unit, window=window, **how)
        kernel, words = device.kernel(chosen, own), value_words(folding.values)
        return cls(device, label, chosen, kernel, layout.pack(0), place, words, segments, size, known)

    @property
    def warps(self) -> int:
        """Warps of a group, each with a share; single work-items where groups are not whole warps."""
        warp, block = self.device.capabilities.warp, self.variant.block
        return block // (warp if warp and block % warp == 0 else 1)

    @property
    def groups(self) -> int:
        """Groups that share the elements and segments."""
        steps, able = self.size + self.segments, self.device.capabilities
        return max(self.variant.groups(-(-steps // self.variant.tile), able), -(-steps // (self.warps * _MOST_STEPS)))

    def prepared(self, step: int) -> Launch:
        """Return a launch of one step."""
        groups = self.groups
        if step == _CHECK:  # four segments of each work-item
            groups = min(-(-self.segments // (4 * self.variant.block)), 8 * self.device.capabilities.compute_units)
        return self.kernel.prepare(groups, self.layout, self.segments, self.size, step)

    def checked(self, check: Launch, work: Launch, known_work: Sequence[Launch], words: int) -> Launch:
        """Return a launch that waits for the check of the offsets, unless an earlier call found the same array right.

        In that case a fault is raised later (docs/decisions/0021). An array that nobody else can write to is not
        checked again.
        """
        device, place, label, known = self.device, self.offsets, self.label, self.known
        nbytes = 4 * (_HEADER + words)
        start_known = all_with_counters(device, known_work, 2, nbytes)

        @cache
        def unread() -> Any:
            """Return memory for answers that nobody reads."""
            return device.driver.scratch(_ANSWER)

        def fault(_: int) -> Exception:
            known.forget()  # the next call waits for the check again
            return ArgumentError(
                f"{label}: segments= that stay right; got an array that was right in one call, and wrong in a later"
                " one, whose results hold nothing"
            )

        def start(memories: Sequence[Any]) -> None:
            driver, offsets = device.driver, memories[place]
            device.faults.check()
            if offsets in MADE or (offsets in known and offsets in OWN_COPIES):
                start_known(memories, unread())
                return
            if offsets in known:
                report = driver.report()
                start_known(memories, report.memory)
                report.leave()
                device.faults.add(report, fault)
                return
            report = driver.report()
            everything = [*memories, driver.scratch(nbytes), driver.counters(2), report.memory]
            check(everything)
            report.mark()
            work(everything)
            if report.read():
                raise WrongOffsetsError
            if type(offsets) in REGISTRY.facts_by_class:
                known.add(offsets)

        return start


def launch_shares(variant: Variant, device: Device, folding: Folding, layout: Layout, *call: Any, **how: Any) -> Launch:
    """Return the launch of a fold by equal shares."""
    own = _Call.of(variant, device, folding, layout, SharesSpec, *call, **how)
    check, checked, alone = (own.prepared(step) for step in (_CHECK, _CHECKED, _ALONE))
    return own.checked(check, checked, [alone], 2 * own.groups * (1 + own.value_words))


def launch_tails(variant: Variant, device: Device, folding: Folding, layout: Layout, *call: Any, **how: Any) -> Launch:
    """Return both launches of a scan by equal shares."""
    own = _Call.of(variant, device, folding, layout, SharesScanSpec, *call, **how)
    check, checked, alone, prepare = (own.prepared(step) for step in (_CHECK, _CHECKED, _ALONE, _PREPARE))
    shares = own.groups * own.warps
    words = 2 * shares + (shares + own.groups) * own.value_words
    return own.checked(check, in_turn((prepare, checked)), [prepare, alone], words)


def taking_offsets(folding: Folding, arrays: tuple[np.dtype[Any], ...], offsets: np.dtype[Any]) -> Any:
    """Return the map of a folding for kernels whose last input has the offsets."""
    n = len(arrays)  # the map takes an offset too, and ignores it
    map_ = typed(trace(lambda *given: folding.map(*given[:n], given[-1]), n + 2), (*arrays, offsets, _INT64))
    return as_portable(map_, settled=False) if asks_for_device() else map_


class SegmentsCall(Protocol):
    """The request of a call on segments; hashable."""

    @property
    def op(self) -> Op:
        """The operator."""

    @property
    def of_nothing(self) -> bool:
        """True if segments may be empty."""

    def described(self, dtypes: tuple[np.dtype[Any], ...], size: int) -> tuple[Folding, CallTraits]:
        """Return the folding of a call on arrays of ``size`` elements, and the traits by which a variant is chosen."""


@keeps_calls()
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

    ``keep`` gets the plan of a call that needs only one launch plan.
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
