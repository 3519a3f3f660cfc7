"""The variants of descent. Comments name the rows of measurements.md."""

from __future__ import annotations

from pathlib import Path

from gpuprims.core.catalogue import Catalogue
from gpuprims.core.geometry import Geometry, first_refusal
from gpuprims.core.refusals import double_precision, for_cpus, group_fits
from gpuprims.primitives.descent.reference import descent_numpy
from gpuprims.primitives.logistic.refusals import columns_fit, gradient_fits, samples_fit
from gpuprims.primitives.logistic.variants import LogisticVariant

_DESCENT = Catalogue(LogisticVariant, "descent", Path(__file__).parent)

VARIANTS = (
    _DESCENT.cpu(
        "cpu_persistent",
        rank=20,
        geometry=Geometry(1, 2**18),  # rows: cpu_persistent
        scratch="rows",
        refuse=lambda at: first_refusal(for_cpus, double_precision, gradient_fits, samples_fit(at)),
    ),
    *_DESCENT.gpu(
        "persistent",
        rank=10,
        geometry=Geometry(256, 160),  # rows: persistent
        word_items=True,
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block), columns_fit, samples_fit(at)),
    ),
    _DESCENT.numpy(descent_numpy),
)
