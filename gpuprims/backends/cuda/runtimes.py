"""The reason why CUDA cannot be used, and the command that solves the problem."""

from __future__ import annotations

import ctypes
import sys
import warnings
from typing import Any

from gpuprims.errors import BackendUnavailableError

_DRIVER_LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"


def require_cuda() -> None:
    """Raise BackendUnavailableError unless CuPy loads, fits the driver's CUDA, and finds a GPU."""
    supported = driver_version()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the errors below say it
            import cupy
    except ImportError as error:
        raise BackendUnavailableError("cuda", _why_no_cupy(error, supported), _install(supported)) from error
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise BackendUnavailableError("cuda", *_why_no_device(cupy, supported, error)) from error
    if count == 0:
        raise BackendUnavailableError("cuda", "the driver lists no GPU", "nvidia-smi, which says what the driver sees")


def driver_version() -> tuple[int, int] | None:
    """Return the newest CUDA that NVIDIA's driver supports, such as (13, 0); None without a driver."""
    try:
        library = ctypes.CDLL(_DRIVER_LIBRARY)
    except OSError:
        return None
    version = ctypes.c_int(0)
    failed = library.cuDriverGetVersion(ctypes.byref(version))
    return None if failed else (version.value // 1000, version.value % 1000 // 10)


def _install(supported: tuple[int, int] | None) -> str:
    """Return the command that installs the CuPy for a driver."""
    if supported is None:
        return "on a machine with an NVIDIA GPU, install its driver, then pip install 'gpuprims[cuda13]'"
    return f"pip install 'gpuprims[{'cuda12' if supported[0] <= 12 else 'cuda13'}]'"


def _why_no_cupy(error: ImportError, supported: tuple[int, int] | None) -> str:
    missing = isinstance(error, ModuleNotFoundError) and error.name == "cupy"
    what = "CuPy is not installed" if missing else f"CuPy does not load ({' '.join(str(error).split())[:120]})"
    if supported is None:
        return f"{what}, and there is no NVIDIA driver"
    return f"{what}; the driver supports CUDA {supported[0]}.{supported[1]}"


def _why_no_device(cupy: Any, supported: tuple[int, int] | None, error: Exception) -> tuple[str, str]:
    if supported is None:
        remedy = "install NVIDIA's driver; nvidia-smi then lists the GPU"
        return "CuPy is installed, but there is no NVIDIA driver", remedy
    runtime = cupy.cuda.runtime.runtimeGetVersion()
    built = runtime // 1000, runtime % 1000 // 10
    if built[0] > supported[0]:
        reason = f"CuPy is built for CUDA {built[0]}.{built[1]}, the driver supports {supported[0]}.{supported[1]}"
        return reason, f"pip uninstall -y cupy-cuda{built[0]}x && {_install(supported)}"
    return f"CUDA does not start ({error})", "nvidia-smi, which says what is wrong with the driver"
