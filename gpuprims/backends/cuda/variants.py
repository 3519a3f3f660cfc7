"""The kernels of the CUDA backend: which there are, what they are for, and what they refuse.

The numbers in an entry carry the measurement that set them.
"""

from __future__ import annotations

from pathlib import Path

from gpuprims.backends.cuda.histograms import HISTOGRAMS
from gpuprims.backends.cuda.logistics import DESCENTS, LOGISTICS
from gpuprims.backends.cuda.products import PRODUCTS
from gpuprims.backends.cuda.stencils import STENCILS
from gpuprims.backends.cuda.walks import WALKS
from gpuprims.core import tunables
from gpuprims.core.refusals import (
    double_precision,
    few_outputs,
    forward_progress,
    gathered_fit,
    group_fits,
    many_columns,
    many_outputs,
    many_rows,
    many_segments,
    one_atomic,
    partials_fit,
    shuffles,
    values_fit,
)
from gpuprims.core.registry import Variant, first_refusal

KERNELS = Path(__file__).parents[2] / "primitives"

# H200, driver 580.159, CUDA 13.0, float32, 2026-11-21, TB/s of sum and argmax of 2^30 and of sum of 2^24, launches
# alone: reduce/warp with 256 x 8 and 8 groups a multiprocessor 4.50, 4.44, 3.23; 1024 x 8 and 2 groups 4.52, 4.48,
# 3.26, but four times the threads for a short row; 256 x 16 4.49, 4.42, 2.91. reduce/tree with 256 x 16 4.51, 4.41,
# 3.05; 256 x 8 4.27, 4.43, 2.81. Without vectors, 16 bytes a load, warp 4.33, 3.06, 3.07 and tree 4.43, 3.19, 2.82.
# reduce/atomic, whose groups all meet at one address: max of 2^28 4.49, where few change it, and sum of 2^28 1.94. The
# same GPU and day, calls one after the other, bytes read: columns of 2^14 x 2^14 4.29 with reduce/each and 0.56 with
# reduce/warp (CuPy 2.4). Rows of (2^26, 4), (2^24, 16), (2^22, 64), (2^20, 256) with reduce/rows 3.38, 4.03, 4.12,
# 4.13, which with the results written is 4.2 of each; with reduce/each 1.98, 4.11, 3.17; (2^20, 256) with reduce/warp
# 0.66. Rows one at a time, not four: 3.24, 3.52, 3.45. As many groups as there are rows, each nearly empty: 0.21 of
# (2^26, 4).
#
# The same GPU and day, inclusive sum of float32, bytes read and written, calls one after the other: scan/round_robin
# with 512 x 32 and one group a multiprocessor 3.66 of 2^28 and 3.79 of 2^30, 256 x 64 3.66 and 3.70, 512 x 16 2.72,
# 1024 x 16 3.14 (64 registers are too few), two groups of 256 x 16 3.09; CUB 3.09 of 2^28. scan/lookback with 256 x 32
# 2.53, 256 x 16 2.09, 128 x 16 2.01, 512 x 16 2.16. scan/blelloch 0.69, scan/hillis_steele 0.66. compact/round_robin of
# 2^28 float32, half kept: two groups of 512 x 16 a multiprocessor 583 us with a mask and 553 with a predicate, kernels
# alone; one group 725 and 670 as calls, where two take 611 and 579; CUB's DeviceSelect 783 and 604.
VARIANTS = (
    Variant(
        primitive="map",
        name="grid",
        backend="cuda",
        source=KERNELS / "map/kernels/map_grid.cl",
        rank=10,
        block=256,
        items=4,
        vectors=True,
        refuse=first_refusal(double_precision, group_fits(256)),
        tunable=tunables.MAP_GRID,
    ),
    Variant(
        primitive="reduce",
        name="rows",
        backend="cuda",
        source=KERNELS / "reduce/kernels/reduce_rows.cl",
        rank=40,
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
        backend="cuda",
        source=KERNELS / "reduce/kernels/reduce_each.cl",
        rank=30,
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
        backend="cuda",
        source=KERNELS / "reduce/kernels/reduce_warp.cl",
        rank=20,
        block=256,
        items=8,
        groups_per_unit=8,
        vectors=True,
        refuse=first_refusal(shuffles(256), double_precision, group_fits(256), values_fit(16)),
        tunable=tunables.REDUCE_WARP,
    ),
    Variant(
        primitive="reduce",
        name="tree",
        backend="cuda",
        source=KERNELS / "reduce/kernels/reduce_tree.cl",
        rank=10,
        block=256,
        items=16,
        groups_per_unit=8,
        vectors=True,
        refuse=first_refusal(double_precision, group_fits(256), values_fit(256)),
        tunable=tunables.REDUCE_TREE,
    ),
    Variant(
        primitive="reduce",
        name="atomic",
        backend="cuda",
        source=KERNELS / "reduce/kernels/reduce_atomic.cl",
        rank=5,
        block=256,
        items=16,
        groups_per_unit=8,
        vectors=True,
        accumulates=True,
        refuse=first_refusal(double_precision, one_atomic, group_fits(256), values_fit(256)),
    ),
    Variant(
        # Of 2^28 float32 in segments of 32 on average 1.79 TB/s by CUDA, 1.56 by OpenCL (H200, 2026-11-22). A lane for
        # every 4 elements, 32 groups a unit and the rule's bounds were chosen, not searched for.
        primitive="segments",
        name="lanes",
        backend="cuda",
        source=KERNELS / "segments/kernels/segments_lanes.cl",
        rank=10,
        block=256,
        items=4,
        groups_per_unit=32,
        shares_outputs=False,
        refuse=first_refusal(many_segments, shuffles(256), double_precision, group_fits(256)),
    ),
    Variant(
        primitive="compact",
        name="round_robin",
        backend="cuda",
        source=KERNELS / "compact/kernels/compact_round_robin.cl",
        rank=10,
        block=512,
        items=16,
        word_items=True,
        groups_per_unit=2,
        vectors=True,
        scratch="board",
        together=True,
        refuse=first_refusal(double_precision, group_fits(512), gathered_fit(512, 16), few_outputs, forward_progress),
    ),
    Variant(
        primitive="scan",
        name="each",
        backend="cuda",
        source=KERNELS / "scan/kernels/scan_each.cl",
        rank=50,
        block=64,
        items=16,
        outputs_per_group=64,
        refuse=first_refusal(many_columns(2048), double_precision, group_fits(64)),
    ),
    Variant(
        primitive="scan",
        name="rows",
        backend="cuda",
        source=KERNELS / "scan/kernels/scan_rows.cl",
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
        backend="cuda",
        source=KERNELS / "scan/kernels/scan_round_robin.cl",
        rank=40,
        block=512,
        items=32,
        word_items=True,
        groups_per_unit=1,
        vectors=True,
        scratch="board",
        together=True,
        refuse=first_refusal(double_precision, group_fits(512), partials_fit(512), few_outputs, forward_progress),
        tunable=tunables.SCAN_ROUND_ROBIN,
    ),
    Variant(
        primitive="scan",
        name="lookback",
        backend="cuda",
        source=KERNELS / "scan/kernels/scan_lookback.cl",
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
        backend="cuda",
        source=KERNELS / "scan/kernels/scan_blelloch.cl",
        rank=20,
        block=256,
        items=2,
        scratch="levels",
        refuse=first_refusal(double_precision, group_fits(256), values_fit(512 + 16)),
        tunable=tunables.SCAN_BLELLOCH,
    ),
    Variant(
        primitive="scan",
        name="hillis_steele",
        backend="cuda",
        source=KERNELS / "scan/kernels/scan_hillis_steele.cl",
        rank=10,
        block=256,
        items=1,
        scratch="levels",
        refuse=first_refusal(double_precision, group_fits(256), values_fit(512)),
        tunable=tunables.SCAN_HILLIS_STEELE,
    ),
    *HISTOGRAMS,
    *STENCILS,
    *LOGISTICS,
    *DESCENTS,
    *WALKS,
    *PRODUCTS,
)
