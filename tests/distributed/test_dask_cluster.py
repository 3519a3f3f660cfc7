"""A cluster of two workers: tasks travel, and a worker that is killed costs time, not the result."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest

import gpuprims

da = pytest.importorskip("dask.array", reason="Dask is not installed: make test-dask")


@pytest.mark.filterwarnings("ignore")
def test_tasks_travel_and_a_killed_worker_does_no_harm(client, rng, tmp_path: Path) -> None:
    x = rng.standard_normal((400, 30))
    a = da.from_array(x, chunks=(25, 30))
    np.testing.assert_allclose(gpuprims.reduce(a, op="std", axis=0, device="reference").compute(), x.std(axis=0))
    np.testing.assert_allclose(gpuprims.scan(a, axis=0, device="reference").compute(), x.cumsum(axis=0), atol=1e-9)
    affine = gpuprims.Op(
        lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]),
        (1, 0),
        finish=lambda factor, term, count: factor + term,
        dtypes=lambda elements, dtype: (elements, elements[:1]),
    )
    found = gpuprims.reduce(a, map=lambda v: (1 + v / 1e3, v), op=affine, device="reference").compute()
    wanted = gpuprims.reduce(x, map=lambda v: (1 + v / 1e3, v), op=affine, device="reference")
    np.testing.assert_allclose(found, wanted, rtol=1e-9)

    def slowly(block: np.ndarray, folder: str) -> np.ndarray:
        """Leave the number of the process, and take so long that it can be killed."""
        (Path(folder) / str(os.getpid())).touch()
        time.sleep(0.05)
        return block

    slow = a.map_blocks(slowly, str(tmp_path), dtype=a.dtype, meta=np.empty((0, 0)))
    future = client.compute(gpuprims.reduce(slow, op="mean", device="reference"))
    deadline = time.monotonic() + 30
    while not (begun := list(tmp_path.iterdir())) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(int(begun[0].name), signal.SIGKILL)
    np.testing.assert_allclose(future.result(timeout=60), x.mean(), rtol=1e-10)
    assert len(list(tmp_path.iterdir())) >= 2
