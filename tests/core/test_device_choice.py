"""Which device a call gets: the call's, the block's, the environment's, or the best that computes."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import gpuprims
from gpuprims.backends.reference.device import ReferenceDriver
from gpuprims.core import device as device_module
from gpuprims.core.capabilities import remedy
from gpuprims.core.device import absences, device_of, pick_device
from gpuprims.errors import BackendUnavailableError, BuildError, DeviceMismatchError, NoDeviceError, UnknownDeviceError

REFERENCE = gpuprims.Device("reference")


@pytest.fixture
def nothing_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the default device, and any in the environment."""
    monkeypatch.setattr(device_module, "DEFAULT", device_module.Default(device_module._first_working))
    monkeypatch.delenv("GPUPRIMS_DEVICE", raising=False)


def runs_on_the_reference() -> bool:
    """Return whether a call that names no device runs on the reference, the only one with a variant ``numpy``."""
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
    with pytest.raises(UnknownDeviceError, match=r"GPUPRIMS_DEVICE: .*; got 'metal:3'"):
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
        assert pick_device(second, None) is second  # the device of the arrays wins


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


class FakeDriver(ReferenceDriver):
    """A device that computes with NumPy and claims another kind, vendor and backend."""

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
        """Compute as the reference does, by any variant."""
        return super().build(REFERENCE.select("map", CALL), spec)


class UnbuildableDriver(FakeDriver):
    """A device that fails every build, as a broken PoCL does."""

    def build(self, variant: Any, spec: Any) -> Any:
        raise BuildError("map_grid on Acme: a kernel that compiles; got\nunknown target CPU 'generic'")


class WrongDriver(FakeDriver):
    """A device with wrong results."""

    def to_host(self, array: np.ndarray) -> np.ndarray:
        return array * 0


class CrashingDriver(FakeDriver):
    """A device whose driver raises an error of its own."""

    def asarray(self, array: np.ndarray) -> np.ndarray:
        raise RuntimeError("clEnqueueWriteBuffer failed: OUT_OF_RESOURCES")


CALL = gpuprims.Call((np.dtype(np.float32),), 3)


def fakes(monkeypatch: pytest.MonkeyPatch, *drivers: FakeDriver) -> list[gpuprims.Device]:
    """Make these the only devices, and return them, best first."""
    monkeypatch.setattr(gpuprims.Device, "_known", dict(gpuprims.Device._known))
    monkeypatch.setattr(device_module, "_survey", lambda: (list(drivers), []))
    return gpuprims.devices()


ABSENCE = BackendUnavailableError("cuda", "there is no NVIDIA driver", "install NVIDIA's driver")


def test_cuda_comes_first_then_gpus_of_opencl_then_its_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    drivers = [
        FakeDriver("cpu", 0), FakeDriver("gpu", 1), FakeDriver("accelerator", 2), FakeDriver("gpu", 3),
        FakeDriver("gpu", 1, "cuda"), FakeDriver("gpu", 0, "cuda"),
    ]  # fmt: skip
    found = fakes(monkeypatch, *drivers)
    assert [one.spec for one in found] == ["cuda:0", "cuda:1", "opencl:1", "opencl:3", "opencl:2", "opencl:0"]


def test_unknown_kinds_come_before_cpus_and_reference_devices_after(monkeypatch: pytest.MonkeyPatch) -> None:
    found = fakes(monkeypatch, FakeDriver("reference", 0), FakeDriver("cpu", 1), FakeDriver("npu", 2))
    assert [one.capabilities.kind for one in found] == ["npu", "cpu", "reference"]


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
    assert "pocl-binary-distribution" in remedy(pocl.capabilities)
    assert "update its driver" in remedy(acme.capabilities)


def test_listed_and_absent_backends_are_all_there_are() -> None:
    listed = {one.backend for one in gpuprims.devices()}
    absent = {error.backend for error in absences()}
    assert not listed & absent
    assert {"cuda", "opencl"} <= listed | absent
