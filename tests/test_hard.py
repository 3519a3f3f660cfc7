"""Run a few seconds of each part of ``python -m tests.hard``, and check that each part finds faults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hard import __main__ as hard
from hard import faults, fuzz, large, soak
from hard.report import Report
from kernel_cases import ASKED

import gpuprims
from gpuprims.errors import ArgumentError, DeviceMemoryError


@pytest.fixture(scope="session")
def devices() -> list[gpuprims.Device]:
    """Every device of this machine, or those that a run is restricted to."""
    return [gpuprims.Device(spec) for spec in ASKED] or gpuprims.devices()


def assert_clean(report: Report, **counted: int) -> None:
    assert report.failures == [], str(report)
    for what, least in counted.items():
        assert report.counts[what.replace("_", " ")] >= least, str(report)


def test_soak(devices: list[gpuprims.Device]) -> None:
    assert_clean(soak.soak(devices[:1], seconds=2, threads=3), calls=50)


def test_fuzz_of_expressions(devices: list[gpuprims.Device]) -> None:
    assert_clean(fuzz.fuzz_expressions(devices, 400), computed=100, refused=50, of_noise=400)


def test_fuzz_of_model_files() -> None:
    assert_clean(fuzz.fuzz_models(60), files=60, refused=50)


def test_allocations_that_fail(devices: list[gpuprims.Device]) -> None:
    assert_clean(faults.fail_allocations(devices, 22), calls_that_failed=5)


def test_kernels_that_do_not_compile(devices: list[gpuprims.Device]) -> None:
    assert_clean(faults.fail_builds(devices, len(devices)), BuildErrors=1)


def test_processes_on_one_cold_cache(devices: list[gpuprims.Device]) -> None:
    assert_clean(faults.share_a_cold_cache(devices[0], processes=2), processes=3)


def test_a_kill_in_the_middle_of_a_build(devices: list[gpuprims.Device]) -> None:
    assert_clean(faults.kill_builds(devices[0], 1), kills=1, processes=1)


def test_the_calls_on_large_arrays(devices: list[gpuprims.Device], pytestconfig: pytest.Config) -> None:
    several = devices if pytestconfig.getoption("whole") else devices[:1]
    assert_clean(large.large(several, sizes=(400_003,)), calls=len(large.CALLS))


# Faults are found ----------------------------------------------------------------------------------------------------


def test_a_wrong_result_is_a_failure(devices: list[gpuprims.Device], monkeypatch: pytest.MonkeyPatch) -> None:
    _wrong(monkeypatch, "map", lambda *given, **how: np.zeros(3, np.float16))
    _wrong(monkeypatch, "reduce", lambda *given, **how: np.int64(0))
    assert soak.soak(devices[:1], seconds=0.1, threads=1).failures
    assert fuzz.fuzz_expressions(devices, 20).failures
    assert large.large(devices[:1], sizes=(1000,)).failures


@pytest.mark.parametrize("name", ["sort", "argsort", "top_k", "unique", "median", "searchsorted", "merge", "take"])
def test_a_wrong_last_element_is_a_failure(
    devices: list[gpuprims.Device], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = getattr(gpuprims, name)

    def wrong(*given: Any, **how: Any) -> Any:
        *before, last = found if isinstance(found := right(*given, **how), tuple) else (found,)
        changed = np.array(last)
        changed.reshape(-1)[-1] += 1
        return (*before, changed) if before else changed

    _wrong(monkeypatch, name, wrong)
    monkeypatch.setattr(large, "CALLS", {name: large.CALLS[name]})
    failures = large.large(devices[:1], sizes=(400_003,)).failures
    assert any(failure.startswith(f"{name} of") for failure in failures), failures


def test_another_error_than_the_librarys_is_a_failure(
    devices: list[gpuprims.Device], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*given: Any, **how: Any) -> Any:
        raise KeyError("a lock")

    _wrong(monkeypatch, "map", broken)
    monkeypatch.setattr(fuzz.LogReg, "load", broken)
    assert len(fuzz.fuzz_expressions(devices, 10).failures) >= 10
    assert len(fuzz.fuzz_models(10).failures) == 10


def test_an_error_that_does_not_name_the_file_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def unnamed(*given: Any, **how: Any) -> Any:
        raise ArgumentError("a file")

    monkeypatch.setattr(fuzz.LogReg, "load", unnamed)
    assert len(fuzz.fuzz_models(5).failures) == 5


def test_allocation_does_fail(devices: list[gpuprims.Device]) -> None:
    device = devices[0]
    with faults.allocation_fails(device, 1):
        device.driver.empty((9,), np.dtype(np.uint8))
        with pytest.raises(DeviceMemoryError):
            device.driver.empty((9,), np.dtype(np.uint8))
    assert device.driver.empty((9,), np.dtype(np.uint8)) is not None


@pytest.mark.parametrize(("failures", "code"), [([], 0), (["a wrong answer"], 1)])
def test_the_exit_code_and_the_counts(
    failures: list[str], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report = Report("soak", failures=failures)
    report.count("calls", 12_345)
    monkeypatch.setattr(hard, "runs", lambda *given: [lambda: report])
    assert hard.main(["--parts", "soak", "--devices", "reference"]) == code
    printed = capsys.readouterr().out
    assert "soak: 12,345 calls: " in printed
    assert all(failure in printed for failure in failures)


def _wrong(monkeypatch: pytest.MonkeyPatch, name: str, instead: Callable[..., Any]) -> None:
    monkeypatch.setattr(gpuprims, name, instead)
