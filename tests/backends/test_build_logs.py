"""Compilers print no warnings for the kernels."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pyopencl as cl
import pytest
from kernel_calls import CompilingDriver, calls
from kernel_cases import ASKED

import gpuprims
from gpuprims.backends.opencl import compiling
from gpuprims.backends.opencl.discovery import drivers
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant import Variant
from gpuprims.errors import ArgumentError, BackendUnavailableError, NoVariantError

VARIANTS = [variant for name in REGISTRY.primitive_names for variant in REGISTRY.variants(name, "opencl")]
POCL = "Portable Computing Language"


def present() -> list[Any]:
    """Return an OpenCL driver of each platform of this machine."""
    try:
        return list({driver.queue.device.platform: driver for driver in drivers()}.values())
    except BackendUnavailableError:
        return []


@pytest.fixture(params=present(), ids=lambda driver: driver.queue.device.platform.name)
def runtime(request: pytest.FixtureRequest) -> Any:
    if ASKED and f"opencl:{request.param.capabilities.kind}" not in ASKED:
        pytest.skip("GPUPRIMS_TEST_DEVICES asks for others")
    return request.param


def said_of(text: str, runtime: Any) -> list[str]:
    """Return a runtime's warnings; Intel's log also lists its steps and vectorised loops.

    How a processor passes vectors between functions ("changes the ABI") concerns libraries that others compile.
    """
    queue = runtime.queue
    # PoCL's optimiser warns too; Intel's does not, and takes ten times as long as its parser.
    options = "-cl-std=CL1.2" if queue.device.platform.name == POCL else "-cl-std=CL1.2 -cl-opt-disable"
    program = compiling._built(compiling._Program(queue.context, text), queue.device, options)
    log = program.get_build_info(queue.device, cl.program_build_info.LOG)
    found = [line for line in log.splitlines() if re.search(r"\b(warning|error)\b", line, re.IGNORECASE)]
    return [line for line in found if not line.endswith("changes the ABI")]


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.entry)
def test_compilers_say_nothing(variant: Variant, runtime: Any, pytestconfig: pytest.Config) -> None:
    able = dataclasses.replace(runtime.capabilities, tries_progress=lambda: True)
    device = CompilingDriver("opencl", able)
    every = list(calls(variant).values())
    for call in every if pytestconfig.getoption("whole") else every[:1]:
        try:
            call(device=gpuprims.Device._of(device), variant=variant.name)
        except (NoVariantError, ArgumentError):  # this runtime or this kernel does not take the call
            continue
    texts = {text for _, text in device.texts}
    if not texts:
        pytest.skip(f"{variant.entry} is for other devices than {runtime.capabilities.name}")
    for text in texts:
        assert said_of(text, runtime) == []


def test_a_warning_is_seen(runtime: Any) -> None:
    careless = "kernel void careless(global int *x, int n) { for (int k = 0; k < n && 4 > 1; k++) x[k] = k; }"
    if runtime.queue.device.platform.name == POCL:
        assert "constant operand" in said_of(careless, runtime)[0]
    careless = "kernel void careless(global int *x) { float *y = x; *y = 1; }"
    with pytest.raises(cl.Error, match=r"careless|incompatible|address space"):
        said_of(careless, runtime)
