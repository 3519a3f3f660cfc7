"""Compiling by NVRTC, with binaries kept on disk.

CuPy's own cache cannot be used: CuPy compiles all that goes through it with ``-ftz=true``, which takes the least floats
for zero, and NumPy does not.
"""

from __future__ import annotations

import cupy
from cupy_backends.cuda.libs import nvrtc

from gpuprims.core import compile_cache

_OPTIONS = ("--std=c++17",)


def compiled(text: str, device: cupy.cuda.Device) -> cupy.cuda.Module:
    """Return the module of a kernel's text, from the cache on disk if it has been compiled before."""
    compiler = f"NVRTC {nvrtc.getVersion()}, CuPy {cupy.__version__}"
    key = compile_cache.key_of("cuda", compiler, device.compute_capability, *_OPTIONS, text)
    binary = compile_cache.fetch(key)
    module = cupy.cuda.Module()
    if binary is not None:
        try:
            module.load(binary)
        except cupy.cuda.driver.CUDADriverError as error:
            compile_cache.discard(key, f"that the driver refuses ({error})")
        else:
            return module
    binary, _ = cupy.cuda.compiler.compile_using_nvrtc(text, _OPTIONS, cache_in_memory=True)
    module = cupy.cuda.Module()
    module.load(binary)
    compile_cache.keep(key, binary)
    return module
