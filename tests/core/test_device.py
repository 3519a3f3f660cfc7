"""Devices: specs that name them, their capabilities, and arrays on them."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import gpuprims
from gpuprims.errors import UnknownDeviceError

REFERENCE = gpuprims.Device("reference")


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
    assert "reference" in str(caught.value)  # the message lists the backends


@pytest.mark.parametrize("spec", [3, 0.5, ["reference"], b"reference", np.zeros(3)])
def test_what_is_no_spec_is_refused(spec: Any) -> None:
    with pytest.raises(UnknownDeviceError, match="a Device or a spec such as 'cuda:0' or 'opencl:cpu'; got"):
        gpuprims.Device(spec)


def test_a_device_shows_its_spec_and_its_name(device: gpuprims.Device) -> None:
    assert repr(device) == f"<gpuprims.Device {device.spec} {device.capabilities.name}>"


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


def test_a_device_array_goes_and_comes_back_unchanged(device: gpuprims.Device) -> None:
    x = np.arange(12, dtype=np.int16).reshape(3, 4)
    np.testing.assert_array_equal(device.to_host(device.asarray(x)), x)
    assert device.to_host(device.asarray(np.empty((3, 0), np.int16))).shape == (3, 0)


def test_results_on_the_host_are_there_already(device: gpuprims.Device) -> None:
    x = np.arange(12, dtype=np.int16)
    assert device.to_host(x) is x
    total = device.to_host(gpuprims.reduce(x, device=device))
    assert isinstance(total, np.ndarray)
    assert (total.shape, int(total)) == ((), 66)


@pytest.mark.parametrize("shape", [(0,), (1,), (7, 1001)])
def test_zeros_are_zeros_in_memory_that_others_used(device: gpuprims.Device, shape: tuple[int, ...]) -> None:
    for dtype in (np.uint8, np.uint32, np.float64):
        used = device.asarray(np.ones(shape, dtype))
        device.synchronize()
        del used
        zeros = device.to_host(device.driver.zeros(shape, np.dtype(dtype)))
        np.testing.assert_array_equal(zeros, np.zeros(shape, dtype))
        assert zeros.dtype == dtype
