"""Fixtures of tests of segments."""

from __future__ import annotations

import dataclasses

import pytest
from kernel_cases import Kernel

from gpuprims.core.registry import REGISTRY


@pytest.fixture
def kernel(segments_kernel: Kernel) -> Kernel:
    """Each variant of scan and segments on each device that it is meant for."""
    return segments_kernel


@pytest.fixture
def any_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let segments/shares and segscan/tails also run on CPUs, which they refuse elsewhere."""
    for primitive, name in (("segments", "shares"), ("segscan", "tails")):
        (variant,) = [one for one in REGISTRY.variants(primitive, "opencl") if one.name == name]
        taken = dataclasses.replace(variant, refuse=lambda *_: None)
        monkeypatch.setitem(REGISTRY._variants["opencl", primitive], name, taken)
    monkeypatch.setattr(REGISTRY, "generation", REGISTRY.generation + 1)
