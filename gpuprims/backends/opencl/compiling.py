"""Compiling OpenCL programs, with binaries kept on disk.

pyopencl's own caches are kept out of it: the one of programs unpickles what it finds in the user's folder, waits a
minute for a lock that a killed process left and then fails in every process; the one of Python functions that call
kernels (``pyopencl.invoker``) unpickles too, and fails where there is no home.
"""

from __future__ import annotations

import os
import platform
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import pyopencl as cl

from gpuprims import compile_cache

# One at a time: a runtime's compiler takes all cores, or is not made for threads.
_COMPILING = Lock()
# Beginnings of names of environment variables by which runtimes compile otherwise: Intel's, PoCL's, Oclgrind's.
_SWITCHES = ("CL_CONFIG_", "POCL_CPU_", "POCL_VECTOR", "POCL_WORK_GROUP_METHOD", "OCLGRIND_")


def program_of(context: cl.Context, device: cl.Device, text: str, options: list[str]) -> cl.Program:
    """Return a device's program of a text, from the cache on disk if it has been compiled before.

    ``PYOPENCL_BUILD_OPTIONS`` adds options, as it does in pyopencl.

    Raises
    ------
    pyopencl.Error
        With the compiler's log.
    """
    asked = " ".join([*options, os.environ.get("PYOPENCL_BUILD_OPTIONS", "")]).strip()
    key = compile_cache.key_of("opencl", *_facts(device), asked, text)
    with _COMPILING:
        binary = compile_cache.fetch(key)
        if binary is not None:
            try:
                return cl.Program(_built(_Program(context, [device], [binary]), device, asked))
            except cl.Error as error:
                compile_cache.discard(key, f"that the driver refuses ({error})")
        program = _built(_Program(context, text), device, asked)
        if binary := _binary(program, device):
            compile_cache.keep(key, binary)
    return cl.Program(program)


# The class that cl.Program wraps, which neither caches nor warns of what a compiler says.
_Program: Any = cl._cl._Program  # exported under no other name


def _built(program: Any, device: cl.Device, options: str) -> Any:
    try:
        program._build(options=options.encode(), devices=[device])
    except cl.Error as error:
        log = program.get_build_info(device, cl.program_build_info.LOG)
        told = cl._cl._ErrorRecord(  # as pyopencl makes its own
            msg=f"{error}\n{log}\n(options: {options})", code=error.code, routine=error.routine
        )
        raise cl.RuntimeError(told) from error
    return program


def _binary(program: Any, device: cl.Device) -> bytes:
    """Return a device's own binary of a program; empty where its driver gives none."""
    devices, binaries = program.get_info(cl.program_info.DEVICES), program.get_info(cl.program_info.BINARIES)
    return bytes(dict(zip(devices, binaries, strict=True))[device])


def _facts(device: cl.Device) -> list[str]:
    """Return what decides a binary, beside text and options."""
    names = [device.platform.name, device.platform.version, device.vendor, device.name, device.version]
    switches = sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith(_SWITCHES))
    host = _host_processor() if device.type & cl.device_type.CPU else ""
    return [*names, device.driver_version, str(device.address_bits), "\n".join(switches), host]


@cache
def _host_processor() -> str:
    """Return what tells this machine's processor from others, for which a CPU runtime's binaries may not be."""
    told = Path("/proc/cpuinfo")
    if not told.exists():
        return f"{platform.machine()} {platform.processor()}"
    wanted = ("vendor_id", "cpu family", "model", "stepping", "flags", "Features", "CPU ")  # those of x86, then of Arm
    return "\n".join(sorted({line for line in told.read_text().splitlines() if line.startswith(wanted)}))


class _Invokers(dict[Any, Any]):
    """Stands for pyopencl's cache of the functions that call kernels, and keeps them in memory."""

    def store_if_not_present(self, key: Any, value: Any) -> None:
        """Store, as pyopencl's cache does."""
        self.setdefault(key, value)


def _keep_invokers_in_memory() -> None:
    """Have pyopencl keep no functions on disk, for this process: every ``cl.Kernel`` would look there for its own."""
    before, cl._PYOPENCL_NO_CACHE = cl._PYOPENCL_NO_CACHE, True  # so that importing opens no file
    try:
        import pyopencl.invoker as invoker
    finally:
        cl._PYOPENCL_NO_CACHE = before
    invoker.invoker_cache = _Invokers()  # type: ignore[assignment]  # which has the two verbs that are used


_keep_invokers_in_memory()
