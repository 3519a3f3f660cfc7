"""The variants of segments. Comments name the rows of measurements.md."""

from __future__ import annotations

from pathlib import Path

from gpuprims.core.catalogue import Catalogue, PerBackend
from gpuprims.core.geometry import Geometry, first_refusal
from gpuprims.core.refusals import double_precision, for_cpus
from gpuprims.primitives.fixed_scans import RUN, TILE, in_two_levels
from gpuprims.primitives.fold_variants import FoldVariant
from gpuprims.primitives.segments.fixed_tiles import FixedTilesVariant, for_fixed_tiles
from gpuprims.primitives.segments.shares import SharesVariant, for_shares

_SEGMENTS = Catalogue(FoldVariant, "segments", Path(__file__).parent)
_TILES = Catalogue(FixedTilesVariant, "segments", Path(__file__).parent)
_SHARES = Catalogue(SharesVariant, "segments", Path(__file__).parent)

VARIANTS = (
    _SEGMENTS.cpu(
        "cpu_runs",
        by_rows=True,
        rank=10,
        geometry=Geometry(1, 8192, 4),  # rows: cpu_runs
        refuse=lambda at: first_refusal(for_cpus, double_precision),
    ),
    _SEGMENTS.cpu(
        "cpu_tiles",
        by_rows=True,
        rank=7,
        level="device",
        folds="fixed tiles",
        geometry=Geometry(1, 8192, 4),  # rows: cpu_tiles
        refuse=lambda at: first_refusal(for_cpus, double_precision, in_two_levels),
    ),
    *_SHARES.gpu(
        "shares",
        rank=5,
        geometry=PerBackend(Geometry(256, 16, 3), Geometry(256, 16, 2)),  # rows: shares
        more_if_short=PerBackend(1, 0),  # rows: shares
        vectors=True,
        refuse=for_shares,
    ),
    *_TILES.gpu(
        "fixed_tiles",
        rank=3,
        level="device",
        folds="fixed tiles",
        geometry=Geometry(TILE // RUN, RUN, 4),  # rows: fixed_tiles
        vectors=True,
        refuse=for_fixed_tiles,
    ),
)
