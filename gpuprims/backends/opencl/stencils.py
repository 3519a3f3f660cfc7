"""The kernels of stencils: what they are for, and what they refuse. The numbers carry the measurement that set them."""

from __future__ import annotations

from pathlib import Path

from gpuprims.core import tunables
from gpuprims.core.refusals import (
    along_lines,
    double_precision,
    few_rows,
    for_cpus,
    group_fits,
    one_step,
    strips_fit,
    tile_fits,
    window_fits,
)
from gpuprims.core.registry import Variant, first_refusal

KERNELS = Path(__file__).parents[2] / "primitives"

# H200, driver 580.159, 2026-11-21, TB/s read and written of 16384 x 16384 float32 and of 8192 x 8192 x 4 uint8, calls
# one after the other. stencil/rolling with 128 work-items and 12 groups a multiprocessor: cross 3.71 and by short
# strips 3.87 to 3.95, box of 9 x 9 3.2, Gaussian weights of 17 x 17 in two steps 3.04, 7 x 7 weights 3.04, cross of
# uint8 3.3; cross twice in a launch 7.3 of what two launches move, of uint8 2.7. The compiler takes 200 registers for a
# box, where CUDA's is told to take 128. stencil/tiled: cross 1.69, 7 x 7 0.73. stencil/direct: cross 1.02, 7 x 7 0.31.
# Two cores of an AMD EPYC, runtime 2026.2, 4096 x 4096 float32, 2026-11-21, the result given: stencil/cpu_rows cross
# 27.3 GB/s, SciPy 2.1, OpenCV 7.6 to 11.5; box of 9 x 9 17.3, 0.46, 6.7; Gaussian of 17 x 17 10.6, 0.36, 7.6; cross of
# RGBA uint8, a quarter as large, 22.3, 0.44, 12.1.
STENCILS = (
    Variant(
        primitive="stencil",
        name="cpu_rows",
        backend="opencl",
        source=KERNELS / "stencil/kernels/stencil_cpu_rows.cl",
        rank=40,
        block=1,
        items=1024,
        groups_per_unit=8,
        window="ring",
        refuse=first_refusal(for_cpus, double_precision, along_lines, few_rows),
        tunable=tunables.CPU_STENCIL,
    ),
    Variant(
        primitive="stencil",
        name="rolling",
        backend="opencl",
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
        backend="opencl",
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
        backend="opencl",
        source=KERNELS / "stencil/kernels/stencil_direct.cl",
        rank=10,
        block=256,
        items=1,
        groups_per_unit=64,
        refuse=first_refusal(double_precision, group_fits(256), one_step),
        tunable=tunables.STENCIL_DIRECT,
    ),
)
