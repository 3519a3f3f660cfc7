"""Fixtures of tests of segments."""

from __future__ import annotations

import dataclasses

import pytest
from kernel_cases import Kernel

import gpuprims
from gpuprims.core.registry import REGISTRY


@pytest.fixture
def kernel(segments_kernel: Kernel) -> Kernel:
    """Each variant of scan and segments on each device that it is meant for."""
    return segments_kernel


@pytest.fixture
def any_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let kernels that check offsets themselves also run on CPUs, which they refuse elsewhere."""
    for primitive, name in (("segments", "shares"), ("segments", "fixed_tiles"), ("segscan", "tails")):
        (variant,) = [one for one in REGISTRY.variants(primitive, "opencl") if one.name == name]
        taken = dataclasses.replace(variant, refuse=lambda *_: None)
        monkeypatch.setitem(REGISTRY._variants["opencl", primitive], name, taken)
    monkeypatch.setattr(REGISTRY, "generation", REGISTRY.generation + 1)


@pytest.fixture
def gpu(device: gpuprims.Device, any_device: None) -> gpuprims.Device:
    """A device that these kernels run on: here they also take CPUs."""
    if device.backend == "reference":
        pytest.skip("compiles no kernels")
    if device.capabilities.kind == "cpu" and not device.capabilities.warp:
        pytest.skip("needs sub-groups on CPUs: on PoCL these kernels scan wrongly, and no call runs them")
    return device
