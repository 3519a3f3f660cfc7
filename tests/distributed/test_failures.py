"""A shard that fails ends the call with an error that names its device; the devices stay usable, and nothing hangs."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from device_groups import group_of

import gpuprims
from gpuprims.errors import ArgumentError, AxisError, DeviceMemoryError, ShardError


def failing(group: gpuprims.DeviceGroup, shard: int, error: BaseException):
    def work(k: int) -> int:
        if k == shard:
            raise error
        return k

    return group.each("a call", work)


@pytest.mark.parametrize("shard", [0, 1, 2])
def test_an_error_names_its_device(shard) -> None:
    group = gpuprims.DeviceGroup(["reference"] * 3)
    with pytest.raises(ShardError, match=f"a call: every shard computed.*shard {shard} of 3, .*reference:0") as caught:
        failing(group, shard, RuntimeError("out of order"))
    assert "RuntimeError: out of order" in str(caught.value)
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert (caught.value.shard, "reference:0" in caught.value.device) == (shard, True)
    assert group.each("again", lambda k: k) == [0, 1, 2]


def test_a_device_without_memory_ends_the_call_and_stays_usable(monkeypatch, rng) -> None:
    group = group_of("all")
    x = rng.random(3_000).astype(np.float32)
    sharded, last = group.scatter(x), group.devices[1]
    real = type(last).to_host

    def out_of_memory(self, array):
        if self is last:
            raise DeviceMemoryError(last.capabilities.name, 1 << 40, 1)
        return real(self, array)

    monkeypatch.setattr(type(last), "to_host", out_of_memory)
    if hasattr(last.driver, "begin_few"):
        monkeypatch.setattr(last.driver, "begin_few", lambda array: out_of_memory(last, array))
    with pytest.raises(ShardError, match=r"DeviceGroup\.reduce.*DeviceMemoryError: memory of") as caught:
        group.reduce(sharded)
    assert last.spec in str(caught.value)
    monkeypatch.undo()
    np.testing.assert_allclose(group.reduce(sharded), x.sum(), rtol=1e-5)
    np.testing.assert_allclose(gpuprims.reduce(x, device=last), x.sum(), rtol=1e-5)


def test_the_other_shards_end_before_the_call_does() -> None:
    group, ended = gpuprims.DeviceGroup(["reference"] * 3), []

    def work(k: int) -> None:
        if k == 1:
            raise RuntimeError
        time.sleep(0.05)
        ended.append(k)

    with pytest.raises(ShardError):
        group.each("a call", work)
    assert sorted(ended) == [0, 2]


def test_several_failures_name_the_first() -> None:
    group = gpuprims.DeviceGroup(["reference"] * 3)

    def work(k: int) -> None:
        raise RuntimeError(f"number {k}")

    with pytest.raises(ShardError, match=r"shard 0 of 3.*number 0"):
        group.each("a call", work)


def test_mistakes_keep_their_class_and_say_where(rng) -> None:
    group = gpuprims.DeviceGroup(["reference"] * 2)
    x = group.scatter(rng.random((4, 4)))
    with pytest.raises(AxisError):
        group.reduce(x, axis=7)
    with pytest.raises(ArgumentError) as caught:
        group.bincount(group.scatter(np.array([1, 2, 3, -4])))
    assert any("shard 1 of 2" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("shard", [0, 1])
def test_an_interrupt_is_raised_as_it_is(shard) -> None:
    group = gpuprims.DeviceGroup(["reference"] * 2)
    with pytest.raises(KeyboardInterrupt):
        failing(group, shard, KeyboardInterrupt())
    assert group.each("again", lambda k: k) == [0, 1]


def test_threads_share_a_group(rng) -> None:
    group, x = gpuprims.DeviceGroup(["reference"] * 3), rng.random(1_000)
    sharded, found = group.scatter(x), []
    threads = [threading.Thread(target=lambda: found.append(group.reduce(sharded))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert found == [found[0]] * 8


def test_each_device_has_a_thread_which_ends_with_the_group() -> None:
    group = gpuprims.DeviceGroup(["reference"] * 3)
    threads = group.each("a call", lambda k: threading.current_thread())
    assert threads[0] is threading.current_thread()
    assert len(set(threads)) == 3
    assert threads == group.each("a call", lambda k: threading.current_thread())
    del group
    for thread in threads[1:]:
        thread.join(30)
        assert not thread.is_alive()


def test_the_threads_see_the_callers_context() -> None:
    group = gpuprims.DeviceGroup(["reference"] * 2)
    with gpuprims.use_device("reference"):
        assert group.each("a call", lambda k: gpuprims.Device().spec) == ["reference:0"] * 2


FORK = """
import os, time, numpy as np, gpuprims
group = gpuprims.DeviceGroup(["reference"] * 2)
x = group.scatter(np.arange(10))
assert group.reduce(x) == 45
child = os.fork()
if not child:
    os._exit(0 if group.reduce(x) == 45 else 1)
assert os.waitpid(child, 0) == (child, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_begins_threads_of_its_own() -> None:
    """In a process of its own, because this one may have drivers of GPUs, which survive no fork."""
    ended = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr


def launching() -> gpuprims.DeviceGroup:
    """Return a group whose calls return before their end, as those of GPUs."""
    group = gpuprims.DeviceGroup(["reference"] * 3)
    group._wait = False
    return group


def test_all_devices_begin_before_the_first_is_waited_for() -> None:
    group, seen = launching(), []
    found = group.launch(
        "a call", lambda k: seen.append(("begin", k)) or k, lambda k, one: seen.append(("end", k)) or -one
    )
    assert found == [0, -1, -2]
    assert seen == [(what, k) for what in ("begin", "end") for k in range(3)]


@pytest.mark.parametrize("stage", ["begin", "end"])
def test_a_device_that_fails_in_either_stage_leaves_the_others_usable(stage) -> None:
    group, ended = launching(), []

    def begin(k: int) -> int:
        if (stage, k) == ("begin", 1):
            raise RuntimeError("no launch")
        return k

    def end(k: int, begun: int) -> None:
        if (stage, k) == ("end", 1):
            raise RuntimeError("no launch")
        ended.append(k)

    with pytest.raises(ShardError, match=r"shard 1 of 3.*no launch"):
        group.launch("a call", begin, end)
    assert ended == [0, 2]


def test_results_are_the_same_whether_threads_or_the_caller_start_them(rng) -> None:
    x = rng.standard_normal((90, 7))
    one, other = gpuprims.DeviceGroup(["reference"] * 3), launching()
    for call in (
        lambda group, x: group.reduce(x, op="var"),
        lambda group, x: group.scan(x, axis=0, inclusive=False).gather(),
        lambda group, x: group.histogram(x, 5)[0],
        lambda group, x: group.stencil(x, np.ones((7, 3)), mode="wrap").gather(),
        lambda group, x: group.compact(x, "x > 0").gather(),
        lambda group, x: group.map("2*x", x).gather(),
    ):
        np.testing.assert_array_equal(call(one, one.scatter(x)), call(other, other.scatter(x)))
