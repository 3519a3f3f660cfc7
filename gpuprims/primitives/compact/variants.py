"""The variants of compact. Comments name the rows of measurements.md."""

from __future__ import annotations

from pathlib import Path

from gpuprims.core.catalogue import Catalogue, PerBackend
from gpuprims.core.geometry import Geometry, first_refusal
from gpuprims.core.refusals import (
    double_precision,
    few_outputs,
    for_cpus,
    forward_progress,
    group_fits,
    not_for_cpus,
    tile_fits,
)
from gpuprims.primitives.fold_variants import ScanVariant

_COMPACT = Catalogue(ScanVariant, "compact", Path(__file__).parent)

VARIANTS = (
    _COMPACT.cpu(
        "cpu_chunks",
        by_rows=True,
        rank=20,
        geometry=Geometry(1, 16384, 16),  # rows: cpu_chunks-tiles
        scratch="bits",
        refuse=lambda at: first_refusal(for_cpus, double_precision),
    ),
    *_COMPACT.gpu(
        "round_robin",
        rank=10,
        geometry=PerBackend(cuda=Geometry(128, 64, 2), opencl=Geometry(512, 16, 1)),  # rows: round_robin
        word_items=True,
        widens=PerBackend(cuda=2, opencl=1),  # rows: round_robin-narrow
        looks=2,  # rows: round_robin-tried
        gathers=True,
        vectors=True,
        pairs=True,  # rows: pairs
        scratch="tile statuses",
        together=True,
        refuse=lambda at: first_refusal(
            not_for_cpus, double_precision, group_fits(at.block), tile_fits(at, 2), few_outputs, forward_progress
        ),
    ),
)
