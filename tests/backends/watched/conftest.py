"""The fixture of tests that run under Oclgrind or compute-sanitizer."""

from __future__ import annotations

import os

import pytest
from kernel_cases import Kernel, able_variants
from watched_kernels import BACKEND, CUT, NARROW, NEED_WARPS, SMALL

import gpuprims
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant import Variant


@pytest.fixture
def kernel(device: gpuprims.Device, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """A variant on a device of its backend; it refuses no device and no call."""
    variant: Variant = request.param
    if device.backend != BACKEND:
        pytest.skip(f"is about {BACKEND} devices")
    if variant.entry in NEED_WARPS and not device.capabilities.warp:
        pytest.skip("the simulator has no shuffles; compute-sanitizer watches the same text under CUDA")
    if variant.together and device.capabilities.kind == "cpu" and "OCLGRIND_LOG" not in os.environ:
        pytest.skip("Intel's compiler for CPUs crashes on it; it refuses CPUs")
    able = variant.primitive not in CUT and variant in able_variants(device, variant.primitive)
    chosen = NARROW[variant] if able else SMALL[variant]
    monkeypatch.setitem(REGISTRY._variants[BACKEND, variant.primitive], variant.name, chosen)
    return Kernel(device, chosen)
