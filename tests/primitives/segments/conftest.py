"""Fixtures of tests of segments."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kernel_cases import Kernel
from other_refusals import refusing

import gpuprims


@pytest.fixture
def kernel(segments_kernel: Kernel) -> Kernel:
    """Each variant of scan and segments on each device that it is meant for."""
    return segments_kernel


@pytest.fixture
def any_device() -> Iterator[None]:
    """Let kernels that check offsets themselves also run on CPUs, which they refuse elsewhere."""
    with refusing(lambda *_: None, ("segments", "shares"), ("segments", "fixed_tiles"), ("segscan", "tails")):
        yield


@pytest.fixture
def gpu(device: gpuprims.Device, any_device: None) -> gpuprims.Device:
    """A device that these kernels run on: here they also take CPUs."""
    if device.backend == "reference":
        pytest.skip("compiles no kernels")
    if device.capabilities.kind == "cpu" and not device.capabilities.warp:
        pytest.skip("needs sub-groups on CPUs: on PoCL these kernels scan wrongly, and no call runs them")
    return device
