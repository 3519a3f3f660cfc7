"""The kernels of the OpenCL backend: which there are, what they are for, and what they refuse.

CPU and GPU variants of a primitive are separate entries. The numbers in an entry carry the measurement that set them.
"""

from __future__ import annotations

from pathlib import Path

from gpuprims.driver import Capabilities
from gpuprims.registry import Call, Variant, first_refusal
from gpuprims.rules import (
    columns,
    counted,
    counted_bytes,
    double_precision,
    few_outputs,
    forward_progress,
    gathered_fit,
    group_fits,
    histogram_fits,
    many_columns,
    many_outputs,
    many_rows,
    one_atomic,
    partials_fit,
    ranges_fit,
    shuffles,
    sums_add_atomically,
    values_fit,
)

KERNELS = Path(__file__).parent / "kernels"
# The text around each kernel: the dialect's words, how values pass between groups, and how groups add in memory.
AROUND = KERNELS / "prelude.cl", KERNELS / "exchange.cl", KERNELS / "counting.cl"


def _for_cpus(capabilities: Capabilities, call: Call) -> str | None:
    if capabilities.kind == "cpu":
        return None
    return f"is for CPUs, where each work-item is a thread of its own; {capabilities.name} is a {capabilities.kind}"


def _not_for_cpus(capabilities: Capabilities, call: Call) -> str | None:
    if capabilities.kind != "cpu":
        return None
    return f"is for GPUs, which run all groups at the same time whatever else they do; {capabilities.name} is a CPU"


# H200, driver 580.159, float32, 2026-11-21, TB/s of argmax and sum of 2^28, calls one after the other: reduce/warp
# with 256 x 16 and 6 groups a compute unit 4.33, 4.45, with 8 groups 3.79, 4.43, for an argmax of more registers
# leaves no room for the last; 256 x 8 and 8 groups 4.30, 4.30; 512 x 8 and 4 groups 4.36, 4.32; 1024 x 8 and 2 groups
# 4.22, 4.31. reduce/tree with 256 x 16 and 6 groups 4.33, 4.45, with 8 groups 3.78, 4.42; 512 x 8 and 4 groups 4.30,
# 4.42, but GPUs with groups of at most 256 work-items exist. Sum of 2^24, launches alone, 3.08. Columns of 2^14 x 2^14
# with reduce/each 4.21; rows of (2^26, 4), (2^24, 16), (2^22, 64), (2^20, 256) with reduce/rows 3.36, 4.00, 4.09,
# 4.21.
# Two cores of an AMD EPYC of family 26, runtime 2026.2, float32, 2026-11-21, busy with other work too; sums down the
# columns of (4096, 4096), (64, 10^6) and (10^5, 512), GB/s: scan/cpu_columns with 2048 x 1024 11.6, 15.5, 16.9; with
# 1024 x 1024 10.7, 13.7, 10.3; with 512 x 1024 10.1, 12.4, 14.5; with 2048 x 512 12.9, 15.3, 13.5; scan/each 4.8, 13.0,
# refused; NumPy 0.4, 2.0, 0.6. Of (1000, 1000) 2048 x 1024, one launch, 38.6; 2048 x 512
# 30.3. histogram/cpu_private of 2^26 in 256 bins, spread evenly, skewed, all alike 17.9, 16.9, 18.0, NumPy 0.73; in
# 16384 bins 13.5; in 256 of all widths 4.6; int32 in 256 numbers 19.8, NumPy 2.2. Beside NVIDIA's driver
# 580.159 on an H200, TB/s of 2^28 float32, launches alone: histogram/local_atomic in 256 bins with 256 x 16 and 8
# groups a
# multiprocessor 4.37, 512 x 16 and 4 groups 4.27, 512 x 32 4.30, 256 x 32 3.95; in 256 of all widths 2.45, 2.51, 2.28,
# 2.19. histogram/split in 16384 bins with 512 x 32 and 4 groups 2.22, 1024 x 32 and 2 groups 2.29, 512 x 16 1.76, 256 x
# 16
# 1.74. histogram/cached in 2^20 bins, spread evenly, all alike, skewed 0.34, 2.92, 0.23. histogram/bytes 3.61, with
# 512 x 32 3.48, 1024 x 32 3.40.
VARIANTS = (
    Variant(
        primitive="map",
        name="cpu_chunks",
        backend="opencl",
        source=KERNELS / "map_cpu_chunks.cl",
        rank=20,
        block=1,
        items=16384,
        refuse=first_refusal(_for_cpus, double_precision),
    ),
    Variant(
        primitive="map",
        name="grid",
        backend="opencl",
        source=KERNELS / "map_grid.cl",
        rank=10,
        block=256,
        items=4,
        vectors=True,
        refuse=first_refusal(double_precision, group_fits(256)),
    ),
    Variant(
        primitive="reduce",
        name="cpu_columns",
        backend="opencl",
        source=KERNELS / "reduce_cpu_columns.cl",
        rank=25,
        block=1,
        items=512 * 64,
        groups_per_unit=2,
        outputs_per_group=512,
        refuse=first_refusal(_for_cpus, columns, double_precision),
    ),
    Variant(
        primitive="reduce",
        name="cpu_chunks",
        backend="opencl",
        source=KERNELS / "reduce_cpu_chunks.cl",
        rank=20,
        block=1,
        items=8192,
        groups_per_unit=16,
        refuse=first_refusal(_for_cpus, double_precision),
    ),
    Variant(
        primitive="reduce",
        name="rows",
        backend="opencl",
        source=KERNELS / "reduce_rows.cl",
        rank=16,
        block=256,
        items=16,
        vectors=True,
        groups_per_unit=32,
        outputs_per_group=8,
        shares_outputs=False,
        refuse=first_refusal(many_rows, shuffles(256), double_precision, group_fits(256)),
    ),
    Variant(
        primitive="reduce",
        name="each",
        backend="opencl",
        source=KERNELS / "reduce_each.cl",
        rank=15,
        block=256,
        items=16,
        groups_per_unit=8,
        vectors=True,
        outputs_per_group=256,
        refuse=first_refusal(many_outputs, double_precision, group_fits(256)),
    ),
    Variant(
        primitive="reduce",
        name="warp",
        backend="opencl",
        source=KERNELS / "reduce_warp.cl",
        rank=12,
        block=256,
        items=16,
        groups_per_unit=6,
        vectors=True,
        refuse=first_refusal(shuffles(256), double_precision, group_fits(256), values_fit(16)),
    ),
    Variant(
        primitive="reduce",
        name="tree",
        backend="opencl",
        source=KERNELS / "reduce_tree.cl",
        rank=10,
        block=256,
        items=16,
        groups_per_unit=6,
        vectors=True,
        refuse=first_refusal(double_precision, group_fits(256), values_fit(256)),
    ),
    Variant(
        primitive="reduce",
        name="atomic",
        backend="opencl",
        source=KERNELS / "reduce_atomic.cl",
        rank=5,
        block=256,
        items=16,
        groups_per_unit=8,
        vectors=True,
        accumulates=True,
        refuse=first_refusal(one_atomic, double_precision, group_fits(256), values_fit(256)),
    ),
    Variant(
        primitive="compact",
        name="round_robin",
        backend="opencl",
        source=KERNELS / "compact_round_robin.cl",
        rank=10,
        block=512,
        items=16,
        word_items=True,
        groups_per_unit=1,
        vectors=True,
        scratch="board",
        together=True,
        refuse=first_refusal(
            _not_for_cpus, double_precision, group_fits(512), gathered_fit(512, 16), few_outputs, forward_progress
        ),
    ),
    Variant(
        primitive="scan",
        name="cpu_columns",
        backend="opencl",
        source=KERNELS / "scan_cpu_columns.cl",
        rank=65,
        block=1,
        items=2048 * 1024,
        groups_per_unit=16,
        outputs_per_group=2048,
        scratch="levels",
        refuse=first_refusal(_for_cpus, columns, double_precision),
    ),
    Variant(
        primitive="scan",
        name="cpu_chunks",
        backend="opencl",
        source=KERNELS / "scan_cpu_chunks.cl",
        rank=60,
        block=1,
        items=32768,
        groups_per_unit=16,
        scratch="levels",
        refuse=first_refusal(_for_cpus, double_precision),
    ),
    Variant(
        primitive="scan",
        name="each",
        backend="opencl",
        source=KERNELS / "scan_each.cl",
        rank=50,
        block=64,
        items=16,
        outputs_per_group=64,
        refuse=first_refusal(many_columns(2048), double_precision, group_fits(64)),
    ),
    Variant(
        primitive="scan",
        name="rows",
        backend="opencl",
        source=KERNELS / "scan_rows.cl",
        rank=45,
        block=256,
        items=16,
        groups_per_unit=32,
        vectors=True,
        outputs_per_group=8,
        refuse=first_refusal(many_rows, shuffles(256), double_precision, group_fits(256)),
    ),
    Variant(
        primitive="scan",
        name="round_robin",
        backend="opencl",
        source=KERNELS / "scan_round_robin.cl",
        rank=40,
        block=256,
        items=64,
        word_items=True,
        groups_per_unit=1,
        vectors=True,
        scratch="board",
        together=True,
        refuse=first_refusal(
            _not_for_cpus, double_precision, group_fits(256), partials_fit(256), few_outputs, forward_progress
        ),
    ),
    Variant(
        primitive="scan",
        name="lookback",
        backend="opencl",
        source=KERNELS / "scan_lookback.cl",
        rank=30,
        block=256,
        items=32,
        word_items=True,
        vectors=True,
        scratch="board",
        repeats=False,
        refuse=first_refusal(double_precision, group_fits(256), partials_fit(256), few_outputs, forward_progress),
    ),
    Variant(
        primitive="scan",
        name="blelloch",
        backend="opencl",
        source=KERNELS / "scan_blelloch.cl",
        rank=20,
        block=256,
        items=2,
        scratch="levels",
        refuse=first_refusal(double_precision, group_fits(256), values_fit(512 + 16)),
    ),
    Variant(
        primitive="scan",
        name="hillis_steele",
        backend="opencl",
        source=KERNELS / "scan_hillis_steele.cl",
        rank=10,
        block=256,
        items=1,
        scratch="levels",
        refuse=first_refusal(double_precision, group_fits(256), values_fit(512)),
    ),
    Variant(
        primitive="histogram",
        name="cpu_private",
        backend="opencl",
        source=KERNELS / "histogram_cpu_private.cl",
        rank=40,
        block=1,
        items=16384,
        groups_per_unit=4,
        histograms="private",
        refuse=first_refusal(_for_cpus, double_precision),
    ),
    Variant(
        primitive="histogram",
        name="bytes",
        backend="opencl",
        source=KERNELS / "histogram_bytes.cl",
        rank=35,
        block=256,
        items=64,
        groups_per_unit=4,
        vectors=True,
        histograms="bytes",
        refuse=first_refusal(counted_bytes, group_fits(256)),
    ),
    Variant(
        primitive="histogram",
        name="local_atomic",
        backend="opencl",
        source=KERNELS / "histogram_local_atomic.cl",
        rank=30,
        block=256,
        items=16,
        groups_per_unit=8,
        vectors=True,
        histograms="local",
        refuse=first_refusal(double_precision, group_fits(256), histogram_fits, sums_add_atomically),
    ),
    Variant(
        primitive="histogram",
        name="split",
        backend="opencl",
        source=KERNELS / "histogram_split.cl",
        rank=25,
        block=512,
        items=32,
        groups_per_unit=4,
        vectors=True,
        histograms="split",
        refuse=first_refusal(double_precision, group_fits(512), ranges_fit, sums_add_atomically),
    ),
    Variant(
        primitive="histogram",
        name="cached",
        backend="opencl",
        source=KERNELS / "histogram_cached.cl",
        rank=15,
        block=256,
        items=16,
        groups_per_unit=8,
        vectors=True,
        histograms="cached",
        refuse=first_refusal(double_precision, group_fits(256), counted),
    ),
    Variant(
        primitive="histogram",
        name="privatised",
        backend="opencl",
        source=KERNELS / "histogram_privatised.cl",
        rank=20,
        block=256,
        items=16,
        groups_per_unit=4,
        vectors=True,
        histograms="replicas",
        refuse=first_refusal(double_precision, group_fits(256), histogram_fits, sums_add_atomically),
    ),
    Variant(
        primitive="histogram",
        name="global_atomic",
        backend="opencl",
        source=KERNELS / "histogram_global_atomic.cl",
        rank=10,
        block=256,
        items=16,
        groups_per_unit=8,
        vectors=True,
        refuse=first_refusal(double_precision, group_fits(256), sums_add_atomically),
    ),
)
