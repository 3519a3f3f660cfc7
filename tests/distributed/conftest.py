"""Fixtures of groups of devices."""

from __future__ import annotations

import pytest
from device_groups import KINDS, group_of

import gpuprims


@pytest.fixture(scope="session", params=list(KINDS))
def group(request: pytest.FixtureRequest) -> gpuprims.DeviceGroup:
    """Each group in turn."""
    return group_of(request.param)
