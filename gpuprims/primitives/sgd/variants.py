"""The variants of sgd. Comments name the rows of measurements.md."""

from __future__ import annotations

from pathlib import Path

from gpuprims.core.catalogue import Catalogue
from gpuprims.core.geometry import Geometry, first_refusal
from gpuprims.core.refusals import double_precision, for_cpus, group_fits
from gpuprims.primitives.logistic.refusals import row_fits
from gpuprims.primitives.logistic.variants import LogisticVariant
from gpuprims.primitives.sgd.reference import sgd_numpy

_SGD = Catalogue(LogisticVariant, "sgd", Path(__file__).parent)

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
