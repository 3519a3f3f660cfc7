"""Test if a device's atomics return numbers in the order of lanes, which no vendor promises."""

from __future__ import annotations

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.layout import contiguous, starts_of
from gpuprims.core.variant import Variant
from gpuprims.primitives.sort.keys import DIGITS, Keys
from gpuprims.primitives.sort.spec import SortSpec

# Additions of each warp that are tried, and groups of each unit: some millions on a large GPU, in less than 1 ms.
_ROUNDS, _GROUPS = 512, 4
# The headers of kernels that rank elements.
RANKS = "lower_sums.h", "ranks.h"
_found: dict[Device, bool] = {}


def lanes_in_order(device: Device, variant: Variant) -> bool:
    """Return True if, in every trial, atomic additions of a warp in local memory gave lower numbers to lower lanes.

    The first variant that asks runs the trial, and the others reuse its result. Ranks by atomics take a seventh of the
    time of ranks by votes. The atomics of NVIDIA's GPUs have kept this order in every trial. Elsewhere no trial is
    made: compilers for CPUs run lanes in loops, in an order that differs by kernel.
    """
    if device not in _found:
        _found[device] = "nvidia" in device.capabilities.vendor.lower() and _try(device, variant)
    return _found[device]


def _try(device: Device, variant: Variant) -> bool:
    keys, driver, able = Keys(np.dtype(np.uint8), descending=False), device.driver, device.capabilities
    kernel = device.kernel(variant, SortSpec.of(keys, step="tries", memories=1, parts=RANKS))
    layout = starts_of([contiguous(keys.word, (1,), 1)]).pack(0)
    local = 4 * DIGITS * variant.block // (able.warp or 1)
    groups = (1 if variant.together else _GROUPS) * able.compute_units
    faults = driver.asarray(np.zeros(1, np.uint32))
    kernel.prepare(groups, layout, _ROUNDS, local=local)([faults])
    return not driver.to_host(faults)[0]
