"""The fixture of tests of segments."""

from __future__ import annotations

import dataclasses

import pytest
from kernel_cases import Kernel

from gpuprims.core.registry import REGISTRY


@pytest.fixture
def kernel(segments_kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """Each variant of scan, and of folds of segments alone, on each device that it is meant for.

    Those for many short segments are to be right with others too, and do not refuse them here.
    """
    variant = segments_kernel.variant
    if variant.name != "lanes":
        return segments_kernel
    unlimited = dataclasses.replace(variant, refuse=lambda *_: None)
    monkeypatch.setitem(REGISTRY._variants[variant.backend, "segments"], variant.name, unlimited)
    return dataclasses.replace(segments_kernel, variant=unlimited)
