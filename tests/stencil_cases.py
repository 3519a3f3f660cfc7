"""Calls of stencils by one kernel after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

import gpuprims
from gpuprims.core.registry import REGISTRY
from gpuprims.errors import NoVariantError


def by_kernels(
    device: gpuprims.Device, kernels: Sequence[str | None], call: Callable[[str | None], np.ndarray]
) -> list[np.ndarray]:
    """Return the results of the kernels of this device that take the call; None stands for the call without a name."""
    known = [variant.name for variant in REGISTRY.variants("stencil", device.backend)]
    found = []
    for name in kernels:
        if name is None or name in known:
            try:
                found.append(call(name))
            except NoVariantError:
                continue
    return found
