"""The variants of selection."""

from __future__ import annotations

from pathlib import Path

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.catalogue import Catalogue
from gpuprims.core.geometry import Geometry, first_refusal
from gpuprims.core.refusals import double_precision, for_cpus, group_fits, not_for_cpus
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.primitives.ordering import counts_fit
from gpuprims.primitives.selection.reference import selection_numpy
from gpuprims.primitives.selection.traits import along_one_axis, many_rows
from gpuprims.primitives.sort.refusals import rows_below, rows_from, whole_rows

_SELECTION = Catalogue(Variant, "selection", Path(__file__).parent)

_ON_CPUS, _ON_GPUS = rows_from(2**20), rows_from(2**23)  # rows: sampled, sampled-gpu


def _too_short_to_sample(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Yield rows that are too short for a sample to pay."""
    return (_ON_CPUS if capabilities.kind == "cpu" else _ON_GPUS)(capabilities, call)


VARIANTS = (
    _SELECTION.cpu(
        "cpu_rows",
        rank=20,
        geometry=Geometry(1, 1, 1),
        refuse=lambda at: first_refusal(
            for_cpus,
            double_precision,
            rows_below(2**20),  # each compute unit has scratch memory for a row
            whole_rows(2**18, 2),  # rows: cpu_rows
        ),
    ),
    *_SELECTION.gpu(
        "lanes",
        rank=22,
        geometry=Geometry(128, 1),  # rows: lanes
        refuse=lambda at: first_refusal(not_for_cpus, double_precision, group_fits(at.block), rows_below(2**6)),
    ),
    *_SELECTION.gpu(
        "sorted",
        rank=19,
        geometry=Geometry(128, 1),
        refuse=lambda at: first_refusal(
            not_for_cpus, double_precision, group_fits(at.block), along_one_axis, rows_below(2**12)
        ),
        yields=many_rows(8),  # rows: sorted
    ),
    *_SELECTION.gpu(
        "rows",
        rank=18,
        geometry=Geometry(512, 1, 4),  # rows: rows
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block), rows_below(2**32 - 1)),
        yields=first_refusal(rows_below(2**18), whole_rows(2**15, 1)),  # rows: rows
    ),
    *_SELECTION.gpu(
        "sampled",
        rank=15,
        vectors=True,
        geometry=Geometry(256, 16, 8),  # rows: sampled
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block), counts_fit),
        yields=_too_short_to_sample,
    ),
    *_SELECTION.gpu(
        "radix",
        rank=10,
        geometry=Geometry(256, 16, 8),  # rows: radix
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block), counts_fit),
    ),
    _SELECTION.numpy(selection_numpy),
)
