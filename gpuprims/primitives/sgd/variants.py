"""The variants of sgd. Comments name the rows of measurements.md."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gpuprims.core.catalogue import Catalogue
from gpuprims.core.geometry import Geometry, first_refusal
from gpuprims.core.refusals import double_precision, for_cpus, group_fits
from gpuprims.core.variant import Variant
from gpuprims.primitives.logistic.refusals import row_fits
from gpuprims.primitives.sgd.reference import sgd_numpy


@dataclass(frozen=True)
class SgdVariant(Variant):
    """A variant of steps by single samples."""

    # Memory beside the operands, for products of samples, which an earlier launch computes.
    scratch: Literal["none", "products"] = "none"


_SGD = Catalogue(SgdVariant, "sgd", Path(__file__).parent)

VARIANTS = (
    _SGD.cpu(
        "cpu_sequential",
        rank=100,
        geometry=Geometry(1, 1),  # rows: cpu_sequential
        refuse=lambda at: first_refusal(for_cpus, double_precision),
    ),
    *_SGD.gpu(
        "gram",
        rank=90,
        geometry=Geometry(256, 64, 8),  # rows: gram
        vectors=True,
        scratch="products",
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block), row_fits(at)),
    ),
    _SGD.numpy(sgd_numpy, Geometry(1, 1)),
)
