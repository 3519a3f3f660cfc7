"""Calls on segments by kernels that read offsets, and by those that check them on the device."""

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
from gpuprims.core.driver import Launch
from gpuprims.core.faults import KnownArrays
from gpuprims.core.kernel_spec import value_bytes
from gpuprims.core.launch_plan import LaunchPlan, asks_for, find_plan, nothing
from gpuprims.core.layout import Form, is_contiguous
from gpuprims.core.operands import Operands
from gpuprims.core.outputs import Out
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.taking import Step
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.errors import ArgumentError, EmptyReductionError
from gpuprims.expressions import TypedExpr, as_portable, trace, typed
from gpuprims.operators import Folding, Op
from gpuprims.operators.exact_windows import Window
from gpuprims.operators.portable import is_portable, rounds
from gpuprims.primitives.fold_variants import FoldVariant
from gpuprims.primitives.levels import at_level, settled_here
from gpuprims.primitives.segments.offsets import MADE, OWN_COPIES, Segments

_INT64 = np.dtype(np.int64)
CHECK, CHECKED, ALONE = range(3)  # steps, as in shares.h
HEADER = 4  # words before what kernels leave for others, as in shares.h
_ANSWER = 8  # bytes of the answer to the check


# Keeps the launch plan of a call on operands, with a step that checks arrays like them.
Keep = Callable[[LaunchPlan, Operands, Step | None], None]


class WrongOffsetsError(Exception):
    """A kernel found offsets that are wrong, or an empty segment where the operator has no value for it."""


def check_groups(segments: int, block: int, able: Capabilities) -> int:
    """Return how many groups check the offsets of some segments, four of each work-item or more."""
    return min(-(-segments // (4 * block)), 8 * able.compute_units)


@dataclass(frozen=True)
class CheckingVariant(FoldVariant):
    """A variant that checks offsets itself."""


class CheckedCall(NamedTuple):
    """What a call on segments is launched with, whose offsets its kernel checks."""

    device: Device
    label: str
    offsets: int  # their place among the operands
    known: KnownArrays  # offsets that passed the check of an earlier call

    def launch(self, check: Launch, work: Launch, known_work: Sequence[Launch], words: int) -> Launch:
        """Return a launch that waits for the check of the offsets, unless an earlier call found the same array right.

        In that case a fault is raised later (docs/decisions/0021). An array that nobody else can write to is not
        checked again.
        """
        device, label, place, known = self
        nbytes = 4 * (HEADER + words)
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


class SegmentsCall(Protocol):
    """The request of a call on segments; hashable."""

    @property
    def op(self) -> Op:
        """The operator."""

    @property
    def of_nothing(self) -> bool:
        """True if segments may be empty."""

    @property
    def segments(self) -> int:
        """How many there are."""

    @property
    def window(self) -> Window | None:
        """The window of the bits of all elements, if it is known."""

    def plain(self, dtypes: tuple[np.dtype[Any], ...]) -> Folding:
        """Return the folding of a segment, before exact sums take its place."""


def described(request: SegmentsCall, dtypes: tuple[np.dtype[Any], ...], size: int) -> tuple[Folding, CallTraits]:
    """Return the folding of a call on arrays of ``size`` elements, and the traits by which a variant is chosen."""
    folding = at_level(request.plain(dtypes), request.window)
    own, nbytes = settled_here(folding), value_bytes(folding.values)
    facts: dict[str, Any] = {"rounds": rounds(own), "portable": is_portable(own)}
    return folding, CallTraits(own.computed_in, size, request.segments, request.op.commutative, nbytes, **facts)


class OffsetsCall(NamedTuple):
    """A call on arrays and the offsets of segments.

    ``map`` takes an offset too, which kernels read as their last input, and ignores it.
    """

    own: list[Form]
    offsets: Form
    size: int  # elements
    folding: Folding
    traits: CallTraits
    map: TypedExpr


def by_offsets(request: SegmentsCall, forms: Sequence[Form]) -> OffsetsCall:
    """Describe a call whose last array has the offsets."""
    *own, offsets = forms
    arrays, n = tuple(form.dtype for form in own), len(own)
    size = max(form.shape[0] for form in own if form.shape)
    folding, traits = described(request, arrays, size)
    taken = typed(trace(lambda *given: folding.map(*given[:n], given[-1]), n + 2), (*arrays, offsets.dtype, _INT64))
    map_ = as_portable(taken, settled=False) if asks_for_device() else taken
    return OffsetsCall(own, offsets, size, settled_here(folding), traits, map_)


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
    return device.explain(primitive, described(request, dtypes, size)[1]).chosen is not None


def run_by_offsets(
    plan_call: Any, segments: Segments, request: SegmentsCall, out: Out | None, variant: Any, keep: Keep | None = None
) -> Any:
    """Run a kernel that reads offsets. If it does not check them itself, they are checked before.

    ``keep`` gets the plan of a call that needs only one launch plan.
    """
    beside = segments.beside(apart=out is not None)
    plan: LaunchPlan = find_plan(plan_call, beside, request, out, variant)
    if isinstance(plan.variant, CheckingVariant) and plan.compiled() is not nothing:
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
    if keep is not None and (beside.in_place or is_contiguous(beside.forms[-1])):
        rise = _offsets_rise(segments.size, strictly=not request.of_nothing)
        keep(plan, beside, rise if beside.in_place else _offsets_rise_there(beside.device, rise))
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


def _offsets_rise_there(device: Device, rise: Step) -> Step:
    """Return the step for arrays of a device, which reads offsets that change in place, and checks its own once."""
    right = KnownArrays()

    def check(arrays: Sequence[Any]) -> Sequence[Any]:
        offsets = arrays[-1]
        if offsets in MADE or (offsets in right and offsets in OWN_COPIES):
            return arrays
        rise([device.driver.to_host(offsets)])
        if offsets in OWN_COPIES:
            right.add(offsets)
        return arrays

    return check


def check(segments: Segments, request: SegmentsCall) -> None:
    """Raise if the offsets are wrong, or if a segment is empty and may not be."""
    segments.check()
    if not request.of_nothing and segments.has_empty:
        rule = f"{segments.label} with {request.op.name}: at least one element a segment"
        raise EmptyReductionError(f"{rule}; got an empty segment")
