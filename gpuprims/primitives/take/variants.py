"""The variants of take. Comments name the rows of measurements.md."""

from __future__ import annotations

from pathlib import Path

from gpuprims.core.catalogue import Catalogue
from gpuprims.core.geometry import Geometry, first_refusal
from gpuprims.core.refusals import double_precision, for_cpus, group_fits
from gpuprims.core.variant import Variant
from gpuprims.primitives.take.reference import take_numpy

_TAKE = Catalogue(Variant, "take", Path(__file__).parent)

VARIANTS = (
    _TAKE.cpu(
        "cpu_runs",
        rank=20,
        geometry=Geometry(1, 16384),  # rows: cpu_runs
        refuse=lambda at: first_refusal(for_cpus, double_precision),
    ),
    *_TAKE.gpu(
        "grid",
        rank=10,
        geometry=Geometry(256, 8, 16),  # rows: grid
        vectors=True,
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block)),
    ),
    _TAKE.numpy(take_numpy),
)
