"""The variants of segments. Comments name the rows of measurements.md."""

from __future__ import annotations

from pathlib import Path

from gpuprims.core.catalogue import Catalogue
from gpuprims.core.geometry import Geometry, first_refusal
from gpuprims.core.refusals import double_precision, for_cpus, group_fits, not_for_cpus, shuffles
from gpuprims.primitives.fold_variants import FoldVariant
from gpuprims.primitives.segments.shares import SharesVariant, staged_fits

_SEGMENTS = Catalogue(FoldVariant, "segments", Path(__file__).parent)
_SHARES = Catalogue(SharesVariant, "segments", Path(__file__).parent)

VARIANTS = (
    _SEGMENTS.cpu(
        "cpu_runs",
        rank=10,
        geometry=Geometry(1, 8192, 16),
        refuse=lambda at: first_refusal(for_cpus, double_precision),
    ),
    *_SHARES.gpu(
        "shares",
        rank=5,
        geometry=Geometry(256, 32, 4),  # rows: shares
        vectors=True,
        refuse=lambda at: first_refusal(
            not_for_cpus, shuffles(at.block), double_precision, group_fits(at.block), staged_fits(at)
        ),
    ),
)
