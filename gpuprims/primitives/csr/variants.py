"""The variants of csr. Comments name the rows of measurements.md."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gpuprims.core.catalogue import Catalogue
from gpuprims.core.geometry import Geometry, first_refusal
from gpuprims.core.refusals import double_precision, for_cpus, group_fits, values_fit
from gpuprims.core.variant import Variant
from gpuprims.primitives.csr.reference import csr_numpy


@dataclass(frozen=True)
class CsrVariant(Variant):
    """A variant of products with a sparse matrix."""

    # A fixed tree adds the products of a row.
    fixed: bool = False


_CSR = Catalogue(CsrVariant, "csr", Path(__file__).parent)

VARIANTS = (
    _CSR.cpu(
        "cpu_rows",
        rank=20,
        geometry=Geometry(1, 4096, 16),  # rows: cpu_rows
        refuse=lambda at: first_refusal(for_cpus, double_precision),
    ),
    *_CSR.gpu(
        "rows",
        rank=10,
        geometry=Geometry(256, 4),  # rows: rows
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block), values_fit(at.block)),
    ),
    _CSR.cpu(
        "cpu_fixed",
        rank=8,
        geometry=Geometry(1, 4096, 16),  # rows: cpu_fixed
        fixed=True,
        level="device",
        refuse=lambda at: first_refusal(for_cpus, double_precision),
    ),
    *_CSR.gpu(
        "fixed",
        rank=5,
        geometry=Geometry(256, 4),  # rows: fixed
        fixed=True,
        level="device",
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block), values_fit(at.block)),
    ),
    _CSR.numpy(csr_numpy, level="device"),
)
