"""Fixtures of groups of devices."""

from __future__ import annotations

import pytest
from device_groups import KINDS, group_of

import gpuprims


@pytest.fixture(scope="session", params=list(KINDS))
def group(request: pytest.FixtureRequest) -> gpuprims.DeviceGroup:
    """Each group in turn."""
    return group_of(request.param)


@pytest.fixture(scope="module")
def client():
    """A client of two workers with one thread each, not those of a module that kills some."""
    distributed = pytest.importorskip("dask.distributed", reason="distributed is not installed: make test-dask")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50, memory_limit=0
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
