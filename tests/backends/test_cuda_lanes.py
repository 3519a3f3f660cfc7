"""Threads in C that copy through buffers, by functions that stand in for those of a driver."""

from __future__ import annotations

import ctypes
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_cases import assert_equal

import gpuprims.backends
from gpuprims.core.c_modules import compiled, loaded, why_not

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))

_PIECE = 64
_FAILS, _STREAM = 7, 99  # a status of the driver, and a stream that is no lane's
_INT, _ANY, _SIZE = ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t


class _Driver:
    """Copies at once, and notes which event each stream waits for; from the copy ``failing`` on, copies fail."""

    def __init__(self, failing: int = 1 << 30) -> None:
        self.copies, self.waited, self.contexts = 0, list[tuple[int, int]](), list[int]()
        self._failing, self._lock = failing, threading.Lock()
        self._kept = (
            ctypes.CFUNCTYPE(_INT, _ANY)(self._use),
            ctypes.CFUNCTYPE(_INT, ctypes.c_uint64, ctypes.c_uint64, _SIZE, _ANY)(self._copy),
            ctypes.CFUNCTYPE(_INT, _ANY, _ANY)(lambda event, stream: 0),
            ctypes.CFUNCTYPE(_INT, _ANY)(lambda event: 0),
            ctypes.CFUNCTYPE(_INT, _ANY, _ANY, ctypes.c_uint)(self._wait_in),
        )
        self.functions = *[ctypes.cast(one, _ANY).value for one in self._kept], 5

    def _use(self, context: int) -> int:
        self.contexts.append(context)
        return 0

    def _copy(self, target: int, source: int, nbytes: int, stream: int) -> int:
        with self._lock:
            self.copies += 1
            failed = self.copies >= self._failing
        if not failed:
            ctypes.memmove(target, source, nbytes)
        return _FAILS if failed else 0

    def _wait_in(self, stream: int, event: int, flags: int) -> int:
        self.waited.append((stream, event))
        return 0


class _Lanes:
    """Lanes in C with a driver of their own."""

    def __init__(self, module: Any, driver: _Driver, count: int, *, up: bool) -> None:
        self.module, self.driver, self.count = module, driver, count
        self._buffers = np.zeros((count, 2, _PIECE), np.uint8)
        lanes = tuple([(k + 1, 0, 0, *[row.ctypes.data for row in self._buffers[k]]) for k in range(count)])
        self.threads = module.Lanes(driver.functions, lanes, _PIECE, up)

    def start(self, host: np.ndarray, there: np.ndarray) -> Any:
        job = self.module.Job(tuple(range(1000, 1000 + self.count)))
        self.threads.start(job, host.ctypes.data, there.ctypes.data, host.nbytes, 77, True)
        return job

    def finish(self, job: Any) -> int:
        status: int = self.threads.finish(job, _STREAM)
        return status


@pytest.fixture(scope="module")
def module() -> Any:
    source = Path(gpuprims.backends.__file__).parent / "cuda/lanes.c"
    return loaded(source.stem, compiled(source))


@pytest.mark.parametrize("count", [1, 3])
def test_arrays_arrive(module: Any, rng: np.random.Generator, count: int) -> None:
    up, down = (_Lanes(module, _Driver(), count, up=up) for up in (True, False))
    memory, device = rng.integers(0, 256, 4000, np.uint8), np.zeros(4000, np.uint8)
    for first in (0, 1, 50):  # pieces end at multiples of their length, wherever an array begins
        for size in (0, 1, _PIECE - 1, _PIECE, _PIECE + 1, 50 * _PIECE + 13):
            host, there, back = memory[first:][:size], device[first + 3 :][:size], np.full(size, 77, np.uint8)
            there[:] = 0
            assert up.finish(up.start(host, there)) == 0
            assert_equal(there, host)
            assert down.finish(down.start(back, there)) == 0
            assert_equal(back, host)
    assert set(up.driver.contexts) == {5}


def test_jobs_wait_and_are_waited_for(module: Any) -> None:
    host, there = np.ones(9 * _PIECE, np.uint8), np.zeros(9 * _PIECE, np.uint8)
    up = _Lanes(module, _Driver(), 2, up=True)
    up.finish(up.start(host, there))
    lanes = {stream for stream, event in up.driver.waited if event == 77}
    assert lanes in ({1}, {2}, {1, 2})  # each lane that took pieces waited for the event before them
    assert {event - 999 for stream, event in up.driver.waited if stream == _STREAM} == lanes
    down = _Lanes(module, _Driver(), 2, up=False)
    down.finish(down.start(host, there))
    assert _STREAM not in {stream for stream, _ in down.driver.waited}


def test_many_jobs_at_once(module: Any, rng: np.random.Generator) -> None:
    up = _Lanes(module, _Driver(), 3, up=True)
    sizes = rng.integers(0, 30 * _PIECE, 40)
    hosts = [rng.integers(0, 256, size, np.uint8) for size in sizes]
    theres = [np.zeros_like(host) for host in hosts]
    jobs = [up.start(host, there) for host, there in zip(hosts, theres, strict=True)]
    for k in rng.permutation(len(jobs)):
        assert up.finish(jobs[k]) == 0
        assert_equal(theres[k], hosts[k])


@pytest.mark.parametrize("up", [True, False])
def test_a_driver_that_fails_ends_a_job_alone(module: Any, up: bool) -> None:
    host, there = np.ones(500 * _PIECE, np.uint8), np.zeros(500 * _PIECE, np.uint8)
    lanes = _Lanes(module, _Driver(failing=3), 2, up=up)
    first = lanes.start(host, there)
    assert lanes.finish(first) == _FAILS
    assert lanes.driver.copies < 20
    lanes.driver._failing = 1 << 30
    assert lanes.finish(lanes.start(host, there)) == 0


def test_wrong_arguments_raise(module: Any) -> None:
    with pytest.raises(ValueError, match="power of two"):
        module.Lanes((0,) * 6, ((0,) * 5,), 63, True)
    with pytest.raises(TypeError, match="6 to 6 functions"):
        module.Lanes((0,) * 5, ((0,) * 5,), 64, True)
    with pytest.raises(TypeError):
        module.Job("events")
    lanes = _Lanes(module, _Driver(), 1, up=True)
    with pytest.raises(TypeError):
        lanes.threads.start(1, 2)
