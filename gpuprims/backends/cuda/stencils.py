"""The kernels of stencils: what they are for, and what they refuse. The numbers carry the measurement that set them."""

from __future__ import annotations

from pathlib import Path

from gpuprims.registry import Variant, first_refusal
from gpuprims.rules import (
    along_lines,
    double_precision,
    group_fits,
    one_step,
    one_time,
    strips_fit,
    tile_fits,
    window_fits,
)

KERNELS = Path(__file__).parent / "kernels"

# H200, driver 580.159, CUDA 13.0, 2026-11-21, TB/s read and written of 16384 x 16384 float32 and of 8192 x 8192 x 4
# uint8, calls one after the other. stencil/rolling with 128 work-items and 32 groups a multiprocessor: cross 3.54, box
# of 9 x 9 3.11, Gaussian weights of 17 x 17 in two steps 2.45, 7 x 7 weights 2.95, cross of uint8 2.05; with 256 and 16
# groups 3.59, 3.33, 2.30, 2.52, 1.88; with 64 and 64 groups 3.49, 3.11, 2.05, 2.95, 2.10. stencil/tiled: cross 1.49, 7
# x 7 0.66. stencil/direct: cross 1.01, 7 x 7 0.31. CuPy's ndimage 1.12, 0.56, 0.38, uint8 0.23.
STENCILS = (
    Variant(
        primitive="stencil",
        name="rolling",
        backend="cuda",
        source=KERNELS / "stencil_rolling.cu",
        rank=30,
        block=128,
        items=4,
        groups_per_unit=32,
        vectors=True,
        window="strip",
        refuse=first_refusal(double_precision, group_fits(128), along_lines, window_fits, strips_fit(128)),
    ),
    Variant(
        primitive="stencil",
        name="tiled",
        backend="cuda",
        source=KERNELS / "stencil_tiled.cu",
        rank=20,
        block=256,
        items=4,
        groups_per_unit=32,
        window="tile",
        refuse=first_refusal(double_precision, group_fits(256), one_step, one_time, along_lines, tile_fits(256, 4)),
    ),
    Variant(
        primitive="stencil",
        name="direct",
        backend="cuda",
        source=KERNELS / "stencil_direct.cu",
        rank=10,
        block=256,
        items=1,
        groups_per_unit=64,
        refuse=first_refusal(double_precision, group_fits(256), one_step, one_time),
    ),
)
