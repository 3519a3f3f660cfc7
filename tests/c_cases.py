"""What tests of C modules share: the compiled functions, and their use by calls on arrays of the host."""

from __future__ import annotations

import shlex
import threading
from typing import Any

import pytest

import gpuprims
from gpuprims.core import c_modules
from gpuprims.core.c_modules import CModule

PLAIN = "-DNO_AVX2"  # see c_modules.h


def functions_of(module: CModule, *options: str) -> Any:
    """Return the functions of a module, compiled with more options; skip the test where it does not run."""
    if c_modules.why_not() is not None:
        pytest.skip(str(c_modules.why_not()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CC", shlex.join([*c_modules.compiler(), *options]))
        binary = c_modules.compiled(module.source)
    try:
        return c_modules.loaded(module.source.stem, binary)
    except ImportError as error:  # a processor without AVX2
        pytest.skip(str(error))


def compile_nothing(patch: pytest.MonkeyPatch) -> None:
    """Wait for compilers that calls have started, and start none: a new module makes the library forget calls."""
    patch.setattr(CModule, "ask", lambda module: None)
    for thread in threading.enumerate():
        if thread.name == c_modules.COMPILING:
            thread.join()


def use(patch: pytest.MonkeyPatch, module: CModule, functions: Any) -> None:
    """Let calls run by these functions; None for those in Python. No compiler brings others during the test."""
    compile_nothing(patch)
    patch.setattr(module, "calls", functions)


def need_host_memory(device: gpuprims.Device) -> None:
    """Skip the test on devices whose calls modules in C do not run."""
    if getattr(device.driver, "wakes_threads", None) is None or not device.driver.shares_host_memory:
        pytest.skip("kernels work in the host's memory on CPUs, by OpenCL")
