"""The variants of select."""

from __future__ import annotations

from pathlib import Path

from gpuprims.core.catalogue import Catalogue
from gpuprims.core.geometry import Geometry, first_refusal
from gpuprims.core.refusals import double_precision, group_fits
from gpuprims.core.variant import Variant
from gpuprims.primitives.ordering import counts_fit
from gpuprims.primitives.selection.reference import selection_numpy

_SELECTION = Catalogue(Variant, "selection", Path(__file__).parent)

VARIANTS = (
    *_SELECTION.gpu(
        "radix",
        rank=10,
        geometry=Geometry(256, 16, 8),  # rows: radix
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block), counts_fit),
    ),
    _SELECTION.numpy(selection_numpy),
)
