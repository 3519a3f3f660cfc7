"""The variants of top_k."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gpuprims.core.catalogue import Catalogue
from gpuprims.core.geometry import Geometry, first_refusal
from gpuprims.core.refusals import double_precision, for_cpus, group_fits
from gpuprims.core.variant import Variant
from gpuprims.primitives.ordering import counts_fit
from gpuprims.primitives.top_k.reference import top_k_numpy


@dataclass(frozen=True)
class TopKVariant(Variant):
    """A variant of top_k.

    Parameters
    ----------
    way : {"whole", "runs", "radix"}
        One launch; runs of rows by work-items; launches that select digit by digit.
    """

    way: Literal["whole", "runs", "radix"] = "whole"


_TOP_K = Catalogue(TopKVariant, "top_k", Path(__file__).parent)

VARIANTS = (
    _TOP_K.cpu(
        "cpu_runs",
        rank=20,
        way="runs",
        geometry=Geometry(1, 8192, 16),  # rows: cpu_runs
        refuse=lambda at: first_refusal(for_cpus, double_precision),
    ),
    *_TOP_K.gpu(
        "radix",
        rank=10,
        way="radix",
        vectors=True,
        geometry=Geometry(256, 16, 8),  # rows: radix
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block), counts_fit),
    ),
    _TOP_K.numpy(top_k_numpy),
)
