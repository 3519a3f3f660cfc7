"""The plain benchmarks of pytest-benchmark: what they cover, what they time, and its own commands."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from children import child_environment

import gpuprims
from bench.suite import models, ordered, primitives
from bench.suite.timed import Timed
from gpuprims.errors import NoVariantError
from gpuprims.models.logreg.penalties import SOLVERS
from gpuprims.primitives import ROOMS

SUITES = Path(__file__).parents[2] / "bench" / "suite"
GROUPS = (
    *(primitives.Elements, primitives.Neighbours, primitives.Samples, ordered.Ordered),
    *(models.Fits, models.Texts, models.Models),
)


class Benchmark:
    """pytest-benchmark's fixture, as far as :class:`Timed` uses it."""

    disabled = False

    def __init__(self) -> None:
        self.extra_info: dict[str, Any] = {}
        self.calls = 0

    def __call__(self, call: Callable[[], Any]) -> Any:
        self.calls += 1
        return call()


TESTS = [test for group in GROUPS for test in vars(group).values() if callable(test)]


def test_every_primitive_and_every_solver_has_a_benchmark() -> None:
    assert {test.primitive for test in TESTS if hasattr(test, "primitive")} == set(ROOMS)
    parameters = [mark.args for test in TESTS for mark in getattr(test, "pytestmark", ())]
    assert {solver for name, values in parameters if name == "solver" for solver in values} == set(SOLVERS)
    for backend in ("opencl", "cuda"):
        suite = vars(importlib.import_module(f"bench.suite.test_{backend}")).values()
        classes = [one for one in suite if isinstance(one, type) and hasattr(one, "backend")]
        assert {one.__bases__[0] for one in classes} == set(GROUPS)
        assert {one.backend for one in classes} == {backend}


def test_the_call_itself_is_timed_with_its_wait_and_the_device_by_events(device: gpuprims.Device) -> None:
    waits: list[str] = []
    benchmark, x, waiting = Benchmark(), np.ones(2**18, np.float32), _Waiting(device, waits)

    def call(x: Any) -> Any:
        waits.append("call")
        return gpuprims.reduce(x, device=device)

    timed = Timed(benchmark, cast("gpuprims.Device", waiting), full=False, by_name=False)
    total = timed(call, x, nbytes=x.nbytes)
    assert total == x.size
    assert benchmark.calls == 1
    assert waits[:4] == ["call", "wait", "call", "wait"]  # the first compiles
    info = benchmark.extra_info
    assert info["device"] == device.spec
    assert info["device_s"] > 0
    assert list(info["kernels"].values()) == [1]
    assert next(iter(info["kernels"])).startswith("reduce/")
    assert info["gb_per_s"] == pytest.approx(x.nbytes / info["device_s"] / 1e9)


class _Waiting:
    """A device that notes each wait."""

    def __init__(self, device: gpuprims.Device, waits: list[str]) -> None:
        self._device, self._waits = device, waits

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def synchronize(self) -> None:
        self._waits.append("wait")
        self._device.synchronize()


def test_a_kernel_that_refuses_a_call_is_skipped_with_its_reason() -> None:
    def refuse() -> None:
        raise NoVariantError("reduce: no kernel")

    timed = Timed(Benchmark(), gpuprims.Device("reference"), full=False, by_name=False)
    with pytest.raises(pytest.skip.Exception, match="reduce: no kernel"):
        timed(refuse)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", str(SUITES), "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=child_environment())


def test_the_commands_of_pytest_benchmark(device: gpuprims.Device, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    if not pytestconfig.getoption("whole"):
        pytest.skip("some 30 seconds on each device; runs with --whole")
    pytest.importorskip("pytest_benchmark", reason="pytest-benchmark is not installed")
    if device.backend == "reference":
        pytest.skip("the reference has no suite")
    one = ("--device", device.spec, "-k", "test_reduce and Elements", "--benchmark-max-time", "0.01")
    kept = ("--benchmark-only", "--benchmark-storage", f"file://{tmp_path}")
    first = run(*one, *kept, "--benchmark-save", "before", "--variant", "reduce/tree")
    assert first.returncode == 0, first.stdout
    (path,) = tmp_path.glob("*/*_before.json")
    found = {bench["name"].partition("[")[0]: bench for bench in json.loads(path.read_text())["benchmarks"]}
    assert set(found) == {"test_reduce", "test_reduce_columns"}
    assert found["test_reduce"]["extra_info"]["kernels"] == {"reduce/tree": 1}
    assert found["test_reduce"]["stats"]["rounds"] >= 5
    compared = ("--benchmark-compare", "0001", "--benchmark-compare-fail", "min:100000%")
    again = run(*one, *kept, *compared, "--variant", "tree")
    assert again.returncode == 0, again.stdout
    assert "(0001_before)" in again.stdout
    wrong = run(*one, "--benchmark-disable", "--variant", "reduce/trees")
    assert "--variant with a kernel of the device, such as reduce/tree; got reduce/trees" in wrong.stderr
