"""Short calls on arrays of the host in C: they give what Python's give, and leave to Python what they cannot do."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from c_cases import compile_nothing, functions_of

import gpuprims
from gpuprims.backends.opencl import BACKEND
from gpuprims.backends.opencl.arrays import Beside
from gpuprims.backends.opencl.quick import HOST_CALLS
from gpuprims.core.program_cache import forget_calls
from gpuprims.core.warm_calls import WarmCalls


@pytest.fixture(scope="module")
def module() -> Any:
    loaded = functions_of(HOST_CALLS)
    loaded.use_opencl(0, 0, 0, 0, Beside)
    return loaded


@pytest.fixture
def launches(device: gpuprims.Device, module: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Yield the launches of a device whose short calls are in C."""
    found = device.driver._launches if device.backend == BACKEND.name else None
    if found is None or not found.quick:
        pytest.skip("is for CPU runtimes whose kernels take pointers")
    compile_nothing(monkeypatch)
    monkeypatch.setattr(HOST_CALLS, "calls", None)  # back to this afterwards
    HOST_CALLS.use(module)
    device.driver.wait()
    yield found
    forget_calls()


def kept_runs(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list that gets the function of each call that is kept."""
    seen: list[Any] = []
    keep = WarmCalls.keep

    def noting(self: WarmCalls, key: Any, *how: Any, **more: Any) -> None:
        keep(self, key, *how, **more)
        seen.append(self._runs.get(key))

    monkeypatch.setattr(WarmCalls, "keep", noting)
    return seen


X = np.arange(1200, dtype=np.float32).reshape(30, 40)
Y = (np.arange(1200, dtype=np.int64).reshape(30, 40) * 7919) % 1000
CALLS: dict[str, Any] = {
    "map": (lambda where, x: gpuprims.map("2*x + 1", x, device=where), 1),
    "map in Fortran order": (lambda where, x: gpuprims.map("2*x + 1", x.T, device=where), 1),
    "map of strided arrays": (lambda where, x: gpuprims.map("x - y", x[:, ::-2], x[:, 1::2], device=where), 1),
    "map of a row that is broadcast": (lambda where, x: gpuprims.map("x - y", x, x[3], device=where), 1),
    "sum": (lambda where, x: gpuprims.reduce(x, device=where), 1),
    "max of columns": (lambda where, x: gpuprims.reduce(x, op="max", axis=0, device=where), 1),
    "argmin of rows": (lambda where, x: gpuprims.reduce(x, op="argmin", axis=1, device=where), 1),
    "var": (lambda where, x: gpuprims.reduce(x, op="var", device=where), 1),
    "scan": (lambda where, x: gpuprims.scan(x, device=where), 1),
    "scan of columns": (lambda where, x: gpuprims.scan(x, op="max", axis=0, device=where), 1),
    "folds of segments": (lambda where, x: gpuprims.reduce(x.ravel(), segments=[0, 7, 7, 900, 1200], device=where), 0),
    "blur": (lambda where, x: gpuprims.blur(x.astype(np.float32), "gaussian", sigma=1, device=where), 0),
    "compact": (lambda where, x: gpuprims.compact(x, "x > 300", device=where), 0),
    "histogram": (lambda where, x: gpuprims.histogram(x, 12, (0, 1100), device=where)[0], 0),
    "bincount": (lambda where, x: gpuprims.bincount(x.astype(np.int32).ravel(), device=where), 0),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("x", [X, Y], ids=["float32", "int64"])
def test_results_are_those_of_python(
    device: gpuprims.Device, launches: Any, monkeypatch: pytest.MonkeyPatch, name: str, x: np.ndarray
) -> None:
    call, in_c = CALLS[name]
    seen = kept_runs(monkeypatch)
    got = [call(device, x + k) for k in range(3)]  # cold, and warm with other elements
    if in_c:
        assert type(seen[0]) is HOST_CALLS.calls.Run
    monkeypatch.setattr(HOST_CALLS, "calls", None)
    forget_calls()
    for k, one in enumerate(got):
        expected = call(device, x + k)
        assert (type(one), one.dtype, one.shape) == (type(expected), expected.dtype, expected.shape)
        np.testing.assert_array_equal(one, expected)
        if isinstance(one, np.ndarray):
            assert one.strides == expected.strides


@pytest.mark.parametrize(("rows", "in_c"), [(1 << 8, True), (1 << 12, True), (1 << 13, False)])
def test_calls_of_many_groups_run_in_c_too(
    device: gpuprims.Device, launches: Any, monkeypatch: pytest.MonkeyPatch, rows: int, *, in_c: bool
) -> None:
    """Calls of at most 16 MiB: 1 and 16 MiB here, and 32."""
    seen = kept_runs(monkeypatch)
    x = np.arange(rows << 10, dtype=np.int32).reshape(rows, 1024)
    for k in range(2):
        np.testing.assert_array_equal(gpuprims.map("x + 1", x + k, device=device), x + k + 1)
        np.testing.assert_array_equal(gpuprims.reduce(x + k, op="max", axis=1, device=device), (x + k).max(1))
    assert [type(run) is HOST_CALLS.calls.Run for run in seen if run is not None] == [in_c] * (2 if in_c else 0)


def test_work_of_the_queue_comes_first(device: gpuprims.Device, launches: Any) -> None:
    small = np.arange(50, dtype=np.float32)
    assert [gpuprims.reduce(small, device=device) for _ in range(3)] == [1225] * 3
    total = gpuprims.reduce(device.asarray(np.ones(3_000_000, np.float32)))  # shares memory with later calls
    assert not launches.idle
    assert gpuprims.reduce(small, device=device) == 1225
    assert device.to_host(total) == 3_000_000
    assert gpuprims.reduce(small, device=device) == 1225


def test_a_turn_of_another_thread_is_waited_for(device: gpuprims.Device, launches: Any) -> None:
    x, results = np.arange(50, dtype=np.float32), []
    assert gpuprims.reduce(x, device=device) == 1225
    call = threading.Thread(target=lambda: results.append(gpuprims.reduce(x, device=device)))
    with launches._turn:
        call.start()
        time.sleep(0.05)
        assert results == []
    call.join()
    assert results == [1225]


def test_threads_get_their_own_results(device: gpuprims.Device, launches: Any) -> None:
    wrong: list[Any] = []

    def work(k: int) -> None:
        x = np.full(700, k, np.float32)
        for _ in range(300):
            if gpuprims.reduce(x, device=device) != 700 * k or (gpuprims.scan(x, device=device)[-1] != 700 * k):
                wrong.append(k)
            if (gpuprims.map("x + 1", x, device=device) != k + 1).any():
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert wrong == []


def test_a_run_keeps_no_references(device: gpuprims.Device, launches: Any) -> None:
    x, y = X.copy(), X[:, ::2]
    calls = [lambda: gpuprims.map("x + 1", x, device=device), lambda: gpuprims.reduce(y, axis=0, device=device)]
    for call in calls:
        call()
    watched = [x, y, x.dtype, device, launches]
    for _ in range(2):
        before = [sys.getrefcount(one) for one in watched]
        for _ in range(50):
            for call in calls:
                call()
    assert [sys.getrefcount(one) for one in watched] == before


def test_a_forked_child_refuses_a_short_call_whoever_had_the_turn(device: gpuprims.Device, launches: Any) -> None:
    x = np.arange(50, dtype=np.float32)
    for _ in range(2):
        gpuprims.reduce(x, device=device)
    with launches._turn:  # held by a thread that the child does not have
        child = threading_child(lambda: gpuprims.reduce(x, device=device))
    assert child == "DeviceError"


def threading_child(call: Any) -> str:
    """Return the name of the error that a call raises in a child that another thread forks."""
    reads, writes = os.pipe()

    def fork() -> None:
        with warnings.catch_warnings(action="ignore"):  # that this process has threads
            process = os.fork()
        if process:
            os.waitpid(process, 0)
            return
        signal.alarm(20)
        try:
            call()
        except Exception as error:
            os.write(writes, type(error).__name__.encode())
        os._exit(0)

    thread = threading.Thread(target=fork)
    thread.start()
    thread.join()
    os.close(writes)
    with os.fdopen(reads) as file:
        return file.read()


@pytest.mark.parametrize("in_c", [True, False])
def test_read_only_arrays_are_read_warm_as_cold(
    device: gpuprims.Device, launches: Any, monkeypatch: pytest.MonkeyPatch, in_c: bool
) -> None:
    if not in_c:
        monkeypatch.setattr(HOST_CALLS, "calls", None)
    three = np.arange(64, dtype=np.float32).reshape(4, 4, 4).transpose(1, 0, 2)
    fixed, number = three.copy(order="K"), np.array(3, np.float32)
    fixed.flags.writeable = number.flags.writeable = False
    for x in (three, three, fixed, fixed):
        np.testing.assert_array_equal(gpuprims.map("x + 1", x, device=device), three + 1)
        np.testing.assert_array_equal(gpuprims.map("x + y", x, number, device=device), three + 3)


class Turn:
    """A lock that notes its use, or is another thread's."""

    def __init__(self, *, ours: bool = True) -> None:
        self.ours, self.seen = ours, list[str]()

    def acquire(self, blocking: bool) -> bool:
        self.seen.append(f"acquire {blocking}")
        return self.ours

    def release(self) -> None:
        self.seen.append("release")


def launch_of(module: Any, turn: Turn, slow: Any, append: Any = None, *, idle: Any = True, short: Any = 100) -> Any:
    launches = type("Launches", (), {"idle": idle, "short": short})()
    return module.Launch(slow, append, None, launches, turn.acquire, turn.release, 0, 0, 0, 1, 1)


def test_a_wait_that_fails_is_an_error(module: Any, request: pytest.FixtureRequest) -> None:
    kinds = ctypes.CFUNCTYPE(ctypes.c_int), ctypes.CFUNCTYPE(ctypes.c_int), ctypes.CFUNCTYPE(ctypes.c_int)
    fake = [kind(lambda answer=answer: answer) for kind, answer in zip((*kinds, kinds[0]), (0, 0, -14, 0), strict=True)]
    request.addfinalizer(lambda: module.use_opencl(0, 0, 0, 0, Beside))
    module.use_opencl(*(ctypes.cast(one, ctypes.c_void_p).value for one in fake), Beside)
    turn = Turn()
    with pytest.raises(RuntimeError, match="OpenCL's error -14"):
        launch_of(module, turn, None)([X])
    assert turn.seen == ["acquire False", "release"]


@pytest.mark.parametrize("how", [{"idle": False}, {"short": 0}, {"ours": False}, {"given": ["no array"]}])
def test_python_launches_what_c_does_not(module: Any, how: dict[str, Any]) -> None:
    given, turn = how.pop("given", [X]), Turn(ours=how.pop("ours", True))
    assert launch_of(module, turn, lambda memories: ("slow", memories), **how)(given) == ("slow", given)
    assert turn.seen in ([], ["acquire False"], ["acquire False", "release"])


def test_wrong_memories_are_refused(module: Any) -> None:
    turn = Turn()
    launch = launch_of(module, turn, None, append=lambda slow, beside: (slow, beside))
    for wrong in ((3,), ()):
        with pytest.raises(TypeError, match="one sequence"):
            launch(*wrong)
    with pytest.raises(TypeError, match="arrays of the host beside"):
        launch.with_beside(lambda: (X, 3))([X])
    assert turn.seen == ["acquire False", "release"] * 2
