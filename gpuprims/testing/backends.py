"""check_backend: check that a backend keeps the contract of drivers."""

from __future__ import annotations

import numpy as np

import gpuprims
from gpuprims.core.device import Device
from gpuprims.core.plans import bind_call
from gpuprims.core.registry import REGISTRY
from gpuprims.errors import quoted
from gpuprims.testing.rules import described, hold
from gpuprims.testing.variants import devices_of, left_out


def check_backend(name: str) -> dict[str, str]:
    """Check a backend: the contract of each driver, and each variant that it ships.

    Parameters
    ----------
    name : str
        A backend of this library, or of an installed package.

    Returns
    -------
    dict of str to str
        Variants that no device here can run, by label, with their reasons.

    Raises
    ------
    AssertionError
        The first rule that does not hold.
    UnknownDeviceError, BackendUnavailableError
        No such backend, or one without devices here.

    Examples
    --------
    >>> from gpuprims.testing import check_backend
    >>> check_backend("abacus")
    Traceback (most recent call last):
    gpuprims.errors.UnknownDeviceError: backend: one of cuda, opencl, reference; got 'abacus'
    """
    places = devices_of(name)
    for place in places:
        _check_driver(place)
    found = [REGISTRY.primitive(primitive) for primitive in REGISTRY.primitive_names]
    checked = [primitive.name for primitive in found if primitive is not None and primitive.case is not None]
    return left_out((variant, places) for primitive in checked for variant in REGISTRY.variants(primitive, name))


def _check_driver(device: Device) -> None:
    """Check that a driver does what :class:`gpuprims.core.driver.Driver` says."""
    driver, label = device.driver, f"driver {device.spec}"
    for host in (np.arange(15.0).reshape(3, 5).T, np.array(7, np.int8), np.zeros((0, 3), np.uint16)):
        there = driver.asarray(host)
        back = driver.to_host(there)
        hold(np.array_equal(back, host), label, f"to_host(asarray(x)) equal to x, {described(host)}", quoted(back))
        form = driver.form(there)
        hold((form.dtype, form.shape) == (host.dtype, host.shape), label, "form() of asarray(x) as x", form)
    float32 = np.dtype(np.float32)
    empty, zeros = driver.empty((3, 5), float32), driver.zeros((3, 5), float32)
    hold((empty.dtype, empty.shape) == (float32, (3, 5)), label, "empty() as asked for", described(empty))
    hold(not driver.to_host(zeros).any(), label, "zeros() of zeros", quoted(driver.to_host(zeros)))
    whole = driver.asarray(np.arange(20, dtype=np.float32))
    part = driver.to_host(driver.cut(whole, 3, (2, 4)))
    hold(np.array_equal(part, np.arange(3, 11).reshape(2, 4)), label, "cut(x, 3, (2, 4)), elements 3 to 10", part)
    copied = driver.to_host(driver.copy(whole, np.arange(20, dtype=np.float32)))
    hold(np.array_equal(copied, np.arange(20)), label, "copy(x, host) equal to x", quoted(copied))
    x = device.asarray(np.ones(100_003, np.float32))
    total = gpuprims.plan("reduce", x, device=device).item(x)
    hold(type(total) is float and total == 100_003, label, "item(), the float 100003.0", repr(total))
    _check_counters(device, label)
    _check_facts(device, label)


def _check_facts(device: Device, label: str) -> None:
    """Check that facts differ where launch plans do, and are the same for arrays alike."""
    tell = getattr(REGISTRY.backend(device.backend), "facts_of", None)
    if tell is None:
        return
    hosts = [np.zeros(shape, dtype) for shape, dtype in (((6,), "i4"), ((6,), "u4"), ((2, 3), "i4"), ((3, 2), "i4"))]
    arrays = [device.driver.asarray(host) for host in hosts]
    arrays += [arrays[0][1:], arrays[0][:5], arrays[0][::2], arrays[0][:3]]
    told = [tell(array) for array in arrays]
    hold(len(set(told)) == len(arrays), label, "facts_of() that tells dtypes, shapes, strides and places apart", told)
    again = tell(device.driver.asarray(hosts[0]))
    hold(again == told[0], label, f"facts_of() of an array like an earlier one as then, {told[0]}", again)


def _check_counters(device: Device, label: str) -> None:
    """Check, by a map that reads them, that launches left the counters zero."""
    places = device.asarray(np.ones(1000, np.uint32))
    read = bind_call("map", ("x", places), {"device": device})[3]
    result = device.driver.empty((1000,), np.dtype(np.uint32))
    read.compiled()([device.driver.counters(1000), result])
    hold(not device.to_host(result).any(), label, "counters() that are zero after use", quoted(device.to_host(result)))
