"""Transfers of large host arrays in pieces, by several threads."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from kernel_cases import assert_equal, random_values

import gpuprims
from gpuprims.core import staging


class _Lane:
    """A buffer that is not pinned, in the thread that uses it."""

    def __init__(self) -> None:
        self.buffer = np.empty(staging.CHUNK, np.uint8)
        self.threads: set[int] = set()


def _through(host: np.ndarray, lanes: staging.Lanes[_Lane]) -> np.ndarray:
    """Copy an array to bytes by way of lanes, and back."""
    there = np.zeros(host.nbytes, np.uint8)

    def send(lane: _Lane, part: np.ndarray, first: int) -> _Lane:
        lane.threads.add(threading.get_ident())
        staging.fill(lane.buffer, part)
        there[first : first + part.nbytes] = lane.buffer[: part.nbytes]
        return lane

    def receive(lane: _Lane, part: np.ndarray, first: int) -> None:
        staging.touch(part)
        lane.buffer[: part.nbytes] = there[first : first + part.nbytes]
        staging.empty_into(part, lane.buffer)

    sent = lanes.start(host, send).done()
    assert all(len(lane.threads) == 1 for lane in sent)
    assert_equal(there.view(host.dtype), host.reshape(-1))
    back = np.full_like(host, 77)
    lanes.start(back, receive).done()
    return back


@pytest.mark.parametrize("chunk", [8, 64, 1000])
def test_pieces_cover_arrays_in_any_order(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(staging, "CHUNK", chunk)
    x = random_values(rng, np.int16, (7, 5, 33))
    for host in (x, x.T, x[::-1, ::2], x[:, :, 3], x[:, 1:2], x.reshape(-1)[:5], np.asfortranarray(x), x[0, 0, :1]):
        covered = np.zeros(host.shape, bool)
        for part, first in staging.pieces(host):
            assert part.nbytes <= max(chunk, host.itemsize)
            copied = np.ascontiguousarray(host).reshape(-1)[first // 2 :][: part.size]
            assert_equal(copied, part.reshape(-1))
        for part, _ in staging.pieces(covered):
            part[...] = True
        assert covered.all()
        assert_equal(_through(host, staging.Lanes(_Lane, 3)), host)


def test_an_error_of_a_move_reaches_the_caller_when_no_move_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "CHUNK", 16)
    lanes, running = staging.Lanes(_Lane, 4), []

    def move(lane: _Lane, part: np.ndarray, first: int) -> None:
        running.append(first)
        try:
            if first == 64:
                raise OSError("a cable")
        finally:
            running.remove(first)

    with pytest.raises(OSError, match="a cable"):
        lanes.start(np.zeros(4096, np.uint8), move).done()
    assert not running
    assert_equal(_through(np.arange(100), lanes), np.arange(100))  # the lanes still work


def test_threads_share_the_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "CHUNK", 64)
    lanes, wrong = staging.Lanes(_Lane, 3), list[Any]()

    def call(k: int) -> None:
        host = np.arange(k, k + 5000)
        wrong.extend(() if np.array_equal(_through(host, lanes), host) else [k])

    threads = [threading.Thread(target=call, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_devices_copy_large_arrays_in_any_order(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = random_values(rng, np.int32, (3, 1000, 1001))  # 12 MB, three pieces
    for host in (x, x.transpose(2, 0, 1), x[:, ::-1, 1:]):
        there = device.asarray(host)
        assert_equal(device.to_host(there), host)
