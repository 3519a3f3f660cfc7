"""Doubles of devices that nobody here owns: a real driver that offers less and refuses the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any
from unittest import mock

import numpy as np
import pytest
from kernel_cases import ASKED

import gpuprims
from gpuprims.backends import PRELUDES
from gpuprims.backends.opencl import BACKEND
from gpuprims.core.capabilities import Capabilities
from gpuprims.core.codegen import kernel_source
from gpuprims.core.driver import Launch
from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.core.program_cache import forget_calls
from gpuprims.core.variant import Variant

try:
    import pyopencl as cl

    from gpuprims.backends.opencl import device as opencl_device
    from gpuprims.backends.opencl.device import OpenCLDriver
except ImportError:  # without pyopencl there are no doubles
    OpenCLDriver = object  # type: ignore[assignment, misc]


@dataclass(frozen=True)
class DeviceClass:
    """A class of devices with the capabilities that decide which kernels run.

    Parameters
    ----------
    name : str
    about : str
        What its devices have and lack, for the docs.
    able : dict
        The fields of :class:`gpuprims.Capabilities` that all of the class have.
    """

    name: str
    about: str
    able: dict[str, Any] = field(hash=False)

    @property
    def fp64(self) -> bool:
        return bool(self.able["fp64"])

    @property
    def int64_atomics(self) -> bool:
        return bool(self.able["int64_atomics"])

    @property
    def progress(self) -> bool:
        return bool(self.able["progress"])

    @property
    def width(self) -> int:
        """Lanes that shuffles reach; 0 where there are none."""
        return int(self.able["subgroup_size"]) if self.able["shuffles"] else 0

    def of(self, real: Capabilities) -> Capabilities:
        """Return the capabilities of a device of this class that computes on a real one."""
        able = {name: value for name, value in self.able.items() if name != "progress"}
        able["asked_local_memory"] = able["local_memory"] - 64
        able["largest_allocation"] = able["memory"] // 4
        return replace(real, kind="gpu", name=self.name, vendor="Example", tries_progress=lambda: self.progress, **able)


def _able(**how: Any) -> dict[str, Any]:
    """Return the fields of a class; those not given are the least of any class."""
    least = {
        "group_limit": 256, "local_memory": 32 << 10, "memory": 8 << 30, "subgroup_size": 0, "subgroup_sizes": (),
        "shuffles": False, "fp64": False, "fp16": False, "int64_atomics": False, "progress": False,
    }  # fmt: skip
    return least | how


_AMD = {"local_memory": 64 << 10, "fp64": True, "fp16": True, "int64_atomics": True, "memory": 16 << 30}
_ARC = {"group_limit": 1024, "local_memory": 64 << 10, "fp16": True, "shuffles": True, "subgroup_sizes": (8, 16, 32)}
# The strictest first, because the others can run its kernels too.
CLASSES = (
    DeviceClass(
        "Apple GPU, OpenCL 1.2",
        "32 KiB of local memory, groups of 256; no float64, no 64-bit atomics, no shuffles, no forward progress",
        _able(),
    ),
    DeviceClass(
        "Mali GPU",
        "as Apple's, with float16 arithmetic and sub-groups of 16, which kernels cannot ask for",
        _able(fp16=True, subgroup_size=16),
    ),
    DeviceClass(
        "Intel Arc GPU",
        "sub-groups of 8, 16 or 32 with shuffles (kernels ask for 16); 64-bit atomics, 64 KiB of local memory,"
        " groups of 1024; no float64, no forward progress",
        _able(**_ARC, subgroup_size=16, int64_atomics=True),
    ),
    DeviceClass(
        "Intel GPU without 64-bit atomics",
        "as above, with sub-groups of 8 and without 64-bit atomics",
        _able(**_ARC | {"subgroup_sizes": (8,)}, subgroup_size=8),
    ),
    DeviceClass(
        "AMD GPU, wavefronts of 64",
        "float64, 64-bit atomics, 64 KiB of local memory, groups of 256; no shuffles by OpenCL, no forward progress",
        _able(**_AMD, subgroup_size=64),
    ),
    DeviceClass("AMD GPU, wavefronts of 32", "as above (RDNA)", _able(**_AMD, subgroup_size=32)),
    DeviceClass(
        "GPU of 2 GiB",
        "float64; arrays of 512 MiB at most, a quarter of its memory; else as Apple's",
        _able(memory=2 << 30, fp64=True),
    ),
    DeviceClass(
        "NVIDIA GPU, OpenCL",
        "warps of 32 with shuffles, float64, 64-bit atomics, 48 KiB of local memory, groups of 1024, forward progress",
        _able(
            group_limit=1024, local_memory=48 << 10, fp64=True, int64_atomics=True, subgroup_size=32, shuffles=True,
            subgroup_sizes=(32,), progress=True, memory=16 << 30,
        ),
    ),
)  # fmt: skip


def _absent(*names: str) -> list[str]:
    return [f"#define {name} this_device_has_no_{name}" for name in names]


def guard(able: Capabilities) -> str:
    """Return text for the top of a kernel that makes the real compiler refuse what a device lacks."""
    lines = []
    if not able.fp64:
        widths = ("", "2", "3", "4", "8", "16")
        doubles = [f"{word}double{width}" for word in ("", "as_", "convert_") for width in widths]
        lines += ["#undef cl_khr_fp64", *_absent(*doubles)]
    if not able.int64_atomics:
        names = ("add", "sub", "xchg", "inc", "dec", "cmpxchg", "min", "max", "and", "or", "xor")
        lines += ["#undef cl_khr_int64_base_atomics", "#undef cl_khr_int64_extended_atomics"]
        lines += _absent(*(f"atom_{name}" for name in names))
    if not able.shuffles:
        ways = ("", "_up", "_down", "_xor")
        lines += ["#undef cl_intel_subgroups", *_absent(*(f"intel_sub_group_shuffle{way}" for way in ways))]
        lines += _absent("sub_group_any", "sub_group_all", "sub_group_barrier", "get_sub_group_local_id")
    return "\n".join([*lines, ""])


# Kernels by queue and text, each with the guard above it.
_COMPILED: dict[tuple[int, str], list[tuple[frozenset[str], Any]]] = {}


def _without_unused_width(text: str) -> str:
    """Return a kernel's text without the width of its warps, if only the prelude asks for it."""
    used = len(re.findall(r"\bWARP\b", text.replace(PRELUDES["opencl"].read_text(), ""))) > 1
    return text if used else re.sub(r"#define WARP \d+\n", "", text)


@cache
def _queue(real: OpenCLDriver) -> cl.CommandQueue:
    """Return the one queue of all doubles of a driver, so that they share kernels."""
    return cl.CommandQueue(real.context)


class Double(OpenCLDriver):
    """A driver with the capabilities of another device, which compiles and runs on a real one.

    It refuses to compile what the device lacks, and to launch a kernel of a larger group, or of more local memory.
    """

    def __init__(self, real: OpenCLDriver, able: Capabilities) -> None:
        super().__init__(real.index, real.context, _queue(real))
        self.__dict__["capabilities"] = able
        self.texts: list[str] = []  # of the kernels that were asked for

    def build(self, variant: Variant, spec: KernelSpec) -> Any:
        """Compile below the guard, unless the text has compiled below a stricter guard."""
        text = kernel_source(spec, variant, PRELUDES["opencl"], self.capabilities.warp)
        self.texts.append(text)
        ours = frozenset(guard(self.capabilities).splitlines())
        known = _COMPILED.setdefault((self.queue.int_ptr, _without_unused_width(text)), [])
        kernel = next((kernel for lines, kernel in known if lines >= ours), None)
        if kernel is None:
            with mock.patch.object(opencl_device, "kernel_source", return_value=guard(self.capabilities) + text):
                kernel = super().build(variant, spec)
            known.append((ours, kernel))
        return _Checked(self, variant, kernel)


class _Checked:
    """A kernel that refuses launches beyond its device's limits."""

    def __init__(self, double: Double, variant: Variant, kernel: Any) -> None:
        self._double, self._variant, self._kernel = double, variant, kernel

    def prepare(self, groups: int, layout: np.ndarray, *numbers: int, local: int = 0) -> Launch:
        able, entry = self._double.capabilities, self._variant.entry
        kernel = cl.Kernel(self._kernel._program, entry)
        what, device = cl.kernel_work_group_info.LOCAL_MEM_SIZE, self._double.queue.device
        declared = kernel.get_work_group_info(what, device)
        assert self._variant.block <= able.group_limit, f"{entry} has groups of {self._variant.block} on {able.name}"
        assert declared + local <= able.local_memory, f"{entry} has {declared} + {local} bytes on {able.name}"
        launch: Launch = self._kernel.prepare(groups, layout, *numbers, local=local)
        return launch


def _simulates(able: Capabilities) -> bool:
    """Return True for a CPU or Oclgrind's device, from which doubles are made."""
    return able.kind == "cpu" or "oclgrind" in able.vendor.lower()


def runtimes() -> list[Any]:
    """Return the specs of the real devices of doubles: OpenCL's CPU runtimes that the run includes."""
    asked = {gpuprims.Device(spec) for spec in ASKED}
    every = [device for device in gpuprims.devices() if device.backend == "opencl" and _simulates(device.capabilities)]
    vendors = [device.capabilities.vendor for device in every if device in asked or not asked]
    found = [f"opencl:{vendor.split()[0].lower()}" for vendor in vendors]
    return found or [pytest.param("", marks=pytest.mark.skip(reason="doubles are made of an OpenCL runtime for CPUs"))]


def double_of(real: gpuprims.Device, able: Capabilities) -> gpuprims.Device:
    """Return a new device with other capabilities that computes on a real one."""
    assert isinstance(real.driver, OpenCLDriver)
    return gpuprims.Device._of(Double(real.driver, able))  # type: ignore[return-value]


@cache
def of_class(real: gpuprims.Device, kind: DeviceClass) -> gpuprims.Device:
    """Return the double of a class on a real device."""
    return double_of(real, kind.of(real.capabilities))


@contextmanager
def in_use(double: gpuprims.Device) -> Iterator[gpuprims.Device]:
    """Make pyopencl's arrays in the queue of doubles belong to one double; calls kept for another are forgotten."""
    whole, driver = BACKEND.driver_of, double.driver
    assert isinstance(driver, Double)

    def driver_of(array: Any) -> Any:
        queue = getattr(array, "queue", None)
        return whole(array) if queue is None or queue.int_ptr != driver.queue.int_ptr else driver

    forget_calls()
    with mock.patch.dict(BACKEND.__dict__, driver_of=driver_of):
        yield double
