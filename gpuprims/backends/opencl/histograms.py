"""The kernels of histograms: what they are for, and what they refuse."""

from __future__ import annotations

from pathlib import Path

from gpuprims.core import tunables
from gpuprims.core.refusals import (
    counted,
    counted_bytes,
    double_precision,
    for_cpus,
    group_fits,
    histogram_fits,
    ranges_fit,
    sums_add_atomically,
)
from gpuprims.core.registry import Variant, first_refusal

KERNELS = Path(__file__).parents[2] / "primitives"

# Two cores of an AMD EPYC of family 26, runtime 2026.2, float32, 2026-11-21, GB/s: histogram/cpu_private of 2^26 in
# 256 bins, spread evenly, skewed, all alike 17.9, 16.9, 18.0, NumPy 0.73; in 16384 bins 13.5; in 256 of all widths
# 4.6; int32 in 256 numbers 19.8, NumPy 2.2. Beside NVIDIA's driver 580.159 on an H200, TB/s of 2^28 float32, launches
# alone: histogram/local_atomic in 256 bins with 256 x 16 and 8 groups a multiprocessor 4.37, 512 x 16 and 4 groups
# 4.27, 512 x 32 4.30, 256 x 32 3.95; in 256 of all widths 2.45, 2.51, 2.28, 2.19. histogram/split in 16384 bins with
# 512 x 32 and 4 groups 2.22, 1024 x 32 and 2 groups 2.29, 512 x 16 1.76, 256 x 16 1.74. histogram/cached in 2^20
# bins, spread evenly, all alike, skewed 0.34, 2.92, 0.23. histogram/bytes 3.61, with 512 x 32 3.48, 1024 x 32 3.40.
HISTOGRAMS = (
    Variant(
        primitive="histogram",
        name="cpu_private",
        backend="opencl",
        source=KERNELS / "histogram/kernels/histogram_cpu_private.cl",
        rank=40,
        block=1,
        items=16384,
        groups_per_unit=4,
        histograms="private",
        refuse=first_refusal(for_cpus, double_precision),
        tunable=tunables.CPU_HISTOGRAM,
    ),
    Variant(
        primitive="histogram",
        name="bytes",
        backend="opencl",
        source=KERNELS / "histogram/kernels/histogram_bytes.cl",
        rank=35,
        block=256,
        items=64,
        groups_per_unit=4,
        vectors=True,
        histograms="bytes",
        refuse=first_refusal(counted_bytes, group_fits(256)),
        tunable=tunables.HISTOGRAM_BYTES,
    ),
    Variant(
        primitive="histogram",
        name="local_atomic",
        backend="opencl",
        source=KERNELS / "histogram/kernels/histogram_local_atomic.cl",
        rank=30,
        block=256,
        items=16,
        groups_per_unit=8,
        vectors=True,
        histograms="local",
        refuse=first_refusal(double_precision, group_fits(256), histogram_fits, sums_add_atomically),
        tunable=tunables.HISTOGRAM,
    ),
    Variant(
        primitive="histogram",
        name="split",
        backend="opencl",
        source=KERNELS / "histogram/kernels/histogram_split.cl",
        rank=25,
        block=512,
        items=32,
        groups_per_unit=4,
        vectors=True,
        histograms="split",
        refuse=first_refusal(double_precision, group_fits(512), ranges_fit, sums_add_atomically),
        tunable=tunables.HISTOGRAM,
    ),
    Variant(
        primitive="histogram",
        name="cached",
        backend="opencl",
        source=KERNELS / "histogram/kernels/histogram_cached.cl",
        rank=15,
        block=256,
        items=16,
        groups_per_unit=8,
        vectors=True,
        histograms="cached",
        refuse=first_refusal(double_precision, group_fits(256), counted),
        tunable=tunables.HISTOGRAM,
    ),
    Variant(
        primitive="histogram",
        name="privatised",
        backend="opencl",
        source=KERNELS / "histogram/kernels/histogram_privatised.cl",
        rank=20,
        block=256,
        items=16,
        groups_per_unit=4,
        vectors=True,
        histograms="replicas",
        refuse=first_refusal(double_precision, group_fits(256), histogram_fits, sums_add_atomically),
        tunable=tunables.HISTOGRAM,
    ),
    Variant(
        primitive="histogram",
        name="global_atomic",
        backend="opencl",
        source=KERNELS / "histogram/kernels/histogram_global_atomic.cl",
        rank=10,
        block=256,
        items=16,
        groups_per_unit=8,
        vectors=True,
        refuse=first_refusal(double_precision, group_fits(256), sums_add_atomically),
        tunable=tunables.HISTOGRAM,
    ),
)
