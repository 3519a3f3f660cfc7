"""The kernels of stencils: what they are for, and what they refuse. The numbers carry the measurement that set them."""

from __future__ import annotations

from pathlib import Path

from gpuprims.core import tunables
from gpuprims.core.refusals import (
    along_lines,
    double_precision,
    group_fits,
    one_step,
    strips_fit,
    tile_fits,
    window_fits,
)
from gpuprims.core.registry import Variant, first_refusal

KERNELS = Path(__file__).parents[2] / "primitives"

# H200, driver 580.159, CUDA 13.0, 2026-11-21, TB/s read and written of 16384 x 16384 float32 and of 8192 x 8192 x 4
# uint8, calls one after the other. stencil/rolling with 128 work-items and 12 groups a multiprocessor: cross 3.83 and
# by short strips 4.00, box of 9 x 9 3.75, Gaussian weights of 17 x 17 in two steps 3.68, 7 x 7 weights 3.46, cross of
# uint8 3.5; cross twice in a launch 7.5 of what two launches move, of uint8 3.2. With 48 groups 3.84, 3.60, 3.46, 3.31,
# 3.37; with 256 work-items box 3.58, Gaussian 3.48. stencil/tiled: cross 1.49, 7 x 7 0.66. stencil/direct: cross 1.01,
# 7 x 7 0.31. CuPy's ndimage 1.11, 0.55, 0.37, uint8 0.23; torch's conv2d 0.11, 0.05, 0.04.
STENCILS = (
    Variant(
        primitive="stencil",
        name="rolling",
        backend="cuda",
        source=KERNELS / "stencil/kernels/stencil_rolling.cl",
        rank=30,
        block=128,
        items=4,
        groups_per_unit=12,
        vectors=True,
        window="strip",
        twice=True,
        refuse=first_refusal(double_precision, group_fits(128), along_lines, window_fits, strips_fit(128)),
        tunable=tunables.STENCIL_ROLLING,
    ),
    Variant(
        primitive="stencil",
        name="tiled",
        backend="cuda",
        source=KERNELS / "stencil/kernels/stencil_tiled.cl",
        rank=20,
        block=256,
        items=4,
        groups_per_unit=32,
        window="tile",
        refuse=first_refusal(double_precision, group_fits(256), one_step, along_lines, tile_fits(256, 4)),
        tunable=tunables.STENCIL_TILED,
    ),
    Variant(
        primitive="stencil",
        name="direct",
        backend="cuda",
        source=KERNELS / "stencil/kernels/stencil_direct.cl",
        rank=10,
        block=256,
        items=1,
        groups_per_unit=64,
        refuse=first_refusal(double_precision, group_fits(256), one_step),
        tunable=tunables.STENCIL_DIRECT,
    ),
)
