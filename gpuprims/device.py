"""Device: a place to compute, whatever the vendor; which ones there are, and which one a call uses."""

from __future__ import annotations

import os
import threading
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuprims.calls import Call
from gpuprims.choices import Explanation
from gpuprims.definitions import Definitions
from gpuprims.driver import Capabilities, Driver, Kernel
from gpuprims.errors import (
    BackendUnavailableError,
    DeviceMismatchError,
    NoDeviceError,
    UnknownDeviceError,
    quoted,
)
from gpuprims.expressions import expression, typed
from gpuprims.layout import plan_layout
from gpuprims.masks import plain_array
from gpuprims.registry import REGISTRY, Variant
from gpuprims.tuning import tuned_on

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
    _kernels: dict[tuple[Variant, Definitions], Kernel]

    def __new__(cls, spec: str | Device | None = None) -> Device:
        """Return the one Device of a driver, so that its kernels are compiled once."""
        if spec is None:
            return pick_device(None, None)
        return spec if isinstance(spec, Device) else cls._of(_find_driver(spec))

    @classmethod
    def _of(cls, driver: Driver) -> Device:
        device = cls._known.get(id(driver))
        if device is not None:
            return device
        with cls._lock:
            if id(driver) not in cls._known:
                device = super().__new__(cls)
                device.driver = driver
                device._kernels = {}
                cls._known[id(driver)] = device
            return cls._known[id(driver)]

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

    def explain(self, primitive: str, call: Call) -> Explanation:
        """Return every variant's answer to a call, and what was tuned for it."""
        return REGISTRY.explain(primitive, *self._described, call, tuned_on(self.backend, self.capabilities))

    def ranked(self, primitive: str, call: Call) -> Explanation:
        """Return every variant's answer to a call, whatever was tuned."""
        return REGISTRY.explain(primitive, *self._described, call)

    def select(self, primitive: str, call: Call, name: str | Variant | None = None) -> Variant:
        """Return the variant that runs a call; see :meth:`gpuprims.registry.Registry.select`."""
        tuned = tuned_on(self.backend, self.capabilities) if name is None else None
        return REGISTRY.select(primitive, *self._described, call, name, tuned)

    @property
    def _described(self) -> tuple[str, str, Capabilities]:
        return self.backend, repr(self), self.capabilities

    def __reduce__(self) -> tuple[type[Device], tuple[str]]:
        """Pickle, and copy, by name: there is one of each device."""
        return Device, (self.spec,)

    def kernel(self, variant: Variant, definitions: Definitions) -> Kernel:
        """Return a compiled kernel, building it the first time."""
        key = (variant, definitions)
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self._kernels.setdefault(key, self.driver.build(variant, definitions))  # the first of two threads'
        return kernel

    def asarray(self, array: np.ndarray) -> Any:
        """Copy a host array into an array of the device's own library, CuPy's or pyopencl's.

        Work on such arrays stays on the device: results are of the same kind, and nothing waits.
        """
        return self.driver.asarray(plain_array("asarray", array))

    def to_host(self, array: Any) -> np.ndarray:
        """Return a device array's contents as a NumPy array, when the work that fills it is done."""
        return self.driver.download(array)

    def synchronize(self) -> None:
        """Wait for everything started on the device."""
        self.driver.synchronize()

    def check(self) -> str | None:
        """Run a small kernel, and return what is wrong with the device, or None when it computes.

        A driver can list a device and still fail every build on it, so nothing less than a result shows that it works.
        """
        try:
            computed = _trial(self)
        except Exception as error:  # an installed package's driver raises what it likes
            return f"fails a trial kernel: {_in_a_line(error)}"
        wrong = not np.array_equal(computed, np.array([2, 3, 4], np.float32))
        return f"computes {computed} for [1, 2, 3] + 1" if wrong else None


def _trial(device: Device) -> np.ndarray:
    """Compute [1, 2, 3] + 1 the way every map does."""
    float32 = np.dtype(np.float32)
    driver = device.driver
    source, result = driver.asarray(np.array([1, 2, 3], np.float32)), driver.empty((3,), float32)
    layout = plan_layout([driver.form(source), driver.form(result)], (3,), (0,))
    function = typed(expression("x + 1"), (float32,))
    finish = typed(expression(lambda value, count: value), (float32, np.dtype(np.int64)))
    definitions = Definitions(layout.accesses[:1], layout.accesses[1:], (float32,), function, finish)
    variant = REGISTRY.select("map", *device._described, Call((float32,), 3))  # whatever was tuned
    device.kernel(variant, definitions).prepare(1, layout.pack(3), 3)([source, result])
    return np.array(driver.download(result))


def _in_a_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 400 else text[:397] + "..."


def _find_driver(spec: str) -> Driver:
    if not isinstance(spec, str):
        raise UnknownDeviceError(f"device: a Device or a spec such as 'cuda:0' or 'opencl:cpu'; got {quoted(spec)}")
    name, _, selector = spec.partition(":")
    drivers = REGISTRY.backend(name.lower()).drivers()
    for driver in drivers:
        if _matches(driver, selector.lower()):
            return driver
    there = ", ".join(f"{d.backend}:{d.index} ({d.capabilities.kind}, {d.capabilities.name})" for d in drivers)
    raise UnknownDeviceError(f"device: one of {there or 'none on this machine'}; got {quoted(spec)}")


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
        return list(REGISTRY.backend(name).drivers())
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
            REGISTRY.backend(name).drivers()
        except BackendUnavailableError as error:
            found.append(error)
    return found


def device_of(array: Any) -> Device | None:
    """Return the device that a vendor's array lies on; None for host arrays and for arrays of other libraries."""
    backend = REGISTRY.backend_of(type(array))
    driver = None if backend is None else backend.driver_of(array)
    return None if driver is None else Device._of(driver)


@dataclass
class _Default:
    """The device of host arrays when a call names none."""

    chosen: Device | None = None
    found: Device | None = None


_DEFAULT = _Default()


class use_device:  # noqa: N801 - called like a function, as CuPy's and torch's are
    """Make a device the one that calls use when neither their arrays nor ``device=`` say otherwise.

    Parameters
    ----------
    spec : str, Device or None
        None returns to the automatic choice.

    Notes
    -----
    It takes effect at once, for the whole process; in a ``with`` statement the earlier choice comes back at the end.

    Examples
    --------
    >>> import gpuprims
    >>> with gpuprims.use_device("reference"):
    ...     int(gpuprims.reduce([1, 2, 3]))
    6
    """

    def __init__(self, spec: str | Device | None) -> None:
        self._before = _DEFAULT.chosen
        _DEFAULT.chosen = None if spec is None else Device(spec)

    def __enter__(self) -> Device | None:
        return _DEFAULT.chosen

    def __exit__(self, *exception: object) -> None:
        _DEFAULT.chosen = self._before


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
    if _DEFAULT.chosen is not None:
        return _DEFAULT.chosen
    if spec := os.environ.get(_ENVIRONMENT):
        return Device(spec)
    if _DEFAULT.found is None:
        _DEFAULT.found = _first_working()
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
