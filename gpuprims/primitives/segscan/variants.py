"""The variants of segscan. Comments name the rows of measurements.md."""

from __future__ import annotations

from pathlib import Path

from gpuprims.core.catalogue import Catalogue, PerBackend
from gpuprims.core.geometry import Geometry, first_refusal
from gpuprims.core.refusals import double_precision, for_cpus
from gpuprims.primitives.fold_variants import FoldVariant
from gpuprims.primitives.segments.shares import SharesVariant, for_shares

_RUNS = Catalogue(FoldVariant, "segscan", Path(__file__).parent)
_SHARES = Catalogue(SharesVariant, "segscan", Path(__file__).parent)

VARIANTS = (
    _RUNS.cpu(
        "cpu_runs",
        by_rows=True,
        rank=15,
        geometry=Geometry(1, 8192, 4),  # rows: cpu_runs
        refuse=lambda at: first_refusal(for_cpus, double_precision),
    ),
    *_SHARES.gpu(
        "tails",
        rank=10,
        geometry=Geometry(256, 16, 2),  # rows: tails
        more_if_short=PerBackend(1, 0),  # rows: tails
        vectors=True,
        refuse=for_shares,
    ),
)
