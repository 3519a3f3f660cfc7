"""The variants of top_k."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.catalogue import Catalogue
from gpuprims.core.geometry import Geometry, Refusal, first_refusal
from gpuprims.core.refusals import double_precision, for_cpus, group_fits, not_for_cpus
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.primitives.ordering import counts_fit
from gpuprims.primitives.top_k.reference import top_k_numpy


@dataclass(frozen=True)
class TopKTraits(CallTraits):
    """Facts about a call, which takes ``k`` elements of each row or segment."""

    k: int = 1
    segmented: bool = False


@dataclass(frozen=True)
class TopKVariant(Variant):
    """A variant of top_k.

    Parameters
    ----------
    way : {"whole", "runs", "lanes", "rows", "sampled", "radix"}
        One launch for the reference; parts of rows by work-items; short rows by work-items; rows by groups; one pass
        after a sample; a launch for each digit.
    """

    way: Literal["whole", "runs", "lanes", "rows", "sampled", "radix"] = "whole"


def short_rows(at: Geometry) -> Refusal:
    """Refuse long rows, and a ``k`` above the number of work-items of a group."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        k = call.k if isinstance(call, TopKTraits) else 1
        if call.size <= _SHORT and k <= at.block:
            return None
        return f"is for k up to {at.block} and rows of at most {_SHORT} elements; this call takes {k} of {call.size}"

    return refuse


def fits_in_registers(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse segments, and rows of more elements than a work-item keeps in registers."""
    segmented = isinstance(call, TopKTraits) and call.segmented
    if call.size <= _MOST_OF_LANES and not segmented:
        return None
    what = "segments" if segmented else f"rows of {call.size}"
    return f"is for rows of at most {_MOST_OF_LANES} elements; this call has {what}"


def long_rows(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Yield short rows, and calls with many rows, for which a sample and more launches do not pay."""
    if call.size >= _LONG and call.outputs <= _FEW:
        return None
    return f"is for at most {_FEW} rows of at least {_LONG} elements; this call has {call.outputs} of {call.size}"


def few_of_rows(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse a ``k`` above what one group sorts, segments, and rows too long for 32-bit indices."""
    k, segmented = (call.k, call.segmented) if isinstance(call, TopKTraits) else (1, False)
    if k <= MOST_SORTED and call.size < 2**32 and not segmented:
        return None
    what = f"{k} of {'a segment' if segmented else call.size}"
    return f"is for k up to {MOST_SORTED} and rows of fewer than 2^32 elements; this call takes {what}"


# Most elements of a row that top_k/lanes keeps in the registers of a work-item.
_MOST_OF_LANES = 1 << 6
# Most elements of a row that one group reads.
_SHORT = 1 << 16
# Fewest elements of sampled rows, most rows, and most elements that a group of 256 work-items sorts in local memory.
_LONG, _FEW, MOST_SORTED = 1 << 16, 64, 1024

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
        "lanes",
        rank=18,
        way="lanes",
        geometry=Geometry(128, 1),  # rows: lanes
        refuse=lambda at: first_refusal(not_for_cpus, double_precision, group_fits(at.block), fits_in_registers),
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
        "sampled",
        rank=12,
        way="sampled",
        vectors=True,
        geometry=Geometry(512, 16, 2),  # rows: sampled
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block), few_of_rows),
        yields=long_rows,
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
