"""Devices: how one is named, which one a call gets, and what is said where a backend or a device is of no use."""

from __future__ import annotations

import copy
import dataclasses
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from children import child_environment

import gpuprims
from gpuprims.backends.cuda import runtimes
from gpuprims.backends.opencl.runtimes import embedded_library
from gpuprims.backends.reference.device import ReferenceDriver
from gpuprims.core import device as device_module
from gpuprims.core.device import absences, device_of, pick_device, remedy
from gpuprims.errors import (
    BackendUnavailableError,
    BuildError,
    DeviceMismatchError,
    NoDeviceError,
    UnknownDeviceError,
)

REFERENCE = gpuprims.Device("reference")


@pytest.fixture
def nothing_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """No device chosen before, by a call, by the environment, or by looking."""
    monkeypatch.setattr(device_module, "DEFAULT", device_module.Default(device_module._first_working))
    monkeypatch.delenv("GPUPRIMS_DEVICE", raising=False)


# Specs


def test_a_spec_names_exactly_its_device(device: gpuprims.Device) -> None:
    assert gpuprims.Device(device.spec) is device


def test_a_device_of_a_device_is_itself(device: gpuprims.Device) -> None:
    assert gpuprims.Device(device) is device


def test_copies_of_a_device_are_itself(device: gpuprims.Device) -> None:
    assert copy.deepcopy(device) is copy.copy(device) is pickle.loads(pickle.dumps(device)) is device  # noqa: S301


def test_a_backend_alone_names_its_first_device(device: gpuprims.Device) -> None:
    assert gpuprims.Device(device.backend).spec == f"{device.backend}:0"


@pytest.mark.parametrize("attribute", ["kind", "vendor", "name"])
def test_a_spec_may_give_the_kind_or_a_part_of_the_vendor_or_the_name(device: gpuprims.Device, attribute: str) -> None:
    word = getattr(device.capabilities, attribute).split()[0]
    found = gpuprims.Device(f"{device.backend}:{word}").capabilities
    assert word.lower() in f"{found.kind} {found.vendor} {found.name}".lower()


def test_the_case_of_a_spec_means_nothing(device: gpuprims.Device) -> None:
    assert gpuprims.Device(f"{device.backend}:{device.capabilities.kind}".upper()).backend == device.backend
    assert gpuprims.Device("Reference:NumPy") is REFERENCE


def test_there_is_one_device_however_many_threads_ask() -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(gpuprims.Device, ["reference", "reference:0"] * 16))
    assert {id(one) for one in found} == {id(REFERENCE)}


@pytest.mark.parametrize("spec", ["metal", "metal:0", "", ":0", "reference:7", "reference:toaster", "reference:-1"])
def test_an_unknown_spec_is_refused_by_name(spec: str) -> None:
    with pytest.raises(UnknownDeviceError, match=r"; got '") as caught:
        gpuprims.Device(spec)
    assert isinstance(caught.value, ValueError)
    assert "reference" in str(caught.value)  # the message lists what there is


@pytest.mark.parametrize("spec", [3, 0.5, ["reference"], b"reference", np.zeros(3)])
def test_what_is_no_spec_is_refused(spec: Any) -> None:
    with pytest.raises(UnknownDeviceError, match="a Device or a spec such as 'cuda:0' or 'opencl:cpu'; got"):
        gpuprims.Device(spec)


def test_a_device_shows_its_spec_and_its_name(device: gpuprims.Device) -> None:
    assert repr(device) == f"<gpuprims.Device {device.spec} {device.capabilities.name}>"


# Capabilities


def test_capabilities_are_what_hardware_can_be(device: gpuprims.Device) -> None:
    able = device.capabilities
    assert able.kind == {"cuda": "gpu", "reference": "reference"}.get(device.backend, able.kind)
    assert able.kind in ("gpu", "cpu", "accelerator", "reference")
    assert all((able.name, able.vendor, able.driver))
    assert able.compute_units >= 1
    assert able.group_limit >= 1
    assert able.subgroup_size in (0, 1, 2, 4, 8, 16, 32, 64, 128)
    assert all(type(flag) is bool for flag in (able.fp64, able.fp16, able.int64_atomics, able.forward_progress))


def test_a_device_with_kernels_has_memory(device: gpuprims.Device) -> None:
    if device is REFERENCE:
        pytest.skip("the reference's memory is the host's")
    assert device.capabilities.memory > 2**28
    assert 2**14 <= device.capabilities.local_memory <= device.capabilities.memory


def test_capabilities_cannot_be_changed(device: gpuprims.Device) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        device.capabilities.kind = "gpu"  # type: ignore[misc]


def test_a_device_computes_what_it_is_checked_with(device: gpuprims.Device) -> None:
    assert device.check() is None


# The device of a call


def runs_on_the_reference() -> bool:
    """Whether a call that names no device runs on the reference: only there is a variant called numpy."""
    try:
        return bool(gpuprims.reduce([1, 2, 3], variant="numpy") == 6)
    except ValueError:
        return False


def test_use_device_holds_until_the_next_choice(nothing_chosen: None) -> None:
    gpuprims.use_device("reference")
    assert pick_device(None, None) is REFERENCE
    assert runs_on_the_reference()
    gpuprims.use_device(None)
    assert device_module.DEFAULT.chosen is None


def test_use_device_ends_with_its_block(nothing_chosen: None, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = fakes(monkeypatch, cpu := FakeDriver("cpu"))[0]
    gpuprims.use_device(stand_in)
    with gpuprims.use_device("reference") as chosen:
        assert chosen is REFERENCE
        assert pick_device(None, None) is REFERENCE
        with gpuprims.use_device(None):
            assert device_module.DEFAULT.chosen is None
        assert pick_device(None, None) is REFERENCE
    assert pick_device(None, None).driver is cpu


def test_use_device_ends_with_its_block_when_that_raises(nothing_chosen: None) -> None:
    with pytest.raises(KeyError), gpuprims.use_device("reference"):
        raise KeyError
    assert device_module.DEFAULT.chosen is None


def test_use_device_of_an_unknown_device_changes_nothing(nothing_chosen: None) -> None:
    gpuprims.use_device("reference")
    with pytest.raises(UnknownDeviceError):
        gpuprims.use_device("metal")
    assert pick_device(None, None) is REFERENCE


def test_the_environment_names_the_device(nothing_chosen: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUPRIMS_DEVICE", "reference")
    assert gpuprims.Device() is REFERENCE
    assert runs_on_the_reference()


def test_an_unknown_device_in_the_environment_raises(nothing_chosen: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUPRIMS_DEVICE", "metal:3")
    with pytest.raises(UnknownDeviceError, match="; got 'metal'"):
        gpuprims.reduce([1, 2, 3])


def test_an_empty_environment_names_nothing(nothing_chosen: None, monkeypatch: pytest.MonkeyPatch) -> None:
    fakes(monkeypatch, cpu := FakeDriver("cpu"))
    monkeypatch.setenv("GPUPRIMS_DEVICE", "")
    assert pick_device(None, None).driver is cpu


def test_the_call_outranks_use_device_and_that_the_environment(
    nothing_chosen: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = fakes(monkeypatch, FakeDriver("gpu"), FakeDriver("cpu"))
    monkeypatch.setenv("GPUPRIMS_DEVICE", "metal")
    with gpuprims.use_device(first):
        assert pick_device(None, None) is first
        assert pick_device(None, second) is second
        assert pick_device(second, None) is second  # where the arrays lie


def test_host_arrays_lie_on_no_device() -> None:
    assert device_of(np.zeros(3)) is None
    assert device_of([1, 2]) is None


def test_an_array_is_never_moved_to_another_device_unasked(device: gpuprims.Device) -> None:
    if device is REFERENCE:
        pytest.skip("the reference's arrays are NumPy's, which lie on no device")
    x = device.asarray(np.arange(5, dtype=np.float32))
    assert device_of(x) is device
    message = r"the one the arrays lie on, .*; got device=.*reference"
    for call in (lambda: gpuprims.map("x + 1", x, device="reference"), lambda: gpuprims.reduce(x, device="reference")):
        with pytest.raises(DeviceMismatchError, match=message) as caught:
            call()
        assert isinstance(caught.value, ValueError)


def test_a_device_array_goes_and_comes_back_unchanged(device: gpuprims.Device) -> None:
    x = np.arange(12, dtype=np.int16).reshape(3, 4)
    np.testing.assert_array_equal(device.to_host(device.asarray(x)), x)
    assert device.to_host(device.asarray(np.empty((3, 0), np.int16))).shape == (3, 0)


@pytest.mark.parametrize("shape", [(0,), (1,), (7, 1001)])
def test_zeros_are_zeros_in_memory_that_others_used(device: gpuprims.Device, shape: tuple[int, ...]) -> None:
    for dtype in (np.uint8, np.uint32, np.float64):
        used = device.asarray(np.ones(shape, dtype))
        device.synchronize()
        del used
        zeros = device.to_host(device.driver.zeros(shape, np.dtype(dtype)))
        np.testing.assert_array_equal(zeros, np.zeros(shape, dtype))
        assert zeros.dtype == dtype


# The automatic choice


class FakeDriver(ReferenceDriver):
    """A device that computes with NumPy, and says that it is something else."""

    def __init__(self, kind: str, index: int = 0, backend: str = "opencl", vendor: str = "Acme") -> None:
        self.index = index
        self._backend = backend
        able = ReferenceDriver().capabilities
        room = {"group_limit": 1024, "local_memory": 65536}  # enough for every kernel
        self._capabilities = dataclasses.replace(able, kind=kind, name=f"{vendor} {index}", vendor=vendor, **room)

    @property
    def backend(self) -> str:  # type: ignore[override]
        return self._backend

    @property
    def capabilities(self) -> Any:  # type: ignore[override]
        return self._capabilities

    def build(self, variant: Any, spec: Any) -> Any:
        """Compute as the reference does, whichever kernel was chosen."""
        return super().build(REFERENCE.select("map", CALL), spec)


class UnbuildableDriver(FakeDriver):
    """A device that is listed and fails every build, as a broken PoCL does."""

    def build(self, variant: Any, spec: Any) -> Any:
        raise BuildError("map_grid on Acme: a kernel that compiles; got\nunknown target CPU 'generic'")


class WrongDriver(FakeDriver):
    """A device that computes something else."""

    def to_host(self, array: np.ndarray) -> np.ndarray:
        return array * 0


class CrashingDriver(FakeDriver):
    """A device whose driver fails in its own way."""

    def asarray(self, array: np.ndarray) -> np.ndarray:
        raise RuntimeError("clEnqueueWriteBuffer failed: OUT_OF_RESOURCES")


CALL = gpuprims.Call((np.dtype(np.float32),), 3)


def fakes(monkeypatch: pytest.MonkeyPatch, *drivers: FakeDriver) -> list[gpuprims.Device]:
    """Make these the only devices there are, and return them best first."""
    monkeypatch.setattr(gpuprims.Device, "_known", dict(gpuprims.Device._known))
    monkeypatch.setattr(device_module, "_drivers", lambda name: [d for d in drivers if d.backend == name])
    return gpuprims.devices()


ABSENCE = BackendUnavailableError("cuda", "there is no NVIDIA driver", "install NVIDIA's driver")


def test_cuda_comes_first_then_gpus_of_opencl_then_its_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    drivers = [
        FakeDriver("cpu", 0), FakeDriver("gpu", 1), FakeDriver("accelerator", 2), FakeDriver("gpu", 3),
        FakeDriver("gpu", 1, "cuda"), FakeDriver("gpu", 0, "cuda"),
    ]  # fmt: skip
    found = fakes(monkeypatch, *drivers)
    assert [one.spec for one in found] == ["cuda:0", "cuda:1", "opencl:1", "opencl:3", "opencl:2", "opencl:0"]


def test_a_kind_that_nobody_knows_comes_before_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    found = fakes(monkeypatch, FakeDriver("cpu", 0), FakeDriver("npu", 1))
    assert [one.capabilities.kind for one in found] == ["npu", "cpu"]


def test_the_best_device_is_chosen_and_checked_once(nothing_chosen: None, monkeypatch: pytest.MonkeyPatch) -> None:
    best, _ = fakes(monkeypatch, FakeDriver("cpu", 0), FakeDriver("gpu", 1))
    assert pick_device(None, None) is best
    monkeypatch.setattr(gpuprims.Device, "check", lambda self: "was checked again")
    assert pick_device(None, None) is best


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        (UnbuildableDriver, "fails a trial kernel: .*unknown target CPU 'generic'"),
        (CrashingDriver, "fails a trial kernel: clEnqueueWriteBuffer failed: OUT_OF_RESOURCES"),
        (WrongDriver, r"computes \[0\. 0\. 0\.\] for \[1, 2, 3\] \+ 1"),
    ],
)
def test_a_device_that_does_not_compute_is_passed_over_with_a_warning(
    nothing_chosen: None, monkeypatch: pytest.MonkeyPatch, broken: type[FakeDriver], problem: str
) -> None:
    bad, good = fakes(monkeypatch, broken("gpu", 0), FakeDriver("cpu", 1))
    assert good.check() is None
    assert bad.check() is not None
    with pytest.warns(RuntimeWarning, match=f"passes over opencl:0 Acme 0: {problem}.*update its driver"):
        assert pick_device(None, None) is good


def test_a_device_that_does_not_compute_is_still_obeyed_by_name(
    nothing_chosen: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, _ = fakes(monkeypatch, UnbuildableDriver("gpu", 0), FakeDriver("cpu", 1))
    with pytest.raises(BuildError, match="unknown target CPU"):
        gpuprims.map("x + 1", [1.0], device=bad)


def test_no_device_that_computes_is_an_error_with_every_reason(
    nothing_chosen: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    fakes(monkeypatch, UnbuildableDriver("gpu", 0), WrongDriver("cpu", 1, vendor="Portable Computing Language"))
    monkeypatch.setattr(device_module, "absences", lambda: [ABSENCE])
    with pytest.warns(RuntimeWarning), pytest.raises(NoDeviceError) as caught:
        pick_device(None, None)
    message = str(caught.value)
    for part in (
        "device: a CUDA GPU, an OpenCL GPU or an OpenCL CPU; got",
        "cuda: there is no NVIDIA driver; install NVIDIA's driver",
        "opencl:0 Acme 0: fails a trial kernel",
        "opencl:1 Portable Computing Language 1: computes",
        "pip uninstall -y pocl-binary-distribution && pip install 'gpuprims[cpu]'",
    ):
        assert part in message


def test_the_reference_is_never_chosen_by_itself(nothing_chosen: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert fakes(monkeypatch) == []
    monkeypatch.setattr(device_module, "absences", lambda: [ABSENCE])
    with pytest.raises(NoDeviceError, match="there is no NVIDIA driver; install NVIDIA's driver"):
        gpuprims.reduce([1, 2, 3])
    assert "reference" not in {one.backend for one in gpuprims.devices()}


def test_a_failed_search_is_made_again(nothing_chosen: None, monkeypatch: pytest.MonkeyPatch) -> None:
    fakes(monkeypatch)
    monkeypatch.setattr(device_module, "absences", list)
    with pytest.raises(NoDeviceError):
        pick_device(None, None)
    (found,) = fakes(monkeypatch, FakeDriver("cpu"))
    assert pick_device(None, None) is found


def test_the_remedy_is_for_the_driver_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    pocl, acme = fakes(monkeypatch, FakeDriver("cpu", 0, vendor="Portable Computing Language"), FakeDriver("cpu", 1))
    assert "pocl-binary-distribution" in remedy(pocl)
    assert "update its driver" in remedy(acme)


def test_listed_and_absent_backends_are_all_there_are() -> None:
    listed = {one.backend for one in gpuprims.devices()}
    absent = {error.backend for error in absences()}
    assert not listed & absent
    assert {"cuda", "opencl"} <= listed | absent


# CUDA that is absent


class FakeCudaError(Exception):
    """As CuPy's."""


def fake_cupy(built: int, count: int | None) -> ModuleType:
    """CuPy built for a CUDA such as 13000, which finds so many GPUs, or fails to start where that is None."""

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
    """What is said about CUDA on a machine with this CuPy and a driver that supports this CUDA."""
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(runtimes, "driver_version", lambda: driver)
    with pytest.raises(BackendUnavailableError) as caught:
        runtimes.require_cuda()
    assert caught.value.backend == "cuda"
    assert str(caught.value) == f"cuda: {caught.value.reason}; to mend it: {caught.value.remedy}"
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
    for call in (lambda: gpuprims.Device("cuda"), lambda: gpuprims.reduce([1, 2], device="cuda:0")):
        with pytest.raises(BackendUnavailableError, match="cuda: CuPy is not installed"):
            call()


# OpenCL that is absent


SEARCH = """
import gpuprims
from gpuprims.errors import BackendUnavailableError, NoDeviceError

try:
    gpuprims.Device("opencl")
except BackendUnavailableError as error:
    print("opencl:", error.reason, "|", error.remedy)
assert gpuprims.devices() == []
try:
    gpuprims.reduce([1, 2, 3])
except NoDeviceError as error:
    print("none:", " ".join(str(error).split()))
print("reference:", gpuprims.reduce([1, 2, 3], device="reference"))
"""


def search(program: str, **environment: str) -> dict[str, str]:
    """What a fresh process, which sees no GPU, prints: one line for each key."""
    around = child_environment(**{"GPUPRIMS_DEVICE": None, "CUDA_VISIBLE_DEVICES": ""} | environment)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=around, check=False)
    assert done.returncode == 0, done.stderr
    return dict(line.split(": ", 1) for line in done.stdout.splitlines())


def test_without_any_opencl_driver_the_error_says_what_to_do(tmp_path: Path) -> None:
    said = search(SEARCH, OCL_ICD_VENDORS=str(tmp_path))
    assert f"OCL_ICD_VENDORS={tmp_path} offers no OpenCL driver" in said["opencl"]
    assert said["opencl"].endswith("| unset OCL_ICD_VENDORS")
    assert "cuda: " in said["none"]
    assert f"opencl: OCL_ICD_VENDORS={tmp_path}" in said["none"]
    assert said["reference"] == "6"


def test_a_pyopencl_that_does_not_load_is_an_absent_backend() -> None:
    said = search("import sys\nsys.modules['pyopencl'] = None\n" + SEARCH)
    assert said["opencl"].startswith("pyopencl does not load")
    assert said["opencl"].endswith("| pip install --force-reinstall pyopencl")
    assert said["reference"] == "6"


# A process that can write nowhere, or whose disk is full.
NOWHERE = """
import pathlib, tempfile

def full(*given, **how):
    raise OSError(28, "No space left on device")

tempfile.tempdir, pathlib.Path.write_text = "/nowhere", full

from gpuprims.backends.opencl.runtimes import platforms

print("found:", ", ".join(platform.name for platform in platforms()))
"""


@pytest.mark.parametrize("cache", ["off", "cache"])
def test_without_room_for_a_file_intels_runtime_is_found(tmp_path: Path, cache: str) -> None:
    if embedded_library() is None or "OCL_ICD_VENDORS" in os.environ:
        pytest.skip("needs Intel's CPU runtime as a wheel, and no other list of drivers")
    folder = cache if cache == "off" else str(tmp_path / cache)
    assert "Intel" in search(NOWHERE, GPUPRIMS_CACHE_DIR=folder)["found"]


VARIABLE = """
import ctypes, os
import gpuprims

get = ctypes.CDLL(None).getenv
get.restype = ctypes.c_char_p
before = os.environ.get("OCL_ICD_VENDORS"), get(b"OCL_ICD_VENDORS")
gpuprims.devices()
print("as it was:", (os.environ.get("OCL_ICD_VENDORS"), get(b"OCL_ICD_VENDORS")) == before)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="asks the C library of other systems")
def test_looking_for_drivers_leaves_the_environment_as_it_was() -> None:
    gpuprims.devices()
    assert "/drivers/" not in os.environ.get("OCL_ICD_VENDORS", "")  # which the next line's process would inherit
    assert search(VARIABLE) == {"as it was": "True"}
