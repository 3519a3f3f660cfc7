"""Device: a place to compute, whatever the vendor; which ones there are, and which one a call uses."""

from __future__ import annotations

import atexit
import importlib
import os
import threading
import warnings
from typing import Any

import numpy as np

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.choice import Explanation
from gpuprims.core.default_device import Choice, Chosen
from gpuprims.core.driver import Driver, Kernel, WithConstants
from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.core.lifetime import EndingDriver, ForkedDriver, after_fork, refuse_at_exit, wait_for_calls
from gpuprims.core.program_cache import Kernels
from gpuprims.core.registry import REGISTRY
from gpuprims.core.traits import CallTraits
from gpuprims.core.tuned_choices import tuned_on
from gpuprims.core.variant import Variant
from gpuprims.errors import (
    BackendUnavailableError,
    DeviceMismatchError,
    NoDeviceError,
    UnknownDeviceError,
    quoted,
)
from gpuprims.expressions.masks import plain_array

__all__ = ["Capabilities", "Device", "absences", "device_of", "devices", "pick_device", "use_device"]

_ENVIRONMENT = "GPUPRIMS_DEVICE"
# Backends that nobody gets without asking: computing with NumPy is not what a call was made for.
_BY_NAME_ONLY = frozenset({"reference"})


class Device:
    """A device of any backend.

    Parameters
    ----------
    spec : str or Device, optional
        By default the device that host arrays go to. ``"cuda"``, ``"opencl"`` or ``"reference"``, and after a colon a
        number (``"cuda:0"``), a kind (``"opencl:gpu"``, ``"opencl:cpu"``) or a part of the vendor's or the device's
        name (``"opencl:intel"``).

    Raises
    ------
    UnknownDeviceError
        When the spec names no device here; the message lists those there are.
    BackendUnavailableError
        When its backend cannot be used; the message says why, and how to mend it.

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
    _kernels: Kernels

    def __new__(cls, spec: str | Device | None = None) -> Device:
        """Return the one Device of a driver, so that its kernels are compiled once."""
        if spec is None:
            return pick_device(None, None)
        return spec if isinstance(spec, Device) else cls._of(_find_driver(spec))

    @classmethod
    def _of(cls, driver: Driver) -> Device:
        key = id(driver.real if isinstance(driver, ForkedDriver) else driver)
        device = cls._known.get(key)
        if device is not None:
            return device
        with cls._lock:
            if key not in cls._known:
                device = super().__new__(cls)
                device.driver = driver
                device._kernels = Kernels()
                cls._known[key] = device
            return cls._known[key]

    @classmethod
    def _after_fork(cls) -> None:
        """Make devices inherited from the parent raise, except those that survive a fork."""
        cls._lock = threading.Lock()  # another thread of the parent may have held the old one
        _DEFAULT.after_fork()
        for device in list(cls._known.values()):
            if not isinstance(device.driver, ForkedDriver) and not getattr(device.driver, "survives_fork", False):
                device.driver = ForkedDriver(device.driver)  # every method raises

    @classmethod
    def _at_exit(cls) -> None:
        """Let daemon threads finish their calls and begin no others."""
        ending = [device for device in cls._known.values() if not isinstance(device.driver, ForkedDriver)]
        for device in ending:
            device.driver = EndingDriver(device.driver)  # calls the real driver, or ends a daemon thread
        wait_for_calls()
        for device in ending:
            if device._kernels:  # waiting for an unused CUDA device would start it
                device.synchronize()

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
        """What the device can do."""
        return self.driver.capabilities

    def __repr__(self) -> str:
        return f"<gpuprims.Device {self.spec} {self.capabilities.name}>"

    def explain(self, primitive: str, call: CallTraits) -> Explanation:
        """Return every variant's answer to a call, and what was tuned for it."""
        return REGISTRY.explain(primitive, *self._described, call, tuned_on(self.backend, self.capabilities))

    def ranked(self, primitive: str, call: CallTraits) -> Explanation:
        """Return every variant's answer to a call, whatever was tuned."""
        return REGISTRY.explain(primitive, *self._described, call)

    def select(self, primitive: str, call: CallTraits, name: str | Variant | None = None) -> Variant:
        """Return the variant that runs a call; see :meth:`gpuprims.core.registry.Registry.select`."""
        tuned = tuned_on(self.backend, self.capabilities) if name is None else None
        return REGISTRY.select(primitive, *self._described, call, name, tuned)

    @property
    def _described(self) -> tuple[str, str, Capabilities]:
        return self.backend, repr(self), self.capabilities

    def __reduce__(self) -> tuple[type[Device], tuple[str]]:
        """Pickle, and copy, by name: there is one of each device."""
        return Device, (self.spec,)

    def kernel(self, variant: Variant, spec: KernelSpec) -> Kernel:
        """Return a compiled kernel, building it the first time; constants are arguments, not compiled in."""
        lifted, constants = spec.lifted()
        kernel: Kernel = self._kernels.find((variant, lifted), lambda: self.driver.build(variant, lifted))
        return WithConstants(kernel, constants) if constants.size else kernel

    def asarray(self, array: np.ndarray) -> Any:
        """Copy a host array into an array of the device's own library, CuPy's or pyopencl's.

        Work on such arrays stays on the device: results are of the same kind, and nothing waits.
        """
        return self.driver.asarray(plain_array("asarray", array))

    def to_host(self, array: Any) -> np.ndarray:
        """Return a device array's contents as a NumPy array, when the work that fills it is done."""
        return self.driver.to_host(array)

    def synchronize(self) -> None:
        """Wait for everything started on the device."""
        self.driver.synchronize()

    def check(self) -> str | None:
        """Run a small kernel, and return what is wrong with the device, or None when it computes.

        A driver can list a device and still fail every build on it, so nothing less than a result shows that it works.
        """
        found: str | None = importlib.import_module("gpuprims.primitives.trial").problem_of(self)
        return found


def _find_driver(spec: str) -> Driver:
    if not isinstance(spec, str):
        raise UnknownDeviceError(f"device: a Device or a spec such as 'cuda:0' or 'opencl:cpu'; got {quoted(spec)}")
    name, _, selector = spec.partition(":")
    drivers = _found(name.lower())
    for driver in drivers:
        if _matches(driver, selector.lower()):
            return driver
    there = ", ".join(f"{d.backend}:{d.index} ({d.capabilities.kind}, {d.capabilities.name})" for d in drivers)
    raise UnknownDeviceError(f"device: one of {there or 'none on this machine'}; got {quoted(spec)}")


def _found(name: str) -> list[Driver]:
    """Return a backend's drivers, each with its Device, which detects a fork."""
    refuse_at_exit(name)
    inherited = [one.driver for one in Device._known.values() if isinstance(one.driver, ForkedDriver)]
    drivers: list[Driver] = [driver for driver in inherited if driver.backend == name]
    if drivers:
        return drivers  # CUDA cannot even list its devices in a forked child
    drivers = list(REGISTRY.backend(name).drivers())
    for driver in drivers:
        Device._of(driver)
    return drivers


def _matches(driver: Driver, selector: str) -> bool:
    able = driver.capabilities
    if not selector or selector.isdecimal():
        return not selector or (len(selector) < 10 and driver.index == int(selector))  # int refuses thousands of digits
    return selector == able.kind or selector in able.vendor.lower() or selector in able.name.lower()


def devices() -> list[Device]:
    """Return every device that a call may be given, best first: CUDA, then OpenCL GPUs, then OpenCL CPUs.

    Returns
    -------
    list of Device
        Empty where there is none; ``gpuprims info`` then says what is missing. The reference backend is asked for by
        name and is not listed.

    Examples
    --------
    >>> import gpuprims
    >>> all(device.backend in ("cuda", "opencl") for device in gpuprims.devices())
    True
    """
    found = [Device._of(driver) for name in _automatic() for driver in _drivers(name)]
    return sorted(found, key=lambda device: _preference(device.driver))


def _automatic() -> list[str]:
    return [name for name in REGISTRY.backend_names if name not in _BY_NAME_ONLY]


def _drivers(name: str) -> list[Driver]:
    try:
        return _found(name)
    except BackendUnavailableError:
        return []


def _preference(driver: Driver) -> tuple[int, int, int]:
    kinds = {"gpu": 0, "accelerator": 1, "cpu": 3}  # and whatever else a third party's devices are, before CPUs
    return (driver.backend != "cuda", kinds.get(driver.capabilities.kind, 2), driver.index)


def absences() -> list[BackendUnavailableError]:
    """Return, for each backend that cannot be used here, the reason and the remedy."""
    found = []
    for name in _automatic():
        try:
            _found(name)
        except BackendUnavailableError as error:
            found.append(error)
    return found


def device_of(array: Any) -> Device | None:
    """Return the device that a vendor's array lies on; None for host arrays and for arrays of other libraries."""
    backend = REGISTRY.backend_of(type(array))
    driver = None if backend is None else backend.driver_of(array)
    return None if driver is None else Device._of(driver)


class _Default:
    """The device of host arrays when a call names none."""

    def __init__(self) -> None:
        self._chosen = Chosen()
        self._found: Device | None = None
        self._lock = threading.RLock()

    @property
    def chosen(self) -> Device | None:
        """The choice of :class:`use_device` for the current context, or for the process."""
        chosen: Device | None = self._chosen.device
        return chosen

    @property
    def found(self) -> Device:
        """The best device that computes, found once."""
        if self._found is None:
            with self._lock:
                if self._found is None:
                    self._found = _first_working()
        return self._found

    def after_fork(self) -> None:
        """Take new locks: another thread of the parent may have held the old ones."""
        self._lock = threading.RLock()
        self._chosen.after_fork()


_DEFAULT = _Default()
after_fork(Device._after_fork)
atexit.register(Device._at_exit)


class use_device:  # noqa: N801 - called like a function, as CuPy's and torch's are
    """Make a device the one that calls use when neither their arrays nor ``device=`` say otherwise.

    Parameters
    ----------
    spec : str, Device or None
        None returns to the automatic choice.

    Notes
    -----
    In a ``with`` statement the choice holds inside the block, for the thread or asyncio task that runs it and for tasks
    created there. Threads started in the block do not see it: run them by :func:`contextvars.copy_context`, or pass
    ``device=``. Blocks may overlap; each block's choice ends with the block.

    Outside blocks, ``use_device(x)`` chooses for the process at once. Inside a block it chooses for the rest of that
    block.

    Python runs ``use_device(x)`` before it enters ``with``. Another thread that needs the process's choice between
    these two steps waits. If the object is kept (``choice = use_device(x)``), that thread waits until the first thread
    makes a call, a second at most.

    Examples
    --------
    >>> import gpuprims
    >>> with gpuprims.use_device("reference"):
    ...     int(gpuprims.reduce([1, 2, 3]))
    6
    """

    _choice: Choice | None = None  # if the spec is invalid

    def __init__(self, spec: str | Device | None) -> None:
        self._device = None if spec is None else Device(spec)
        self._chosen = _DEFAULT._chosen
        self._choice = self._chosen.choose(self, self._device)

    def __enter__(self) -> Device | None:
        self._chosen.enter(self, self._choice, self._device)
        return self._device

    def __exit__(self, *exception: object) -> None:
        self._chosen.leave(self)

    def __del__(self) -> None:
        if self._choice is not None:
            self._choice.open = False  # no block follows


def pick_device(on: Device | None, asked: str | Device | None) -> Device:
    """Return the device of a call.

    Parameters
    ----------
    on : Device or None
        Where the call's arrays already lie.
    asked : str, Device or None
        The caller's ``device=``.

    Raises
    ------
    DeviceMismatchError
        When the two differ: an array is never moved to another device unasked.
    NoDeviceError
        When nothing is asked for and nothing is found.
    """
    if asked is not None:
        device = Device(asked)
        if on is not None and on is not device:
            raise DeviceMismatchError(f"device: the one the arrays lie on, {on!r}; got device={device!r}")
        return device
    if on is not None:
        return on
    if (chosen := _DEFAULT.chosen) is not None:
        return chosen
    if spec := os.environ.get(_ENVIRONMENT):
        return Device(spec)
    return _DEFAULT.found


def _first_working() -> Device:
    """Return the best device that computes; one that does not is warned of, not passed over in silence."""
    failures = [f"{error.backend}: {error.reason}; {error.remedy}" for error in absences()]
    for device in devices():
        if (problem := device.check()) is None:
            return device
        failures.append(f"{device.spec} {device.capabilities.name}: {problem}; {remedy(device)}")
        warnings.warn(f"gpuprims passes over {failures[-1]}", RuntimeWarning, stacklevel=4)
    raise NoDeviceError("device: a CUDA GPU, an OpenCL GPU or an OpenCL CPU; got\n  " + "\n  ".join(failures))


def remedy(device: Device) -> str:
    """Return the one command that mends a device that is listed but does not compute."""
    if "portable computing" in device.capabilities.vendor.lower():
        return "to mend it: pip uninstall -y pocl-binary-distribution && pip install 'gpuprims[cpu]'"
    return "to mend it: update its driver"
