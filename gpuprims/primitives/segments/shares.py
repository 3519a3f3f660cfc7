"""Launch plans of kernels that share elements and segments evenly, and check the offsets on the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.device import Device
from gpuprims.core.driver import Kernel, Launch
from gpuprims.core.faults import KnownArrays
from gpuprims.core.geometry import Geometry, Refusal, first_refusal
from gpuprims.core.kernel_spec import value_bytes, value_words
from gpuprims.core.launch_plan import in_turn
from gpuprims.core.layout import Layout
from gpuprims.core.refusals import SPARE_LOCAL, double_precision, group_fits, lacks_local, not_for_cpus, shuffles
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.operators import Folding
from gpuprims.primitives.segments.checked import ALONE, CHECK, CHECKED, CheckedCall, CheckingVariant, check_groups
from gpuprims.primitives.segments.spec import SharesScanSpec, SharesSpec

_PREPARE = 3  # a step, as in shares.h
_MOST_ENDS = 8  # ends of segments that a lane reads at once (rows: shares)
# Bytes of elements that a work-item loads, and words of values that it holds; both double for segments of _LONG.
_LOADED, _HELD, _LONG = 64, 16, 64  # rows: shares
# What a work-item keeps in local memory beside its items. First the number of values: one after the items and, if the
# work-item is a warp of its own, its head, its tail and a fold. Then the bytes of words.
_BESIDE, _WORDS_BESIDE = 4, 24
_MOST_STEPS = 2**30  # of a warp, which counts in 32 bits
# Work-items of the smallest group, for values that leave no room for more.
_FEWEST = 64


def for_shares(at: Geometry) -> Refusal:
    """Refuse CPUs, devices that lack what the kernels need, and too little local memory for a group's values."""
    block = min(at.block, _FEWEST)

    def room(able: Capabilities, call: CallTraits) -> str | None:
        return lacks_local(block * ((2 + _BESIDE) * call.value_bytes + _WORDS_BESIDE) + SPARE_LOCAL, able)

    return first_refusal(not_for_cpus, shuffles(at.block), double_precision, group_fits(at.block), room)


@dataclass(frozen=True)
class SharesVariant(CheckingVariant):
    """A variant whose warps share elements and segments evenly."""

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

    checks: CheckedCall
    variant: SharesVariant
    kernel: Kernel
    layout: np.ndarray
    value_words: int
    segments: int
    size: int

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
        checks = CheckedCall(device, label, place, known)
        return cls(checks, chosen, kernel, layout.pack(0), words, segments, size)

    @property
    def warps(self) -> int:
        """Warps of a group, each with a share; single work-items where groups are not whole warps."""
        warp, block = self.checks.device.capabilities.warp, self.variant.block
        return block // (warp if warp and block % warp == 0 else 1)

    @property
    def groups(self) -> int:
        """Groups that share the elements and segments."""
        steps, able = self.size + self.segments, self.checks.device.capabilities
        return max(self.variant.groups(-(-steps // self.variant.tile), able), -(-steps // (self.warps * _MOST_STEPS)))

    def prepared(self, step: int) -> Launch:
        """Return a launch of one step."""
        groups = self.groups
        if step == CHECK:
            groups = check_groups(self.segments, self.variant.block, self.checks.device.capabilities)
        return self.kernel.prepare(groups, self.layout, self.segments, self.size, step)


def launch_shares(variant: Variant, device: Device, folding: Folding, layout: Layout, *call: Any, **how: Any) -> Launch:
    """Return the launch of a fold by equal shares."""
    own = _Call.of(variant, device, folding, layout, SharesSpec, *call, **how)
    check, checked, alone = (own.prepared(step) for step in (CHECK, CHECKED, ALONE))
    return own.checks.launch(check, checked, [alone], 2 * own.groups * (1 + own.value_words))


def launch_tails(variant: Variant, device: Device, folding: Folding, layout: Layout, *call: Any, **how: Any) -> Launch:
    """Return both launches of a scan by equal shares."""
    own = _Call.of(variant, device, folding, layout, SharesScanSpec, *call, **how)
    check, checked, alone, prepare = (own.prepared(step) for step in (CHECK, CHECKED, ALONE, _PREPARE))
    shares = own.groups * own.warps
    words = 2 * shares + (shares + own.groups) * own.value_words
    return own.checks.launch(check, in_turn((prepare, checked)), [prepare, alone], words)
