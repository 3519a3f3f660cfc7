"""Which OpenCL device comes first, and the numbers of the others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from children import child_environment

import gpuprims

pytest.importorskip("pyopencl", reason="pyopencl is not installed")

from gpuprims.backends.opencl.discovery import place
from gpuprims.backends.opencl.runtimes import embedded_library

INTEL, POCL, OTHER = "Intel(R) OpenCL", "Portable Computing Language", "AMD Accelerated Parallel Processing"


def test_gpus_come_first_then_cpus_by_the_speed_of_their_runtime() -> None:
    devices = [
        ("cpu", POCL), ("cpu", OTHER), ("accelerator", INTEL), ("gpu", "NVIDIA CUDA"), ("cpu", INTEL), ("gpu", INTEL),
        ("gpu", POCL),
    ]  # fmt: skip
    assert sorted(devices, key=lambda device: place(*device)) == [
        ("gpu", INTEL), ("gpu", "NVIDIA CUDA"), ("gpu", POCL), ("accelerator", INTEL), ("cpu", INTEL), ("cpu", OTHER),
        ("cpu", POCL),
    ]  # fmt: skip


def test_numbers_are_in_the_order_in_which_devices_are_listed() -> None:
    numbers = [device.driver.index for device in gpuprims.devices() if device.backend == "opencl"]
    assert numbers == list(range(len(numbers)))


LIST = """
import gpuprims
print([device.capabilities.vendor for device in gpuprims.devices() if device.capabilities.kind == "cpu"])
if gpuprims.devices()[0].capabilities.kind == "cpu":
    chosen = [gpuprims.Device(spec) for spec in (None, "opencl", "opencl:cpu", "opencl:0", "opencl:intel")]
    assert len(set(chosen)) == 1, chosen
    assert gpuprims.Device("opencl:portable").spec == "opencl:1"
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="is about files of Linux's loader")
@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")], ids=["Intel's first", "PoCL first"])
def test_of_two_runtimes_the_faster_one_is_the_default(tmp_path: Path, names: tuple[str, str]) -> None:
    library = embedded_library()
    pocl = next((path for path in Path("/usr/lib").glob("*/libpocl.so.2*")), None)
    if library is None or pocl is None:
        pytest.skip("needs Intel's runtime and PoCL")
    for name, runtime in zip(names, (library, pocl), strict=True):
        (tmp_path / f"{name}.icd").write_text(f"{runtime}\n")
    around = child_environment(OCL_ICD_VENDORS=str(tmp_path), CUDA_VISIBLE_DEVICES="", GPUPRIMS_DEVICE=None)
    done = subprocess.run([sys.executable, "-c", LIST], capture_output=True, text=True, env=around, check=False)
    assert (done.returncode, done.stdout) == (0, f"{[INTEL, POCL]}\n"), done.stderr
