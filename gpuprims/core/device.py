"""Devices of all vendors: the devices of this machine, and the choice of one for a call."""

from __future__ import annotations

import atexit
import importlib
import os
import threading
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from gpuprims.core.capabilities import Capabilities, remedy
from gpuprims.core.default_device import Default
from gpuprims.core.determinism import without_level
from gpuprims.core.device_specs import find_driver
from gpuprims.core.driver import Driver, Kernel, WithConstants
from gpuprims.core.faults import Faults
from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.core.lifetime import EndingDriver, ForkedDriver, StandIn, after_fork, refuse_at_exit, wait_for_calls
from gpuprims.core.program_cache import Kernels
from gpuprims.core.registry import REGISTRY
from gpuprims.core.traits import CallTraits
from gpuprims.core.tuned_choices import tuned_on
from gpuprims.core.variant import Explanation, Variant
from gpuprims.core.watched import WatchedDriver, unwatched, watched
from gpuprims.errors import (
    BackendUnavailableError,
    DeviceMismatchError,
    NoDeviceError,
    NoVariantError,
    UnknownVariantError,
    did_you_mean,
    quoted,
)
from gpuprims.expressions.masks import plain_array

_UNSEEN: Any = object()


class Device:
    """A device of any backend.

    Parameters
    ----------
    spec : str or Device, optional
        By default the device that host arrays go to. ``"cuda"``, ``"opencl"`` or ``"reference"``, and after a colon a
        number (``"cuda:0"``), a kind (``"opencl:gpu"``, ``"opencl:cpu"``) or a part of the vendor's or the device's
        name (``"opencl:intel"``). ``"gpu"`` and ``"cpu"`` are the first such device of :func:`gpuprims.devices`.

    Raises
    ------
    UnknownDeviceError
        The spec names no device of this machine; the message lists the devices.
    BackendUnavailableError
        The backend cannot be used; the message says why, and how to fix it.

    Examples
    --------
    >>> import gpuprims
    >>> device = gpuprims.Device("reference")
    >>> device.capabilities.kind
    'reference'
    """

    _known: dict[int, Device] = {}  # noqa: RUF012 - one Device for each driver, so that kernels are compiled once
    _lock = threading.Lock()

    driver: Driver
    faults: Faults  # of calls that have returned
    _kernels: Kernels

    def __new__(cls, spec: str | Device | None = None) -> Device:
        """Return the one Device of a driver."""
        if spec is None:
            return pick_device(None, None)
        if isinstance(spec, Device):
            return spec
        return cls._named(spec, "device")

    @classmethod
    def _named(cls, spec: str, label: str) -> Device:
        """Return the device of a spec; ``label`` says in messages where the spec comes from."""
        driver = find_driver(spec, label, _found, lambda: [one.driver for one in devices()])
        return cls._known.get(id(driver)) or cls._of(driver)

    @classmethod
    def _of(cls, driver: Driver) -> Device:
        key = id(driver.real if isinstance(driver, StandIn) else driver)
        with cls._lock:
            if key not in cls._known:
                device = super().__new__(cls)
                device.driver = watched(driver)
                device._kernels = Kernels()
                device.faults = Faults()
                cls._known[key] = device
            return cls._known[key]

    @classmethod
    def _after_fork(cls) -> None:
        """Make devices inherited from the parent raise, except those that survive a fork."""
        cls._lock = threading.Lock()  # another thread of the parent may have held the old one
        DEFAULT.after_fork()
        for device in list(cls._known.values()):
            device._kernels.after_fork()
            if not isinstance(device.driver, ForkedDriver) and not getattr(device.driver, "survives_fork", False):
                device.driver, device.faults = ForkedDriver(unwatched(device.driver)), Faults()  # every method raises

    @classmethod
    def _at_exit(cls) -> None:
        """Let daemon threads finish their calls, but begin no new ones."""
        ending = [device for device in cls._known.values() if not isinstance(device.driver, ForkedDriver)]
        for device in ending:
            device.driver = EndingDriver(device.driver)  # calls the real driver, or ends a daemon thread
        wait_for_calls()
        for device in ending:
            if device._kernels:  # waiting for an unused CUDA device would start it
                device.driver.synchronize()
                device.faults.warn()

    @property
    def spec(self) -> str:
        """The spec that names exactly this device."""
        return f"{self.driver.backend}:{self.driver.index}"

    @property
    def backend(self) -> str:
        """Name of the backend."""
        return self.driver.backend

    @property
    def capabilities(self) -> Capabilities:
        """The device's properties, by which variants are chosen."""
        return self.driver.capabilities

    def __repr__(self) -> str:
        return f"<gpuprims.Device {self.spec} {self.capabilities.name}>"

    def ranked(self, primitive: str, call: CallTraits) -> Explanation:
        """Return every variant's answer to a call, without tuned choices."""
        able = self.capabilities
        known = REGISTRY.variants(primitive, self.backend)
        asked = tuple((one, one.refuses(able, call) or (one.yields and one.yields(able, call))) for one in known)
        levels = {one.label: one.level_for(call) for one in known}
        return Explanation(primitive, f"{self.spec}, {able.name}", asked, capabilities=able, levels=levels)

    def explain(self, primitive: str, call: CallTraits) -> Explanation:
        """Return every variant's answer to a call, and the tuned choice for it."""
        explanation, tuned = self.ranked(primitive, call), tuned_on(self.backend, self.capabilities)
        if tuned is None or explanation.ranked is None:
            return explanation
        return replace(explanation, tuned=tuned(explanation.ranked, call))

    def select(self, primitive: str, call: CallTraits, name: str | Variant | None = None) -> Variant:
        """Return the variant of a name, a given one, or else the tuned or best able one; raise if it refuses."""
        if name is None:
            return self.explain(primitive, call).select()
        known = {variant.name: variant for variant in REGISTRY.variants(primitive, self.backend)}
        asked = known.get(name) if isinstance(name, str) else name
        if not isinstance(asked, Variant) or asked.name not in known:
            names = ", ".join(map(repr, known)) or "none at all"
            hint = did_you_mean(name, known, {f"{primitive}/{one}": one for one in known})
            raise UnknownVariantError(f"{primitive} on {self.spec}: a variant among {names}; got {quoted(name)}{hint}")
        if (reason := asked.refuses(self.capabilities, call)) is not None:
            raise NoVariantError(f"{primitive}: variant {asked.name!r} able to run the call; got a refusal: {reason}")
        return asked

    def __reduce__(self) -> tuple[type[Device], tuple[str]]:
        """Pickle and copy by spec, because a driver has one Device."""
        return Device, (self.spec,)

    def kernel(self, variant: Variant, spec: KernelSpec) -> Kernel:
        """Return a compiled kernel, building it the first time; constants are arguments, not compiled in."""
        lifted, constants = spec.lifted()
        kernel: Kernel = self._kernels.find((variant, lifted), lambda: self.driver.build(variant, lifted))
        if isinstance(driver := self.driver, WatchedDriver):
            kernel = driver.watch(kernel, variant, lifted)
        return WithConstants(kernel, constants) if constants.size else kernel

    def asarray(self, array: np.ndarray) -> Any:
        """Copy a host array into an array of the device's own library, CuPy's or pyopencl's.

        Calls on such arrays return arrays of the same class, and do not wait.
        """
        return self.driver.asarray(plain_array("asarray", array))

    def to_host(self, array: Any) -> np.ndarray:
        """Wait for the work that fills a device array, and return its contents; a NumPy array is returned as it is."""
        is_host = isinstance(array, np.ndarray | np.generic)  # the result of a call on host arrays
        host = np.asarray(array) if is_host else self.driver.to_host(array)
        self.faults.check()
        return host

    def synchronize(self) -> None:
        """Wait for everything started on the device, and raise what it found wrong after a call had returned."""
        self.driver.synchronize()
        self.faults.check(wait=True)

    def check(self) -> str | None:
        """Run a small kernel, because drivers may list broken devices; return the fault, or None if there is none."""
        trial = importlib.import_module("gpuprims.primitives.trial")
        found: str | None = without_level(lambda: trial.problem_of(self))
        return found


def _found(name: str) -> list[Driver]:
    """Return a backend's drivers, each with its Device, which detects a fork."""
    refuse_at_exit(name)
    forked = [one for one in Device._known.values() if isinstance(one.driver, ForkedDriver)]
    if inherited := [one.driver for one in forked if one.driver.backend == name]:
        return inherited  # CUDA cannot even list its devices in a forked child
    drivers = list(REGISTRY.drivers(name))
    for driver in drivers:
        if id(driver) not in Device._known:
            Device._of(driver)
    return drivers


def devices() -> list[Device]:
    """Return all devices, best first: CUDA, then OpenCL GPUs, then OpenCL CPUs.

    Returns
    -------
    list of Device
        Empty if there is none; ``gpuprims info`` then says what is missing. The reference device is not listed: calls
        use it only by name.

    Examples
    --------
    >>> import gpuprims
    >>> all(device.backend in ("cuda", "opencl") for device in gpuprims.devices())
    True
    """
    kinds = {"gpu": 0, "accelerator": 1, "cpu": 3, "reference": 4}  # any other kind has rank 2
    found = [Device._of(driver) for driver in _survey()[0]]
    return sorted(found, key=lambda one: (one.backend != "cuda", kinds.get(one.capabilities.kind, 2), one.driver.index))


def absences() -> list[BackendUnavailableError]:
    """Return the error, with reason and remedy, of each backend that cannot be used here."""
    return _survey()[1]


def _survey() -> tuple[list[Driver], list[BackendUnavailableError]]:
    """Return the drivers of all backends but the reference, and the errors of backends that cannot be used."""
    drivers, errors = [], []
    for name in REGISTRY.backend_names:
        if name != "reference":
            try:
                drivers += _found(name)
            except BackendUnavailableError as error:
                errors.append(error)
    return drivers, errors


def device_of(array: Any) -> Device | None:
    """Return the device that a vendor's array lies on; None for host arrays and for arrays of other libraries."""
    backend = REGISTRY.by_class.get(kind := type(array), _UNSEEN)
    if backend is _UNSEEN:
        backend = REGISTRY.backend_of(kind)
    if backend is None or (driver := backend.driver_of(array)) is None:
        return None
    return Device._known.get(id(driver)) or Device._of(driver)


def pick_device(on: Device | None, asked: str | Device | None) -> Device:
    """Return the device of a call: ``on``, where its arrays lie, ``asked``, the caller's ``device=``, or the default.

    ``on`` and ``asked`` must agree: an array is never moved to another device unasked.
    """
    if asked is not None:
        device = Device(asked)
        if on is not None and on is not device:
            raise DeviceMismatchError(f"device: the one the arrays lie on, {on!r}; got device={device!r}")
        return device
    if on is not None:
        return on
    chosen: Device | None = DEFAULT.chosen
    if chosen is None and (spec := os.environ.get("GPUPRIMS_DEVICE")):
        return Device._named(spec, "GPUPRIMS_DEVICE")
    return chosen or DEFAULT.found


def _first_working() -> Device:
    """Return the best device that computes, and warn about better devices that fail."""
    failures = [f"{error.backend}: {error.reason}; {error.remedy}" for error in absences()]
    for device in devices():
        if (problem := device.check()) is None:
            return device
        failures.append(f"{device.spec} {device.capabilities.name}: {problem}; {remedy(device.capabilities)}")
        warnings.warn(f"gpuprims passes over {failures[-1]}", RuntimeWarning, stacklevel=4)
    raise NoDeviceError("device: a CUDA GPU, an OpenCL GPU or an OpenCL CPU; got\n  " + "\n  ".join(failures))


DEFAULT = Default(_first_working)
after_fork(Device._after_fork)
atexit.register(Device._at_exit)
