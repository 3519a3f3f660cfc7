"""The variants of scan. Comments name the rows of measurements.md."""

from __future__ import annotations

from pathlib import Path

from gpuprims.core.catalogue import Catalogue, PerBackend
from gpuprims.core.geometry import BLOCKS, THREAD_GROUPS, Geometry, Refusal, Tunable, first_refusal, geometries
from gpuprims.core.refusals import (
    SPARE_LOCAL,
    columns,
    double_precision,
    few_outputs,
    for_cpus,
    forward_progress,
    group_fits,
    lacks_local,
    not_for_cpus,
    partials_fit,
    shuffles,
    values_fit,
    whole_warps,
    work_item_fits,
)
from gpuprims.primitives.fixed_outputs import FEWEST_COLUMNS
from gpuprims.primitives.fixed_scans import RUN, TILE, in_two_levels
from gpuprims.primitives.fold_variants import ScanVariant
from gpuprims.primitives.scan.reference import scan_numpy
from gpuprims.primitives.scan.refusals import (
    ALONE_COLUMNS,
    LOOKED_UP,
    many_short_rows,
    narrow_columns,
    not_two_long,
    ordered_queue_pays,
    queue_pays,
    rows_of_lanes,
    runs_turn,
    stretches_fit,
    too_short,
    wide_columns,
)
from gpuprims.primitives.strips import statuses_pay

# CUDA refuses a launch if its groups must run at the same time and find no room. Each of NVIDIA's multiprocessors has
# room for this many work-items, and the kernel's head makes the compiler leave registers for them.
_AT_ONCE = 1024
# Bytes of local memory for each work-item, in which a scan gathers packed elements (scanning.h).
_STAGED = 32


def _round_robin_fits(at: Geometry) -> Refusal:
    nbytes = (at.block + 128) * _STAGED + SPARE_LOCAL
    return first_refusal(
        group_fits(at.block),
        whole_warps(at.block),
        partials_fit(at.block),
        lambda able, call: lacks_local(nbytes, able),
    )


def _passes_on(at: Geometry) -> Refusal:
    return first_refusal(double_precision, group_fits(at.block), partials_fit(at.block), few_outputs, forward_progress)


def _blelloch_fits(at: Geometry) -> Refusal:
    return first_refusal(group_fits(at.block), values_fit(2 * at.block + at.block // 16))


def _hillis_steele_fits(at: Geometry) -> Refusal:
    return first_refusal(group_fits(at.block), values_fit(2 * at.block))


_SCAN = Catalogue(ScanVariant, "scan", Path(__file__).parent)
# Each work-item of a group reads the aggregates of another group. So a launch has no more groups than a group has
# work-items, and smaller groups would leave compute units idle.
_ROUND_ROBIN = tuple(
    one
    for one in geometries((256, 512, 1024), (8, 16, 32, 64), (1, 2), most_elements=16384)
    if one.block * (one.groups_per_unit or 1) <= _AT_ONCE
)

VARIANTS = (
    _SCAN.cpu(
        "cpu_columns",
        by_rows=True,
        rank=65,
        geometry=Geometry(1, 2048 * 1024, 16),  # rows: cpu_columns
        outputs_per_group=2048,
        scratch="levels",
        refuse=lambda at: first_refusal(for_cpus, columns(16), double_precision),
    ),
    _SCAN.cpu(
        "cpu_chunks",
        by_rows=True,
        rank=60,
        geometry=Geometry(1, 32768, 16),
        alone=131072,  # rows: cpu_chunks-alone
        scratch="levels",
        refuse=lambda at: first_refusal(for_cpus, double_precision),
        # Items also decide how many levels of folds there are.
        tunable=Tunable(geometries((1,), tuple(2**k for k in range(12, 19)), THREAD_GROUPS), work_item_fits),
    ),
    *_SCAN.gpu(
        "columns",
        rank=55,
        geometry=Geometry(256, 32, 1),  # rows: columns
        word_items=True,
        scratch="strip statuses",
        together=True,
        refuse=lambda at: first_refusal(
            not_for_cpus,
            columns(2),
            double_precision,
            group_fits(at.block),
            values_fit(2 * at.block),
            forward_progress,
            statuses_pay(at),
        ),
        yields=first_refusal(wide_columns, narrow_columns),
    ),
    *_SCAN.gpu(
        "column_runs",
        rank=53,
        # Each group reads the statuses of a strip, so groups are few and large.
        geometry=Geometry(1024, 16, 1),  # rows: column_runs
        word_items=True,
        scratch="part statuses",
        refuse=lambda at: first_refusal(
            not_for_cpus, columns(2), double_precision, group_fits(at.block), values_fit(2 * at.block), forward_progress
        ),
        yields=wide_columns,
    ),
    *_SCAN.gpu(
        "each",
        rank=50,
        geometry=Geometry(64, 32),  # rows: columns-each
        ahead=True,
        outputs_per_group=64,
        refuse=lambda at: first_refusal(columns(ALONE_COLUMNS), double_precision, group_fits(at.block)),
    ),
    *_SCAN.gpu(
        "rows",
        rank=45,
        geometry=Geometry(256, 16, 32),
        vectors=True,
        outputs_per_group=8,
        few_lanes=True,  # rows: rows
        refuse=lambda at: first_refusal(rows_of_lanes, shuffles(at.block), double_precision, group_fits(at.block)),
    ),
    _SCAN.alone(
        "queues",
        "cuda",
        Path(__file__).parents[2] / "backends/cuda/kernels",
        rank=42,
        geometry=Geometry(608, 28, 1),  # rows: queues, queues-geometry
        vectors=True,
        scratch="tile statuses",
        together=True,
        queued=True,
        refuse=queue_pays,
    ),
    *_SCAN.gpu(
        "round_robin",
        rank=40,
        geometry=PerBackend(cuda=Geometry(512, 32, 1), opencl=Geometry(256, 64, 1)),  # rows: round_robin
        word_items=True,
        vectors=True,
        scratch="tile statuses",
        together=True,
        refuse=lambda at: first_refusal(not_for_cpus, _passes_on(at)),
        tunable=Tunable(_ROUND_ROBIN, _round_robin_fits),
    ),
    *_SCAN.gpu(
        "lookback",
        rank=30,
        geometry=Geometry(256, 32),  # rows: lookback
        word_items=True,
        vectors=True,
        scratch="tile statuses",
        level="none",
        refuse=_passes_on,
    ),
    *_SCAN.gpu(
        "blelloch",
        rank=20,
        geometry=Geometry(256, 2),  # rows: levels
        scratch="levels",
        refuse=lambda at: first_refusal(double_precision, _blelloch_fits(at)),
        tunable=Tunable(geometries(BLOCKS, (2,)), _blelloch_fits),
    ),
    *_SCAN.gpu(
        "hillis_steele",
        rank=10,
        geometry=Geometry(256, 1),  # rows: levels
        scratch="levels",
        refuse=lambda at: first_refusal(double_precision, _hillis_steele_fits(at)),
        tunable=Tunable(geometries(BLOCKS, (1,)), _hillis_steele_fits),
    ),
    *_SCAN.gpu(
        "fixed_rows",
        rank=9,
        level="device",
        in_fixed_order=True,
        geometry=Geometry(256, RUN, 32),  # rows: fixed_rows
        vectors=True,
        few_lanes=True,
        refuse=lambda at: first_refusal(many_short_rows, double_precision, group_fits(at.block), runs_turn(at)),
        yields=first_refusal(not_for_cpus, shuffles(256)),
    ),
    *_SCAN.gpu(
        "fixed_columns",
        rank=8,
        level="device",
        in_fixed_order=True,
        geometry=Geometry(TILE // RUN, RUN),  # rows: fixed_columns
        across=True,
        scratch="levels",
        refuse=lambda at: first_refusal(
            columns(FEWEST_COLUMNS), double_precision, group_fits(at.block), values_fit(2 * at.block)
        ),
        yields=first_refusal(not_for_cpus, not_two_long),
    ),
    _SCAN.cpu(
        "cpu_fixed_columns",
        by_rows=True,
        rank=6,
        level="device",
        in_fixed_order=True,
        geometry=Geometry(1, TILE, 2),  # rows: cpu_fixed_columns
        outputs_per_group=16,
        refuse=lambda at: first_refusal(for_cpus, columns(16), double_precision, in_two_levels),
    ),
    _SCAN.cpu(
        "cpu_fixed",
        by_rows=True,
        rank=4,
        level="device",
        in_fixed_order=True,
        geometry=Geometry(1, TILE, 16),
        scratch="levels",
        refuse=lambda at: first_refusal(for_cpus, double_precision),
    ),
    _SCAN.alone(
        "fixed_queues",
        "cuda",
        Path(__file__).parents[2] / "backends/cuda/kernels",
        rank=6,
        level="device",
        in_fixed_order=True,
        in_stretches=True,
        geometry=Geometry(608, 2 * RUN, 1),  # rows: fixed_queues
        vectors=True,
        scratch="tile statuses",
        together=True,
        queued=True,
        refuse=ordered_queue_pays,
    ),
    *_SCAN.gpu(
        "fixed_round_robin",
        rank=5,
        level="device",
        in_fixed_order=True,
        in_stretches=True,
        # rows: fixed_round_robin
        geometry=PerBackend(cuda=Geometry(512, 2 * RUN, 1), opencl=Geometry(256, 4 * RUN, 1)),
        looks=PerBackend(cuda=LOOKED_UP // 512, opencl=LOOKED_UP // 256),
        word_items=True,
        vectors=True,
        scratch="tile statuses",
        together=True,
        refuse=lambda at: first_refusal(not_for_cpus, _passes_on(at), stretches_fit(at)),
        yields=too_short,
    ),
    *_SCAN.gpu(
        "fixed",
        rank=3,
        level="device",
        in_fixed_order=True,
        geometry=Geometry(TILE // RUN, RUN),
        vectors=True,
        scratch="levels",
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block), values_fit(at.block)),
    ),
    _SCAN.numpy(scan_numpy, scratch="levels", level="device", in_fixed_order=True),
)
