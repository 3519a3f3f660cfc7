"""Compiling OpenCL programs, with binaries kept on disk.

pyopencl's own caches are not used. Its cache of programs unpickles files, and fails in every process once a killed one
has left its lock behind. Its cache of Python functions that call kernels (``pyopencl.invoker``) also unpickles, and
fails for users without a home folder.
"""

from __future__ import annotations

import os
import platform
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import pyopencl as cl

from gpuprims.backends.opencl.pocl import restore_folder
from gpuprims.core import compile_cache

# One compilation at a time, because a runtime's compiler uses all cores or is not thread-safe.
_COMPILING = Lock()
# 32-bit registers of a multiprocessor in NVIDIA's GPUs since 2014.
_REGISTERS = 65536
# Prefixes of environment variables that change what runtimes compile: Intel's, PoCL's, Oclgrind's.
_SWITCHES = ("CL_CONFIG_", "POCL_CPU_", "POCL_VECTOR", "POCL_WORK_GROUP_METHOD", "OCLGRIND_")

# The class that cl.Program wraps; it has no cache, and does not warn about compiler messages.
_Program: Any = cl._cl._Program  # exported under no other name


def compiled(queue: cl.CommandQueue, text: str, resident: int = 0) -> cl.Program:
    """Compile a text for a queue's device, or load its binary; raise a pyopencl.Error with the compiler's log.

    A compute unit must have room for ``resident`` work-items. ``PYOPENCL_BUILD_OPTIONS`` adds options, as it does in
    pyopencl.
    """
    context, device, options = queue.context, queue.device, ["-cl-std=CL1.2"]
    if device.single_fp_config & cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT:
        options.append("-cl-fp32-correctly-rounded-divide-sqrt")  # as NumPy rounds quotients and roots
    if resident and "NVIDIA" in device.platform.name:
        options.append(f"-cl-nv-maxrregcount={_REGISTERS // resident // 8 * 8}")
    asked = " ".join([*options, os.environ.get("PYOPENCL_BUILD_OPTIONS", "")]).strip()
    key = compile_cache.key_of("opencl", *_facts(device), asked, text)

    def load(binary: bytes) -> Any:
        return _built(_Program(context, [device], [binary]), device, asked)

    def build() -> tuple[Any, bytes]:
        program = _built(_Program(context, text), device, asked)
        return program, _binary(program, device)

    with _COMPILING:
        restore_folder()
        return cl.Program(compile_cache.cached(key, load, build, cl.Error))


def _built(program: Any, device: cl.Device, options: str) -> Any:
    """Build a program and return it; raise an error with the compiler's log."""
    try:
        program._build(options=options.encode(), devices=[device])
    except cl.Error as error:
        log = program.get_build_info(device, cl.program_build_info.LOG)
        message = f"{error}\n{log}\n(options: {options})"
        raise cl.RuntimeError(cl._cl._ErrorRecord(msg=message, code=error.code, routine=error.routine)) from error
    return program


def _binary(program: Any, device: cl.Device) -> bytes:
    """Return a program's binary for a device; empty if the driver provides none."""
    devices, binaries = program.get_info(cl.program_info.DEVICES), program.get_info(cl.program_info.BINARIES)
    return bytes(dict(zip(devices, binaries, strict=True))[device])


def _facts(device: cl.Device) -> list[str]:
    """Return what a binary depends on besides text and options."""
    names = [device.platform.name, device.platform.version, device.vendor, device.name, device.version]
    switches = sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith(_SWITCHES))
    host = _host_processor() if device.type & cl.device_type.CPU else ""
    return [*names, device.driver_version, str(device.address_bits), "\n".join(switches), host]


@cache
def _host_processor() -> str:
    """Describe this machine's processor, because a CPU runtime's binaries may not run on others."""
    info = Path("/proc/cpuinfo")
    if not info.exists():
        return f"{platform.machine()} {platform.processor()}"
    wanted = ("vendor_id", "cpu family", "model", "stepping", "flags", "Features", "CPU ")  # x86, then Arm
    return "\n".join(sorted({line for line in info.read_text().splitlines() if line.startswith(wanted)}))


class _Invokers(dict[Any, Any]):
    """Keeps pyopencl's functions that call kernels in memory, so that ``cl.Kernel`` reads and writes no file."""

    store_if_not_present = dict.setdefault


_before, cl._PYOPENCL_NO_CACHE = cl._PYOPENCL_NO_CACHE, True  # so that the import opens no file
try:
    import pyopencl.invoker as _invoker
finally:
    cl._PYOPENCL_NO_CACHE = _before
_invoker.invoker_cache = _Invokers()  # type: ignore[assignment]  # has the methods that pyopencl calls
