"""The variants of the logistic gradient. Comments name the rows of measurements.md."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gpuprims.core.catalogue import Catalogue
from gpuprims.core.geometry import Geometry, Refusal, first_refusal
from gpuprims.core.refusals import double_precision, for_cpus, group_fits, values_fit
from gpuprims.core.variant import Variant
from gpuprims.primitives.logistic.reference import logistic_numpy
from gpuprims.primitives.logistic.refusals import (
    few_features,
    gradient_fits,
    row_fits,
    samples_of_bytes,
    samples_of_floats,
)


@dataclass(frozen=True)
class LogisticVariant(Variant):
    """A variant of the gradient, of batch gradient descent, or of steps by single samples."""

    # Memory beside the operands, for the residual and the loss of each row. "in turn": one launch writes them, and the
    # next launch sums them. "columns": the samples by columns, copied by a first launch if "in turn". "products": a
    # first launch multiplies samples with each other.
    scratch: Literal["none", "rows", "rows in turn", "columns", "columns in turn", "products"] = "none"
    # Several groups each sum a part of the rows.
    shares_outputs: bool = True
    # Sums are added by a tree that is the same on every device; see fixed.py.
    fixed: bool = False
    # ``items`` counts 32-bit words; a float64 takes two.
    word_items: bool = False
    # Samples that the kernel packs in a word, at least.
    packs: int = 1


def _group(at: Geometry) -> Refusal:
    return first_refusal(double_precision, group_fits(at.block))


def _floats(at: Geometry) -> Refusal:
    return first_refusal(_group(at), samples_of_floats)


_LOGISTIC = Catalogue(LogisticVariant, "logistic", Path(__file__).parent)
# The kernels of the articles for .NET. Calls ask for them by name; two_kernels_local also runs where rows are too long
# for the variants of higher rank.
_GRID: dict[str, Any] = {"geometry": Geometry(64, 1, 16)}
_BY_COLUMNS: dict[str, Any] = {**_GRID, "scratch": "columns in turn", "vectors": True}

VARIANTS = (
    _LOGISTIC.cpu(
        "cpu_fused",
        rank=100,
        geometry=Geometry(1, 256, 16),  # rows: cpu_fused
        refuse=lambda at: first_refusal(for_cpus, double_precision, gradient_fits),
    ),
    _LOGISTIC.cpu(
        "cpu_fixed_point",
        rank=95,
        geometry=Geometry(1, 256, 16),  # rows: cpu_fused, pairs, pairs-vnni
        refuse=lambda at: first_refusal(for_cpus, double_precision, gradient_fits, samples_of_bytes),
    ),
    *_LOGISTIC.gpu(
        "fused",
        rank=90,
        geometry=Geometry(256, 32, 3),  # rows: fused
        word_items=True,
        vectors=True,
        refuse=lambda at: first_refusal(_group(at), values_fit(at.block), row_fits(at)),
    ),
    *_LOGISTIC.gpu(
        "fixed_point",
        rank=80,
        geometry=Geometry(256, 32, 3),  # rows: fused
        word_items=True,
        vectors=True,
        packs=4,
        refuse=lambda at: first_refusal(_group(at), values_fit(at.block), row_fits(at), samples_of_bytes),
    ),
    *_LOGISTIC.gpu(
        "two_kernels_local",
        rank=70,
        scratch="rows in turn",
        refuse=lambda at: first_refusal(_floats(at), values_fit(at.block)),
        **_GRID,
    ),
    *_LOGISTIC.gpu("two_kernels", rank=60, scratch="rows in turn", refuse=_floats, **_GRID),
    *_LOGISTIC.gpu("grad1_ff4", rank=50, scratch="rows in turn", vectors=True, refuse=_floats, **_GRID),
    *_LOGISTIC.gpu("grad2_tf4", rank=40, refuse=_floats, **_BY_COLUMNS),
    *_LOGISTIC.gpu("grad1_ns4", rank=30, refuse=_floats, **_BY_COLUMNS),
    *_LOGISTIC.gpu("grad2_ns", rank=20, refuse=_floats, **_BY_COLUMNS),
    *_LOGISTIC.gpu(
        "grad2_ns_loc",
        rank=10,
        refuse=lambda at: first_refusal(_floats(at), values_fit(4 * at.block)),
        **_BY_COLUMNS,
    ),
    _LOGISTIC.cpu(
        "cpu_fixed",
        rank=8,
        geometry=Geometry(1, 256, 16),  # rows: cpu_fixed
        fixed=True,
        level="device",
        refuse=lambda at: first_refusal(for_cpus, double_precision, samples_of_floats, few_features),
    ),
    *_LOGISTIC.gpu(
        "fixed",
        rank=5,
        geometry=Geometry(256, 32, 3),  # rows: fixed
        vectors=True,
        fixed=True,
        level="device",
        refuse=lambda at: first_refusal(_floats(at), values_fit(at.block), few_features),
    ),
    _LOGISTIC.numpy(logistic_numpy, shares_outputs=False, fixed=True, level="device"),
)
