"""The variants of random numbers. Comments name the rows of measurements.md."""

from __future__ import annotations

from pathlib import Path

from gpuprims.core.catalogue import Catalogue
from gpuprims.core.geometry import Geometry, first_refusal
from gpuprims.core.refusals import double_precision, group_fits
from gpuprims.core.variant import Variant
from gpuprims.primitives.philox.reference import philox_numpy

_PHILOX = Catalogue(Variant, "philox", Path(__file__).parent)

VARIANTS = (
    *_PHILOX.gpu(
        "grid",
        rank=10,
        geometry=Geometry(256, 64),  # rows: grid, grid-whole
        vectors=True,
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block)),
    ),
    _PHILOX.numpy(philox_numpy),
)
