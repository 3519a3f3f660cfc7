"""Errors where CUDA cannot be used, and their remedies."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import gpuprims
from gpuprims.backends.cuda import runtimes
from gpuprims.core import device_specs
from gpuprims.errors import BackendUnavailableError


class FakeCudaError(Exception):
    """Stand for CuPy's runtime error."""


def fake_cupy(built: int, count: int | None) -> ModuleType:
    """Return a CuPy built for a CUDA such as 13000; it finds ``count`` GPUs, or fails to start if that is None."""

    def count_devices() -> int:
        if count is None:
            raise FakeCudaError("cudaErrorInsufficientDriver: CUDA driver version is insufficient")
        return count

    module = ModuleType("cupy")
    runtime = SimpleNamespace(
        getDeviceCount=count_devices, runtimeGetVersion=lambda: built, CUDARuntimeError=FakeCudaError
    )
    module.cuda = SimpleNamespace(runtime=runtime)  # type: ignore[attr-defined]
    return module


def cuda_absence(
    monkeypatch: pytest.MonkeyPatch, cupy: ModuleType | None, driver: tuple[int, int] | None
) -> BackendUnavailableError:
    """Return the error on a machine with this CuPy and a driver that supports this CUDA."""
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(runtimes, "driver_version", lambda: driver)
    with pytest.raises(BackendUnavailableError) as caught:
        runtimes.require_cuda()
    assert caught.value.backend == "cuda"
    assert str(caught.value) == f"cuda: {caught.value.reason}; to fix it: {caught.value.remedy}"
    return caught.value


@pytest.mark.parametrize(("driver", "extra"), [((12, 4), "cuda12"), ((11, 8), "cuda12"), ((13, 0), "cuda13")])
def test_without_cupy_the_one_for_the_driver_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, driver: tuple[int, int], extra: str
) -> None:
    absence = cuda_absence(monkeypatch, None, driver)
    assert absence.reason == f"CuPy is not installed; the driver supports CUDA {driver[0]}.{driver[1]}"
    assert absence.remedy == f"pip install 'gpuprims[{extra}]'"


def test_without_cupy_and_driver_both_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    absence = cuda_absence(monkeypatch, None, None)
    assert absence.reason == "CuPy is not installed, and there is no NVIDIA driver"
    assert "driver" in absence.remedy


def test_cupy_without_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    absence = cuda_absence(monkeypatch, fake_cupy(12090, None), None)
    assert absence.reason == "CuPy is installed, but there is no NVIDIA driver"
    assert "NVIDIA's driver" in absence.remedy


def test_cupy_of_a_newer_cuda_than_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    absence = cuda_absence(monkeypatch, fake_cupy(13000, None), (12, 4))
    assert absence.reason == "CuPy is built for CUDA 13.0, the driver supports 12.4"
    assert absence.remedy == "pip uninstall -y cupy-cuda13x && pip install 'gpuprims[cuda12]'"


def test_cuda_that_does_not_start_for_another_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    absence = cuda_absence(monkeypatch, fake_cupy(12040, None), (12, 4))
    assert absence.reason.startswith("CUDA does not start (cudaErrorInsufficientDriver")
    assert absence.remedy.startswith("nvidia-smi")


def test_a_driver_that_lists_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    absence = cuda_absence(monkeypatch, fake_cupy(12040, 0), (12, 4))
    assert absence.reason == "the driver lists no GPU"
    assert absence.remedy.startswith("nvidia-smi")


def test_cupy_that_does_not_load(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "cupy.py").write_text("raise ImportError('libnvrtc.so.12: cannot open shared object file')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    monkeypatch.setattr(runtimes, "driver_version", lambda: (12, 4))
    with pytest.raises(BackendUnavailableError, match=r"CuPy does not load \(libnvrtc.so.12: cannot open shared"):
        runtimes.require_cuda()


def test_a_gpu_and_a_fitting_cupy_are_all_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(12040, 1))
    monkeypatch.setattr(runtimes, "driver_version", lambda: (12, 4))
    runtimes.require_cuda()


def test_a_backend_that_is_absent_is_not_replaced_when_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.setattr(device_specs, "FOUND", {})  # what a process found before, it would not look for again
    for call in (lambda: gpuprims.Device("cuda"), lambda: gpuprims.reduce([1, 2], device="cuda:0")):
        with pytest.raises(BackendUnavailableError, match="cuda: CuPy is not installed"):
            call()
