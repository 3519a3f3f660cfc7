"""The kernels of one call are compiled at the same time, and a kernel once."""

from __future__ import annotations

import dataclasses
import threading
from typing import Any

import numpy as np
import pytest
from idle_arrays import resident
from kernel_calls import CompilingDriver

import gpuprims
from gpuprims.cli.text_driver import usual_device
from gpuprims.core import together as module
from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.core.lifetime import EndingDriver
from gpuprims.core.program_cache import Kernels
from gpuprims.core.together import together
from gpuprims.core.variant import Variant
from gpuprims.errors import BuildError

GPU = dataclasses.replace(usual_device("gpu", 32), asked_local_memory=227 * 1024)
PATIENCE = 60  # seconds until a test fails in place of waiting for ever


class Compiling(CompilingDriver):
    """A device whose compiler serves several threads at once; ``meeting`` waits for some of them."""

    def __init__(self, threads: int = 1) -> None:
        super().__init__("cuda", GPU)
        self.meeting = threading.Barrier(threads)

    def alongside(self, function: Any) -> Any:
        return function

    def build(self, variant: Variant, spec: KernelSpec) -> Any:
        self.meeting.wait(PATIENCE)
        return super().build(variant, spec)


def of(driver: Any) -> gpuprims.Device:
    return gpuprims.Device._of(driver)


def test_functions_run_at_the_same_time_and_return_in_order() -> None:
    meeting = threading.Barrier(3)

    def run(k: int) -> tuple[int, int]:
        meeting.wait(PATIENCE)
        return k, threading.get_ident()

    found = together(of(Compiling()), *[lambda k=k: run(k) for k in range(3)])
    assert [k for k, _ in found] == [0, 1, 2]
    assert found[0][1] == threading.get_ident()
    assert len({thread for _, thread in found}) == 3


def test_without_such_a_compiler_the_caller_runs_all() -> None:
    threads = together(of(CompilingDriver("cuda", GPU)), threading.get_ident, threading.get_ident)
    assert threads == [threading.get_ident()] * 2


def test_while_the_interpreter_ends_the_caller_runs_all(monkeypatch: pytest.MonkeyPatch) -> None:
    device = of(Compiling())
    monkeypatch.setattr(device, "driver", EndingDriver(device.driver))
    assert together(device, threading.get_ident, threading.get_ident) == [threading.get_ident()] * 2


def test_where_no_thread_starts_the_caller_runs_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(self: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(module.Thread, "start", start)
    assert together(of(Compiling()), lambda: 1, lambda: 2) == [1, 2]


def test_the_first_functions_error_is_raised_once_all_have_ended() -> None:
    ended = []

    def fail(k: int) -> None:
        ended.append(k)
        raise BuildError(str(k))

    with pytest.raises(BuildError, match="1"):
        together(of(Compiling()), lambda: 0, lambda: fail(1), lambda: fail(2))
    assert sorted(ended) == [1, 2]


def test_the_choice_of_a_device_holds_in_other_threads() -> None:
    with gpuprims.use_device("reference"):
        assert together(of(Compiling()), gpuprims.Device, gpuprims.Device) == [gpuprims.Device("reference")] * 2


@pytest.mark.parametrize(
    ("threads", "call"),
    [
        (2, lambda device: gpuprims.histogram(resident(1 << 22), 300_000, (0, 1), device=device)),
        (
            2,
            lambda device: gpuprims.histogram(
                resident(1 << 20), 40_000, (0, 1), weights=resident(1 << 20), device=device
            ),
        ),
        (2, lambda device: gpuprims.blur(resident(96, 64), "gaussian", sigma=(20, 20), iterations=3, device=device)),
        (2, lambda device: gpuprims.blur(resident(64, 96).T, device=device)),
        (2, lambda device: gpuprims.reduce(resident(1000), by=resident(1000, dtype="i8"), device=device)),
    ],
    ids=[
        "sorted by ranges of bins",
        "float weights of as many bins",
        "rows and columns",
        "a copy",
        "a sort and its runs",
    ],
)
def test_kernels_of_a_call_are_compiled_at_the_same_time(threads: int, call: Any) -> None:
    driver = Compiling(threads)
    call(of(driver))
    texts = [text for _, text in driver.texts]
    assert len(texts) == threads == len(set(texts))


def test_numbers_are_counted_by_a_kernel_that_is_compiled_while_the_largest_is_sought() -> None:
    driver = Compiling(3)
    gpuprims.bincount(of(driver).asarray(np.zeros(1 << 20, np.int32)), minlength=200_000, device=of(driver))
    assert len(driver.asked) == 3


def test_threads_that_ask_for_a_kernel_wait_for_the_one_that_builds_it() -> None:
    kernels, begun, may_end, built = Kernels(), threading.Event(), threading.Event(), []

    def build() -> object:
        begun.set()
        assert may_end.wait(PATIENCE)
        built.append(object())
        return built[-1]

    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(kernels.find("key", build))) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert begun.wait(PATIENCE)
    assert kernels.find("another", lambda: 7) == 7
    may_end.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(built) == 1
    assert found == built * 3


def test_where_a_build_fails_those_who_wait_build_themselves() -> None:
    kernels, begun, may_fail = Kernels(), threading.Event(), threading.Event()

    def fail() -> None:
        begun.set()
        assert may_fail.wait(PATIENCE)
        raise BuildError("no kernel")

    def failing() -> None:
        with pytest.raises(BuildError):
            kernels.find("key", fail)

    first, found = threading.Thread(target=failing), []
    first.start()
    assert begun.wait(PATIENCE)
    second = threading.Thread(target=lambda: found.append(kernels.find("key", lambda: 7)))
    second.start()
    may_fail.set()
    first.join(PATIENCE)
    second.join(PATIENCE)
    assert found == [7]


def test_a_forked_child_does_not_wait_for_a_thread_of_its_parent() -> None:
    kernels, begun, may_end = Kernels(), threading.Event(), threading.Event()

    def build() -> int:
        begun.set()
        assert may_end.wait(PATIENCE)
        return 1

    thread = threading.Thread(target=lambda: kernels.find("key", build))
    thread.start()
    assert begun.wait(PATIENCE)
    kernels.after_fork()
    assert kernels.find("key", lambda: 2) == 2
    may_end.set()
    thread.join(PATIENCE)
