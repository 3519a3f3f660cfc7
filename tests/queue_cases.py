"""What tests of scans by queues of tiles share: a GPU that only compiles, and calls of a scan on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_calls import CompilingDriver

import gpuprims
from gpuprims.cli.text_driver import usual_device
from gpuprims.core.variant import Variant

GPU = usual_device("gpu", 32)
LONG = 1 << 25


def asked(*arrays: np.ndarray, gpu: Any = GPU, **how: Any) -> tuple[Variant, Any]:
    """Return the variant and the spec of a scan on a GPU that only compiles."""
    driver = CompilingDriver("cuda", gpu)
    gpuprims.scan(*arrays, device=gpuprims.Device._of(driver), **how)
    return driver.asked[-1]


def with_bulk_copies() -> gpuprims.Device:
    """Return a GPU with bulk copies; skip where there is none."""
    found = [one for one in gpuprims.devices() if one.backend == "cuda" and one.capabilities.bulk_copies]
    if not found:
        pytest.skip("no CUDA GPU has bulk copies")
    return found[0]
