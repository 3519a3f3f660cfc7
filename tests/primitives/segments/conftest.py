"""The fixture of tests of segments."""

from __future__ import annotations

import dataclasses

import pytest
from kernel_cases import Kernel

from gpuprims.core.registry import REGISTRY


@pytest.fixture
def kernel(segments_kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """Each variant of scan and segments on each device that it is meant for.

    Here segments/lanes also takes few or long segments, which it refuses elsewhere; it must be right there too.
    """
    variant = segments_kernel.variant
    if variant.name != "lanes":
        return segments_kernel
    unlimited = dataclasses.replace(variant, refuse=lambda *_: None)
    monkeypatch.setitem(REGISTRY._variants[variant.backend, "segments"], variant.name, unlimited)
    return dataclasses.replace(segments_kernel, variant=unlimited)
