"""What a profile sees, on each device of this machine."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from children import child_environment

import gpuprims
from gpuprims.core import compile_cache
from gpuprims.core.lifetime import StandIn
from gpuprims.core.program_cache import forget_calls
from gpuprims.core.watched import WATCHERS, WatchedDriver
from gpuprims.errors import ArgumentError
from gpuprims.profiling import limit, profile

N = 100_000


@pytest.fixture(autouse=True)
def no_measurement(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Take 1 GB/s for a copy's rate, in less time than to measure it; no test may leave a profile open."""
    monkeypatch.setattr(profile, "copy_rate", lambda device: 1e9)
    yield
    assert WATCHERS == []


@pytest.fixture
def x(rng: np.random.Generator) -> np.ndarray:
    return rng.random(N, dtype=np.float32)


def test_a_launch_has_call_kernel_device_time_and_bytes(device: gpuprims.Device, x: np.ndarray) -> None:
    began = time.perf_counter()
    with gpuprims.profile() as seen:
        result = gpuprims.map("2*x + 1", x, device=device)
    passed = time.perf_counter() - began
    np.testing.assert_array_equal(result, 2 * x + 1)
    (launch,) = seen.launches
    assert (launch.call, launch.device) == (f"map(float32[{N}])", device.spec)
    assert launch.kernel.startswith("map/")
    assert launch.nbytes == 2 * x.nbytes
    assert 0 < launch.seconds <= passed
    assert launch.rate == launch.nbytes / launch.seconds
    assert launch.fraction == launch.rate / 1e9
    assert launch.thread == threading.current_thread().name
    assert launch.in_cache == (launch.nbytes <= WatchedDriver(device.driver).clock.cache)


def test_device_times_add_up_to_no_more_than_the_calls_take(device: gpuprims.Device, x: np.ndarray) -> None:
    array = device.asarray(x)
    with gpuprims.profile() as seen:
        began = time.perf_counter()
        for _ in range(20):
            gpuprims.scan(array)
        device.synchronize()
        passed = time.perf_counter() - began
    assert 0 < sum(launch.seconds for launch in seen.launches) <= passed
    starts = [launch.start for launch in seen.launches]
    assert starts == sorted(starts)


def test_warm_calls_and_plans_are_seen_in_a_profile_alone(device: gpuprims.Device, x: np.ndarray) -> None:
    array = device.asarray(x)
    plan, there = gpuprims.plan("reduce", x, device=device), gpuprims.plan("reduce", array, device=device)

    def call() -> None:
        gpuprims.reduce(x, device=device)
        gpuprims.reduce(array, device=device)
        plan(x)
        plan.item(x)
        there(array)
        there.item(array)

    for _ in range(3):
        call()
    driver = device.driver
    with gpuprims.profile() as first:
        assert isinstance(device.driver, WatchedDriver)
        call()
        call()
    assert device.driver is driver
    call()
    with gpuprims.profile() as second:
        call()
    assert [launch.kernel.partition("/")[0] for launch in first.launches] == ["reduce"] * 12
    assert [launch.call for launch in second.launches] == [launch.call for launch in first.launches[:6]]
    assert second.launches[3].call == f"Plan.item of reduce(float32[{N}])"


def test_results_are_the_same_bit_for_bit(device: gpuprims.Device, x: np.ndarray) -> None:
    calls: list[Any] = [
        lambda: gpuprims.reduce(x, op="std", device=device),
        lambda: gpuprims.scan(x, device=device),
        lambda: gpuprims.compact(x, "x > 0.5", device=device),
        lambda: gpuprims.histogram(x, 16, (0, 1), device=device)[0],
        lambda: gpuprims.stencil(x, [0.25, 0.5, 0.25], device=device),
        lambda: gpuprims.reduce(x, segments=[0, 10, 10, N], device=device),
    ]
    for call in calls:
        before = call()
        with gpuprims.profile() as seen:
            np.testing.assert_array_equal(call(), before)
        np.testing.assert_array_equal(call(), before)
        assert seen.launches


def test_launches_of_one_call_share_its_number(device: gpuprims.Device, x: np.ndarray) -> None:
    with gpuprims.profile() as seen:
        for _ in range(2):
            gpuprims.histogram(x, 16, device=device)
    first, second = dict.fromkeys(launch.number for launch in seen.launches)
    launched = {number: [one.kernel for one in seen.launches if one.number == number] for number in (first, second)}
    assert launched[first] == launched[second]
    assert {launch.call for launch in seen.launches} == {f"histogram(float32[{N}])"}


def test_copies_have_a_direction_bytes_and_time(device: gpuprims.Device, x: np.ndarray) -> None:
    with gpuprims.profile() as seen:
        device.to_host(device.asarray(x))
    if device.backend == "reference":  # its arrays are the host's
        assert seen.copies == ()
        return
    up, down = seen.copies
    assert (up.direction, up.nbytes, up.call) == ("to device", x.nbytes, f"Device.asarray(float32[{N}])")
    assert (down.direction, down.nbytes, down.call) == ("to host", x.nbytes, f"Device.to_host(float32[{N}])")
    assert min(up.seconds, down.seconds) > 0
    assert not up.overlapping


def test_a_kernel_comes_from_the_compiler_and_then_from_the_disk(
    device: gpuprims.Device, x: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compile_cache, "private_folder", lambda name: tmp_path)
    sources = []
    for _ in range(2):
        device._kernels.clear()
        forget_calls()
        with gpuprims.profile() as seen:
            for _ in range(2):
                gpuprims.map("x * x - 3", x, device=device)
        sources.append([(made.source, made.kernel) for made in seen.compiles])
    kernel = seen.launches[0].kernel
    made = [] if device.backend == "reference" else [[("compiler", kernel)], [("disk", kernel)]]
    assert sources == (made or [[], []])


def test_all_threads_are_seen(device: gpuprims.Device, x: np.ndarray) -> None:
    with gpuprims.profile() as seen, ThreadPoolExecutor(3, "worker") as pool:
        results = list(pool.map(lambda k: float(gpuprims.reduce(x, map=f"x * {k}", op="max", device=device)), range(6)))
    assert results == [float(np.float32(k) * x.max()) for k in range(6)]
    assert len({launch.number for launch in seen.launches}) == 6
    assert {launch.thread.partition("_")[0] for launch in seen.launches} == {"worker"}


def test_profiles_nest_and_overlap(device: gpuprims.Device, x: np.ndarray) -> None:
    outer, inner, later = gpuprims.profile(), gpuprims.profile(), gpuprims.profile()
    outer.__enter__()
    gpuprims.reduce(x, device=device)
    with inner:
        gpuprims.scan(x, device=device)
    later.__enter__()
    gpuprims.map("-x", x, device=device)
    outer.__exit__(None, None, None)
    gpuprims.compact(x, "x > 2", device=device)
    later.__exit__(None, None, None)
    names = [
        list(dict.fromkeys(launch.call.partition("(")[0] for launch in one.launches)) for one in (outer, inner, later)
    ]
    assert names == [["reduce", "scan", "map"], ["scan"], ["map", "compact"]]


def test_an_error_ends_the_profile_and_is_raised(device: gpuprims.Device, x: np.ndarray) -> None:
    def fail(seen: gpuprims.Profile) -> None:
        with seen:
            gpuprims.reduce(x, device=device)
            raise ZeroDivisionError

    seen = gpuprims.profile()
    with pytest.raises(ZeroDivisionError):
        fail(seen)
    assert len({launch.number for launch in seen.launches}) == 1
    assert not isinstance(device.driver, StandIn)


def test_a_profile_is_read_after_its_one_block() -> None:
    seen = gpuprims.profile()
    with pytest.raises(ArgumentError, match="profile: a block that has ended; got one that has not"):
        print(seen)
    with seen, pytest.raises(ArgumentError, match="a block that has ended"):
        _ = seen.launches
    assert repr(seen) == "<gpuprims.Profile of 0 launches>"
    assert str(seen) == "nothing was launched, copied or compiled"
    with pytest.raises(ArgumentError, match="profile: one block; got a second one"):
        seen.__enter__()


def test_launches_that_a_graph_captures_are_not_timed(
    device: gpuprims.Device, x: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    with gpuprims.profile() as seen:
        monkeypatch.setattr(device.driver.real, "is_capturing", lambda: True, raising=False)  # type: ignore[attr-defined]
        assert gpuprims.reduce(x, op="max", device=device) == x.max()
        monkeypatch.undo()
    assert seen.launches == ()


def test_the_limit_is_a_copy_that_no_profile_sees(device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limit, "_LENGTHS", {})
    monkeypatch.setattr(limit, "_USUAL", 1 << 20)
    with gpuprims.profile() as seen:
        measured = limit.copy_rate.__wrapped__(device)
    assert measured is not None
    assert measured > 0
    assert (seen.launches, seen.compiles) == ((), ())


def test_many_launches_are_waited_for_in_turn(device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuprims.profiling.recorder._MOST_RUNNING", 4)
    array = device.asarray(np.ones(100, np.float32))
    with gpuprims.profile() as seen:
        for _ in range(20):
            gpuprims.reduce(array, device=device)
            assert len(seen._recorder._running) <= 4  # type: ignore[union-attr]  # it is open
    assert len(seen.launches) == 20
    assert min(launch.seconds for launch in seen.launches) > 0


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="no forks")
def test_a_fork_in_a_profile_leaves_the_parents_devices_to_the_parent(device: gpuprims.Device) -> None:
    program = f"""
import os
import numpy as np, gpuprims
from gpuprims.errors import DeviceError
from gpuprims.profiling import limit
limit._USUAL = 1 << 18
x = np.ones(1000, np.float32)
with gpuprims.profile() as seen:
    gpuprims.reduce(x, device="{device.spec}")
    if child := os.fork():
        assert os.waitpid(child, 0)[1] == 0
    else:
        refused = False
        try:
            gpuprims.reduce(x, device="{device.spec}")
        except DeviceError:
            refused = True
        os._exit(refused != ({device.backend!r} != "reference"))
    gpuprims.reduce(x, device="{device.spec}")
print(len(set(launch.number for launch in seen.launches)))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=child_environment(), check=False
    )
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr
