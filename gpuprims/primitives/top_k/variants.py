"""The variants of top_k."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.catalogue import Catalogue
from gpuprims.core.geometry import Geometry, Refusal, first_refusal
from gpuprims.core.refusals import double_precision, for_cpus, group_fits
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.primitives.ordering import counts_fit
from gpuprims.primitives.top_k.reference import top_k_numpy


@dataclass(frozen=True)
class TopKTraits(CallTraits):
    """Facts about a call; ``k`` elements are taken of each row."""

    k: int = 1


@dataclass(frozen=True)
class TopKVariant(Variant):
    """A variant of top_k.

    Parameters
    ----------
    way : {"whole", "runs", "rows", "radix"}
        One launch; runs of rows by work-items; a row for each group; launches that select digit by digit.
    """

    way: Literal["whole", "runs", "rows", "radix"] = "whole"


def short_rows(at: Geometry) -> Refusal:
    """Refuse long rows, and more elements of each than a group has work-items."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        k = call.k if isinstance(call, TopKTraits) else 1
        if call.size <= _SHORT and k <= at.block:
            return None
        return f"is for {at.block} elements or fewer of rows of at most {_SHORT}; this call takes {k} of {call.size}"

    return refuse


# Elements of a row that one group reads.
_SHORT = 1 << 16

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
        "rows",
        rank=15,
        way="rows",
        vectors=True,
        geometry=Geometry(256, 16),  # rows: rows
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block), short_rows(at)),
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
