"""Compiling by NVRTC, with binaries kept on disk.

CuPy's own cache is not used: CuPy compiles with ``-ftz=true``, which flushes subnormal floats to zero, unlike NumPy.
"""

from __future__ import annotations

import cupy
from cupy_backends.cuda.libs import nvrtc

from gpuprims.core import compile_cache

_OPTIONS = ("--std=c++17",)


def compiled(text: str, device: cupy.cuda.Device) -> cupy.cuda.Module:
    """Return the module of a kernel's text, from the cache on disk if it is there."""
    compiler = f"NVRTC {nvrtc.getVersion()}, CuPy {cupy.__version__}"
    key = compile_cache.key_of("cuda", compiler, device.compute_capability, *_OPTIONS, text)

    def load(binary: bytes) -> cupy.cuda.Module:
        module = cupy.cuda.Module()
        module.load(binary)
        return module

    def build() -> tuple[cupy.cuda.Module, bytes]:
        binary, _ = cupy.cuda.compiler.compile_using_nvrtc(text, _OPTIONS, cache_in_memory=True)
        return load(binary), binary

    return compile_cache.cached(key, load, build, cupy.cuda.driver.CUDADriverError)
