"""First use by many threads, forked children, and the end of the interpreter."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest
from children import child_environment
from cold_starts import KINDS, start

import gpuprims
from gpuprims.backends.reference.device import ReferenceDriver
from gpuprims.core import lifetime
from gpuprims.core.lifetime import Discovery, EndingDriver, ForkedDriver
from gpuprims.errors import DeviceError

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")


def finished(program: str, spec: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own."""
    command = [sys.executable, "-c", program.replace("SPEC", spec)]
    return subprocess.run(command, capture_output=True, text=True, env=child_environment(), check=False)


def own(device: gpuprims.Device) -> str:
    """The spec of a device that has a driver's threads; the reference has none."""
    if device.backend == "reference":
        pytest.skip("the reference has no driver that a fork or an exit could harm")
    return device.spec


# First use


@pytest.mark.parametrize("kind", KINDS)
def test_threads_that_come_first_together_find_one_device(device: gpuprims.Device, kind: str) -> None:
    """Once; ``python tests/cold_starts.py`` makes a hundred starts."""
    assert start(kind, own(device)) == ""


def test_drivers_are_looked_for_once_whichever_threads_ask() -> None:
    looks: list[int] = []
    meet = threading.Barrier(8)

    def find() -> list[ReferenceDriver]:
        looks.append(1)
        return [ReferenceDriver()]

    drivers, found = Discovery("acme", find), []

    def ask() -> None:
        meet.wait()
        found.append(drivers()[0])

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert looks == [1]
    assert len({id(driver) for driver in found}) == 1


def test_drivers_that_are_not_found_are_looked_for_again() -> None:
    answers: list[Any] = [OSError("not yet"), [ReferenceDriver()]]

    def find() -> list[ReferenceDriver]:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        found: list[ReferenceDriver] = answer
        return found

    drivers = Discovery("acme", find)
    with pytest.raises(OSError, match="not yet"):
        drivers()
    assert len(drivers()) == 1


def test_a_child_forked_while_another_thread_looks_refuses() -> None:
    def find() -> list[ReferenceDriver]:
        drivers._after_fork()  # as in a child that is forked now
        return []

    drivers = Discovery("acme", find)
    drivers()
    drivers._found = None
    with pytest.raises(DeviceError, match=r"acme: a device that this process opened; got one.*get_context\('spawn'\)"):
        drivers()


# Forks

FORK = """
import os, sys, time
import numpy as np
import gpuprims

x = np.arange(1000, dtype=np.float32)
device = gpuprims.Device("SPEC")
array = device.asarray(x)
plan = gpuprims.plan("reduce", array)
plan.item(array), gpuprims.reduce(x, device=device)
calls = {
    "a host array": lambda: gpuprims.reduce(x, device=device),
    "its spec": lambda: gpuprims.reduce(x, device="SPEC"),
    "a new kernel": lambda: gpuprims.map("x + 0.5", x, device=device),
    "a device array": lambda: gpuprims.reduce(array),
    "a plan": lambda: plan.item(array),
    "its memory": lambda: device.asarray(x),
    "its queue": lambda: device.synchronize(),
    "a model": lambda: __import__("gpuprims.models").models.LogReg(device).fit(x[:, None], x > 500),
}
child = os.fork()
if child == 0:
    said = []
    for name, call in calls.items():
        try:
            call()
            said.append(f"{name}: nothing")
        except gpuprims.errors.DeviceError as error:
            good = "the parent opened before the fork" in str(error) and "get_context('spawn')" in str(error)
            said.append(f"{name}: {'refused' if good else error}")
    said.append(f"the reference: {gpuprims.reduce(x, device='reference')}")
    said.append(f"its name: {device.capabilities.name == gpuprims.Device('SPEC').capabilities.name}")
    grandchild = os.fork()
    if grandchild == 0:
        try:
            device.synchronize()
        except gpuprims.errors.DeviceError:
            os._exit(5)
    said.append(f"a grandchild: {os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1])}")
    os.write(1, "\\n".join(said).encode())
    os._exit(0)
end = time.monotonic() + 60
while os.waitpid(child, os.WNOHANG) == (0, 0):
    if time.monotonic() > end:
        os.kill(child, 9)
        sys.exit("the child hangs")
    time.sleep(0.01)
assert gpuprims.reduce(x, device=device) == 499500  # the parent goes on
"""


@forks
def test_a_forked_child_refuses_what_its_parent_opened(device: gpuprims.Device) -> None:
    done = finished(FORK, own(device))
    assert done.returncode == 0, done.stderr
    said = dict(line.split(": ") for line in done.stdout.splitlines())
    assert said.pop("the reference") == "499500.0"
    assert said.pop("its name") == "True"
    assert said.pop("a grandchild") == "5"
    assert set(said.values()) == {"refused"}
    assert len(said) == 8


@forks
def test_a_fork_before_the_first_use_does_no_harm(device: gpuprims.Device) -> None:
    program = """
import os
import gpuprims
child = os.fork()
assert gpuprims.reduce([1, 2, 3], device="SPEC") == 6
if child:
    assert os.waitpid(child, 0)[1] == 0
else:
    os._exit(0)
"""
    done = finished(program, own(device))
    assert done.returncode == 0, done.stderr


def total(spec: str) -> float:
    """What a worker computes."""
    return float(gpuprims.reduce(np.arange(1000, dtype=np.float32), device=spec))


def test_spawned_workers_have_devices_of_their_own(device: gpuprims.Device) -> None:
    assert total(device.spec) == 499500
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(total, [device.spec] * 2) == [499500.0] * 2


def test_a_driver_of_the_parent_tells_its_name_alone() -> None:
    driver = ForkedDriver(gpuprims.Device("reference").driver)
    assert (driver.backend, driver.index) == ("reference", 0)
    assert driver.capabilities.kind == "reference"
    for verb in ("empty", "asarray", "build", "synchronize", "order"):
        with pytest.raises(DeviceError, match="reference:0: a device that this process opened"):
            getattr(driver, verb)


# The end of the interpreter

DAEMONS = """
import threading, time
import numpy as np
import gpuprims

x = np.arange(SIZE, dtype=np.float32)
gpuprims.reduce(x, device="SPEC")

def work():
    while True:
        gpuprims.reduce(x, device="SPEC")
        gpuprims.map("x + 1", x, device="SPEC")

for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
"""


@pytest.mark.parametrize("size", [1000, 1_000_000])
def test_daemon_threads_within_calls_do_not_abort_the_exit(
    device: gpuprims.Device, size: int, pytestconfig: pytest.Config
) -> None:
    for _ in range(3 if pytestconfig.getoption("whole") else 1):
        done = finished(DAEMONS.replace("SIZE", str(size)), own(device))
        assert (done.returncode, done.stderr) == (0, "")


AT_EXIT = """
import atexit
def last():
    print("at exit:", gpuprims.reduce([1, 2, 3], device="SPEC"), gpuprims.map("x * 3", [1.0], device="SPEC"))
atexit.register(last)  # before gpuprims, so that it runs after what gpuprims does at exit
import gpuprims
gpuprims.reduce([1, 2], device="SPEC")
"""


def test_functions_that_run_at_exit_may_still_compute(device: gpuprims.Device) -> None:
    done = finished(AT_EXIT, device.spec)
    assert (done.returncode, done.stdout) == (0, "at exit: 6 [3.]\n"), done.stderr


LAST = """
import builtins
import numpy as np
import gpuprims
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce

class Late:
    def __init__(self):
        self.keep = reduce, map_elements, np.arange(5), print, type, Exception

    def __del__(self):
        reduce, map_elements, x, say, kind, anything = self.keep
        for call in (lambda: reduce(x, device="SPEC"), lambda: map_elements("x + 1", x, device="SPEC")):
            try:
                say("computed", call())
            except anything as error:
                say("raised", kind(error).__name__)

if USED:
    reduce(np.arange(5), device="SPEC")
builtins.late = Late()  # builtins are among the last to go
late, cycle = Late(), Late()
cycle.itself = cycle
"""


@pytest.mark.parametrize("used", [False, True], ids=["first use", "used before"])
def test_a_call_while_the_interpreter_ends_is_an_ordinary_exception(device: gpuprims.Device, used: bool) -> None:
    done = finished(LAST.replace("USED", str(used)), own(device))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 6
    assert all(line.startswith(("raised ", "computed ")) for line in lines)
    assert "DeviceError" in done.stdout


def test_at_exit_other_threads_end_and_the_main_one_goes_on() -> None:
    driver = EndingDriver(gpuprims.Device("reference").driver)
    assert driver.order == 0
    ended: list[BaseException] = []

    def call() -> None:
        try:
            driver.synchronize()
        except SystemExit as end:
            ended.append(end)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert len(ended) == 1


def test_the_end_waits_for_calls_of_other_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifetime, "_PATIENCE", 20.0)
    inside, leave, waited = threading.Event(), threading.Event(), threading.Event()

    def operator(x: Any) -> Any:
        inside.set()
        leave.wait()
        return x

    caller = threading.Thread(target=lambda: gpuprims.map(operator, [1.0], device="reference"))
    caller.start()
    inside.wait()
    waiter = threading.Thread(target=lambda: (lifetime.wait_for_calls(), waited.set()))
    monkeypatch.setattr(
        lifetime, "_is_within", lambda frame, within=lifetime._is_within: within(frame) and caller.is_alive()
    )
    waiter.start()
    assert not waited.wait(0.1)
    leave.set()
    waiter.join()
    caller.join()
    assert waited.is_set()
