"""Compiling by NVRTC, with binaries kept on disk.

CuPy's own cache cannot be used: CuPy compiles all that goes through it with ``-ftz=true``, which takes the least floats
for zero, and NumPy does not.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from pathlib import Path
from tempfile import NamedTemporaryFile

import cupy
from cupy_backends.cuda.libs import nvrtc
from platformdirs import user_cache_path

_OPTIONS = ("--std=c++17",)


def compiled(text: str, device: cupy.cuda.Device) -> cupy.cuda.Module:
    """Return the module of a kernel's text, from the cache on disk if it has been compiled before."""
    key = "\n".join([repr(nvrtc.getVersion()), device.compute_capability, *_OPTIONS, text])
    kept = user_cache_path("gpuprims") / "cuda" / f"{hashlib.sha256(key.encode()).hexdigest()}.cubin"
    module = cupy.cuda.Module()
    if kept.is_file():
        module.load(kept.read_bytes())
        return module
    binary, _ = cupy.cuda.compiler.compile_using_nvrtc(text, _OPTIONS, cache_in_memory=True)
    module.load(binary)
    _keep(binary, kept)
    return module


def _keep(binary: bytes, path: Path) -> None:
    """Write a file that others see whole or not at all; where it cannot be, the next process compiles again."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(binary)
        os.replace(file.name, path)
    except OSError as error:
        warnings.warn(f"{path}: a place for compiled kernels; got {error}", stacklevel=2)
