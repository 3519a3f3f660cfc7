"""Errors where OpenCL cannot be used, and the search for drivers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from children import child_environment

import gpuprims
from gpuprims.backends.opencl import BACKEND
from gpuprims.backends.opencl.runtimes import embedded_library

SEARCH = """
import gpuprims
from gpuprims.errors import BackendUnavailableError, NoDeviceError

try:
    gpuprims.Device("opencl")
except BackendUnavailableError as error:
    print("opencl:", error.reason, "|", error.remedy)
assert gpuprims.devices() == []
try:
    gpuprims.reduce([1, 2, 3])
except NoDeviceError as error:
    print("none:", " ".join(str(error).split()))
print("reference:", gpuprims.reduce([1, 2, 3], device="reference"))
"""


def search(program: str, **environment: str) -> dict[str, str]:
    """Return the lines that a fresh process without GPUs prints, by their keys."""
    around = child_environment(**{"GPUPRIMS_DEVICE": None, "CUDA_VISIBLE_DEVICES": ""} | environment)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=around, check=False)
    assert done.returncode == 0, done.stderr
    return dict(line.split(": ", 1) for line in done.stdout.splitlines())


def test_without_any_opencl_driver_the_error_says_what_to_do(tmp_path: Path) -> None:
    said = search(SEARCH, OCL_ICD_VENDORS=str(tmp_path))
    assert f"OCL_ICD_VENDORS={tmp_path} offers no OpenCL driver" in said["opencl"]
    assert said["opencl"].endswith("| unset OCL_ICD_VENDORS")
    assert "cuda: " in said["none"]
    assert f"opencl: OCL_ICD_VENDORS={tmp_path}" in said["none"]
    assert said["reference"] == "6"


def test_a_pyopencl_that_does_not_load_is_an_absent_backend() -> None:
    said = search("import sys\nsys.modules['pyopencl'] = None\n" + SEARCH)
    assert said["opencl"].startswith("pyopencl does not load")
    assert said["opencl"].endswith("| pip install --force-reinstall pyopencl")
    assert said["reference"] == "6"


def test_a_module_of_this_package_that_does_not_load_is_not_taken_for_pyopencl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gpuprims.backends.opencl.discovery", None)
    with pytest.raises(ModuleNotFoundError, match="discovery"):
        BACKEND.drivers()


# A process that cannot write a file.
NOWHERE = """
import tempfile

def full(*given, **how):
    raise OSError(28, "No space left on device")

tempfile.tempdir, tempfile.mkstemp = "/nowhere", full

from gpuprims.backends.opencl.runtimes import devices

print("found:", ", ".join(device.platform.name for device in devices()))
"""


@pytest.mark.parametrize("cache", ["off", "cache"])
def test_without_room_for_a_file_intels_runtime_is_found(tmp_path: Path, cache: str) -> None:
    if embedded_library() is None or "OCL_ICD_VENDORS" in os.environ:
        pytest.skip("needs Intel's CPU runtime as a wheel, and no other list of drivers")
    folder = cache if cache == "off" else str(tmp_path / cache)
    assert "Intel" in search(NOWHERE, GPUPRIMS_CACHE_DIR=folder)["found"]


VARIABLE = """
import ctypes, os
import gpuprims

get = ctypes.CDLL(None).getenv
get.restype = ctypes.c_char_p
before = os.environ.get("OCL_ICD_VENDORS"), get(b"OCL_ICD_VENDORS")
gpuprims.devices()
print("as it was:", (os.environ.get("OCL_ICD_VENDORS"), get(b"OCL_ICD_VENDORS")) == before)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="asks the C library of other systems")
def test_looking_for_drivers_leaves_the_environment_as_it_was() -> None:
    gpuprims.devices()
    assert "/drivers/" not in os.environ.get("OCL_ICD_VENDORS", "")  # the next process would inherit it
    assert search(VARIABLE) == {"as it was": "True"}
