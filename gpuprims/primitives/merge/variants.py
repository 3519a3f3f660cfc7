"""The variants of merge. Comments name the rows of measurements.md."""

from __future__ import annotations

from pathlib import Path

from gpuprims.core.catalogue import Catalogue
from gpuprims.core.geometry import Geometry, Refusal, first_refusal
from gpuprims.core.refusals import SPARE_LOCAL, double_precision, for_cpus, group_fits, lacks_local
from gpuprims.core.variant import Variant
from gpuprims.primitives.merge.reference import merge_numpy


def tile_fits(at: Geometry) -> Refusal:
    """Refuse devices whose local memory is too small for a tile."""
    return lambda able, call: lacks_local(at.block * at.items * call.value_bytes + SPARE_LOCAL, able)


_MERGE = Catalogue(Variant, "merge", Path(__file__).parent)

VARIANTS = (
    _MERGE.cpu(
        "cpu_runs",
        rank=20,
        geometry=Geometry(1, 16384),  # rows: cpu_runs
        refuse=lambda at: first_refusal(for_cpus, double_precision),
    ),
    *_MERGE.gpu(
        "path",
        rank=10,
        geometry=Geometry(256, 11, 8),  # rows: path; an odd number of items avoids bank conflicts
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block), tile_fits(at)),
    ),
    _MERGE.numpy(merge_numpy),
)
