"""CUB, NVIDIA's C++ library, through ``cub.cu``: nvcc builds it, and it runs on CuPy's memory and stream."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .cases import WORKS
from .ordered_peers import cub_ways

_SOURCE = Path(__file__).with_name("cub.cu")
# The works with a function of the same name in cub.cu.
_NAMED = (
    "reduce sum", "reduce max", "scan sum", "scan sum, exclusive", "scan max", "scan sum of float64",
    "scan sum of int32", "compact by a mask", "compact by a function", "bincount uint8",
)  # fmt: skip


def load() -> dict[str, Callable[..., Any]]:
    """Build and load the library.

    Raises
    ------
    ImportError
        nvcc is missing or fails.
    """
    library = ctypes.CDLL(str(_built()))
    histograms = [work for work in WORKS if work.primitive == "histogram" and isinstance(work.bins, int)]
    kinds = {"float32": "histogram", "uint8": "bincount_uint8"}
    ways = {name: _way(library[name.replace(",", "").replace(" ", "_")], name) for name in _NAMED}
    if hasattr(library, "reduce_sum_device"):  # by determinism::gpu_to_gpu; CUB's other sums are run_to_run
        ways["reduce sum, device"] = _way(library.reduce_sum_device, "reduce sum")
    ways |= {work.name: _way(library[kinds[work.inputs.dtype]], work.name, work.bins) for work in histograms}
    return ways | cub_ways(library, _start)


def _built() -> Path:
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if nvcc is None:
        raise ImportError("nvcc is missing")
    library = Path(tempfile.mkdtemp(prefix="gpuprims-bench-"), "libcub.so")
    flags = ["-std=c++17", "-O3", "-arch=native", "-shared", "-Xcompiler", "-fPIC"]
    compile_it = [nvcc, *flags, *_newer_headers(), str(_SOURCE), "-o", str(library)]
    built = subprocess.run(compile_it, capture_output=True, text=True)  # noqa: S603 - the nvcc that was found
    if built.returncode:
        raise ImportError(f"nvcc fails: {built.stderr.strip()[-400:]}")
    return library


def _newer_headers() -> list[str]:
    """Return the option for the headers of the wheel cuda-cccl, which are newer than the toolkit's; none without it."""
    if find_spec("cuda") is None or (found := find_spec("cuda.cccl")) is None:
        return []
    places = [Path(place, "headers", "include") for place in found.submodule_search_locations or ()]
    return [f"-I{place}" for place in places if (place / "cub").is_dir()]


def _way(function: Any, name: str, bins: int = 256) -> Callable[..., Any]:
    """Return a call of CUB on CuPy arrays. Scratch memory and results come from CuPy's pool."""
    import cupy

    counts, kept = name.startswith(("histogram", "bincount")), name.startswith("compact")

    def run(x: Any, mask: Any = None) -> Any:
        size = bins if counts else 1 if name.startswith("reduce") else x.size
        y = cupy.empty(size, "int32" if counts else x.dtype)
        count = cupy.empty(1, "int64") if kept else None
        _start(function, x, y, bins, mask, count)
        return y[: int(count[0])] if count is not None else y

    return run


def _start(function: Any, x: Any, y: Any, bins: int = 0, mask: Any = None, count: Any = None) -> None:
    """Run a function with the scratch memory that it asks for."""
    import cupy

    arguments = [*map(_pointer, (x, y)), ctypes.c_int64(x.size), ctypes.c_int64(bins), *map(_pointer, (mask, count))]
    nbytes, stream = ctypes.c_size_t(), ctypes.c_void_p(cupy.cuda.get_current_stream().ptr)
    _succeed(function(None, ctypes.byref(nbytes), *arguments, stream))
    scratch = cupy.empty(max(nbytes.value, 1), "uint8")
    _succeed(function(_pointer(scratch), ctypes.byref(nbytes), *arguments, stream))


def _pointer(array: Any) -> ctypes.c_void_p:
    """Return where an array begins, or null."""
    return ctypes.c_void_p(None if array is None else array.data.ptr)


def _succeed(error: int) -> None:
    if error:
        raise RuntimeError(f"CUB: no error of CUDA's; got {error}")
