"""Variants of scan whose groups wait for each other need devices that allow it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import gpuprims
from gpuprims.core.registry import REGISTRY
from gpuprims.core.traits import CallTraits

WAITING = [
    (backend, name) for backend in ("opencl", "cuda") for name in ("lookback", "round_robin", "columns", "column_runs")
]


@pytest.mark.parametrize(("backend", "name"), WAITING)
def test_kernels_whose_groups_wait_refuse_devices_where_they_may_not(backend: str, name: str) -> None:
    (variant,) = (variant for variant in REGISTRY.variants("scan", backend) if variant.name == name)
    able = dataclasses.replace(
        gpuprims.Device("reference").capabilities, kind="gpu", group_limit=1024, local_memory=2**15,
        int64_atomics=True, tries_progress=lambda: True,
    )  # fmt: skip
    call = CallTraits((np.dtype(np.float32),), 2**20, outputs=9, side_by_side=True)
    assert variant.refuse(able, call) is None
    alone = variant.refuse(dataclasses.replace(able, tries_progress=lambda: False), call)
    assert alone == (f"needs groups that run at the same time; {able.name}: its backend says so")
    lacking = variant.refuse(dataclasses.replace(able, int64_atomics=False), call)
    assert lacking == f"needs atomics on 64 bits, which {able.name} lacks"
