"""Calls of a group of several processes, as one of them: ``python tests/process_calls.py FOLDER RANK SIZE SPEC``.

Each process has a part of the rows, and compares what it gets with the result of all rows. Files of a folder take the
place of a store of ``torch.distributed``.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import gpuprims
from gpuprims.distributed import Processes

ROWS, PATIENCE = 4_001, 60.0


class Folder:
    """A store of files."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)

    def set(self, key: str, value: bytes) -> None:
        written = self._path / f"{key}.part"
        written.write_bytes(value)
        written.rename(self._path / key)

    def get(self, key: str) -> bytes:
        path, deadline = self._path / key, time.monotonic() + PATIENCE
        while not path.exists():
            assert time.monotonic() < deadline, f"{key} does not come"
            time.sleep(0.001)
        return path.read_bytes()

    def delete_key(self, key: str) -> None:
        (self._path / key).unlink()


def main(folder: str, rank: int, size: int, spec: str) -> None:
    """Make the calls, and compare."""
    processes = Processes.from_store(Folder(folder), rank, size)
    group = gpuprims.DeviceGroup([spec] * (1 + rank % 2), processes=processes)
    rng = np.random.default_rng(0)
    x, image = rng.standard_normal(ROWS).astype(np.float32), rng.random((ROWS, 5), np.float32)
    rows = slice(ROWS * rank // size, ROWS * (rank + 1) // size)
    mine, part = group.scatter(x[rows]), group.scatter(image[rows])
    here: Any = {"device": "reference"}

    np.testing.assert_allclose(group.reduce(mine), x.sum(), rtol=1e-4)
    np.testing.assert_allclose(group.scan(mine).gather(), np.cumsum(x, dtype=np.float64)[rows], atol=1e-3)
    np.testing.assert_array_equal(group.histogram(mine, 9, (-3, 3))[0], np.histogram(x, 9, (-3, 3))[0])
    np.testing.assert_array_equal(group.sort(mine).gather(), np.sort(x)[rows])
    best = gpuprims.top_k(x, 20, **here)
    for found, wanted in zip(group.top_k(mine, 20), best, strict=True):
        np.testing.assert_array_equal(found, wanted)
    weights = np.arange(1, 16.0).reshape(5, 3)
    wanted = gpuprims.stencil(image.astype(float), weights, mode="wrap", **here)[rows]
    np.testing.assert_allclose(group.stencil(part, weights, mode="wrap").gather(), wanted, rtol=1e-5)
    wanted = gpuprims.blur(image.astype(float), "gaussian", sigma=2.0, **here)[rows]
    np.testing.assert_allclose(group.blur(part, "gaussian", sigma=2.0).gather(), wanted, rtol=1e-4)
    print(f"process {rank} agrees", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
