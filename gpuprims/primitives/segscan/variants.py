"""The variants of segscan. Comments name the rows of measurements.md."""

from __future__ import annotations

from pathlib import Path

from gpuprims.core.catalogue import Catalogue
from gpuprims.core.geometry import Geometry, first_refusal
from gpuprims.core.refusals import double_precision, group_fits, not_for_cpus, shuffles
from gpuprims.primitives.segments.shares import SharesVariant, staged_fits

_SCANS = Catalogue(SharesVariant, "segscan", Path(__file__).parent)

VARIANTS = (
    *_SCANS.gpu(
        "tails",
        rank=10,
        geometry=Geometry(256, 32, 4),  # rows: tails
        vectors=True,
        refuse=lambda at: first_refusal(
            not_for_cpus, shuffles(at.block), double_precision, group_fits(at.block), staged_fits(at)
        ),
    ),
)
