"""Streams through a device that has room for a small part of them: uploads overlap, and memory is bounded."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from links import Link
from sklearn.linear_model import LogisticRegression

import gpuprims
from conftest import SPECS
from gpuprims.distributed import LogReg
from gpuprims.errors import StreamError

# The device has room for 1 MiB. 64 MiB pass through it, as 64 GB through a device of 1 GB.
ROOM, COUNT, CHUNK = 1 << 20, 1 << 24, 1 << 15


class Small:
    """A device that copies host arrays to memory of its own, and how much of that was used at once."""

    def __init__(self, device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch) -> None:
        self.device, self.link, self.live, self.most = device, Link(), 0, 0
        driver, kind = device.driver, type(device.driver)
        monkeypatch.setattr(kind, "shares_host_memory", False)
        monkeypatch.setattr(kind, "room", ROOM)
        empty = driver.empty

        def counted(shape: Any, dtype: Any) -> Any:
            found = empty(shape, dtype)
            self.live += found.nbytes
            self.most = max(self.most, self.live)
            weakref.finalize(found, self.freed, found.nbytes)
            return found

        monkeypatch.setattr(driver, "empty", counted, raising=False)
        monkeypatch.setattr(driver, "begin_asarray", partial(self.link.begin_asarray, driver), raising=False)

    def freed(self, nbytes: int) -> None:
        self.live -= nbytes


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[Small]:
    device = gpuprims.Device(SPECS[0])
    if device.backend != "opencl" or not device.driver.shares_host_memory:
        pytest.skip("the small device is made of an OpenCL runtime for CPUs")
    found = Small(device, monkeypatch)
    yield found
    assert found.link.begun == found.link.finished, "an upload was left"
    assert found.live < ROOM


def test_64_times_its_memory_passes_through_a_device(small: Small, tmp_path) -> None:
    file = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.float32, (COUNT,))
    file[:] = np.tile(np.arange(4096, dtype=np.float32), COUNT // 4096)
    stream = gpuprims.stream(tmp_path / "x.npy", chunk=CHUNK, device=small.device)
    assert stream.reduce(op="max") == 4095
    assert stream.reduce(dtype=np.float64) == COUNT / 4096 * (4095 * 2048)
    assert stream.histogram(64, (0, 4096))[0].tolist() == [COUNT // 64] * 64
    assert small.link.begun == 3 * COUNT // CHUNK
    assert small.link.most == 2  # one is copied while one is computed
    assert 4 * CHUNK < small.most <= ROOM


def test_scans_and_fits_read_chunks_on_the_device(small: Small, rng) -> None:
    x = rng.standard_normal(3_000)
    stream = gpuprims.stream(x, chunk=500, device=small.device)
    found = list(stream.scan(op="max"))
    assert all(type(part) is np.ndarray for part in found)
    np.testing.assert_array_equal(np.concatenate(found), np.maximum.accumulate(x))
    assert stream.reduce(op="argmin") == x.argmin()
    np.testing.assert_array_equal(stream.histogram(9)[0], np.histogram(x, 9)[0])
    X, names = x.reshape(600, 5), np.where(x[::5] + rng.standard_normal(600) > 0, "yes", "no")
    model = LogReg(tol=1e-9).fit(gpuprims.stream(X, names, chunk=100, device=small.device))
    wanted = LogisticRegression(tol=1e-10, max_iter=9_999).fit(X, names)
    np.testing.assert_allclose(model.coef_, wanted.coef_, atol=1e-6)
    assert small.link.most == 2


def test_the_chunk_before_an_error_is_computed_and_uploads_end(small: Small) -> None:
    x = np.arange(1_000, dtype=np.float32)

    def source():
        yield from np.split(x[:300], 3)
        raise OSError(5, "Input/output error")

    with pytest.raises(StreamError, match="chunk 3") as caught:
        gpuprims.stream(source, device=small.device).reduce()
    assert caught.value.checkpoint.rows == 300
    next(scan := gpuprims.stream(np.split(x, 10), device=small.device).scan())
    scan.close()


def test_chunks_without_room_or_of_other_dtypes_are_left_to_the_calls(small: Small) -> None:
    x = np.arange(1 << 18, dtype=np.float32)
    assert gpuprims.stream(x, chunk=1 << 17, device=small.device).reduce(op="max") == x[-1]  # 512 KiB, of 1 MiB
    swapped = np.arange(100, dtype=">f4")
    assert gpuprims.stream(swapped, chunk=50, device=small.device).reduce(op="max") == 99  # copied when converted
    assert small.link.begun == 0
