"""The kernels of histograms: what they are for, and what they refuse."""

from __future__ import annotations

from pathlib import Path

from gpuprims.core import tunables
from gpuprims.core.refusals import (
    counted,
    counted_bytes,
    double_precision,
    group_fits,
    histogram_fits,
    ranges_fit,
    sums_add_atomically,
)
from gpuprims.core.registry import Variant, first_refusal

KERNELS = Path(__file__).parents[2] / "primitives"

# H200, driver 580.159, CUDA 13.0, 2026-11-21, TB/s of 2^28 elements, launches alone, spread evenly, all alike,
# skewed: histogram/local_atomic with 1024 x 32 and 2 groups a multiprocessor, in 256 bins 4.45, 4.47, 4.47; in 16384
# 4.21, 4.28, 4.27; in 49152 4.09, 4.22, 4.11, where 1024 x 16 has 3.91 and 1024 x 8 3.24; with 64 registers, for
# which one group has room, 4.23 in 256. In 256 of all widths 2.54, 1024 x 16 2.72. histogram/split in 16384 2.55,
# 2.74, 2.56; in 100000 2.19, 2.62, 2.26. histogram/cached in 2^20 0.36, 3.15, 0.34 (CUB 0.10 and 0.17 of 65536,
# spread evenly and skewed; of 2^20 it fails). uint8: histogram/bytes 3.73, 3.76, 3.75, of 2^30 4.19; with 32
# registers and two groups 3.40; CUB 2.00, 3.08, 2.64.
HISTOGRAMS = (
    Variant(
        primitive="histogram",
        name="bytes",
        backend="cuda",
        source=KERNELS / "histogram/kernels/histogram_bytes.cl",
        rank=35,
        block=1024,
        items=64,
        groups_per_unit=2,
        vectors=True,
        histograms="bytes",
        refuse=first_refusal(counted_bytes, group_fits(1024)),
        tunable=tunables.HISTOGRAM_BYTES,
    ),
    Variant(
        primitive="histogram",
        name="local_atomic",
        backend="cuda",
        source=KERNELS / "histogram/kernels/histogram_local_atomic.cl",
        rank=30,
        block=1024,
        items=32,
        groups_per_unit=2,
        vectors=True,
        histograms="local",
        refuse=first_refusal(double_precision, group_fits(1024), histogram_fits, sums_add_atomically),
        tunable=tunables.HISTOGRAM,
    ),
    Variant(
        primitive="histogram",
        name="split",
        backend="cuda",
        source=KERNELS / "histogram/kernels/histogram_split.cl",
        rank=25,
        block=1024,
        items=32,
        groups_per_unit=2,
        vectors=True,
        histograms="split",
        refuse=first_refusal(double_precision, group_fits(1024), ranges_fit, sums_add_atomically),
        tunable=tunables.HISTOGRAM,
    ),
    Variant(
        primitive="histogram",
        name="cached",
        backend="cuda",
        source=KERNELS / "histogram/kernels/histogram_cached.cl",
        rank=15,
        block=1024,
        items=16,
        groups_per_unit=2,
        vectors=True,
        histograms="cached",
        refuse=first_refusal(double_precision, group_fits(1024), counted),
        tunable=tunables.HISTOGRAM,
    ),
    Variant(
        primitive="histogram",
        name="privatised",
        backend="cuda",
        source=KERNELS / "histogram/kernels/histogram_privatised.cl",
        rank=20,
        block=1024,
        items=16,
        groups_per_unit=2,
        vectors=True,
        histograms="replicas",
        refuse=first_refusal(double_precision, group_fits(1024), histogram_fits, sums_add_atomically),
        tunable=tunables.HISTOGRAM,
    ),
    Variant(
        primitive="histogram",
        name="global_atomic",
        backend="cuda",
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
