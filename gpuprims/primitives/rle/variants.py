"""The variants of rle. Comments name the rows of measurements.md."""

from __future__ import annotations

from pathlib import Path

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.catalogue import Catalogue, PerBackend
from gpuprims.core.geometry import Geometry, Refusal, first_refusal
from gpuprims.core.refusals import (
    SPARE_LOCAL,
    double_precision,
    forward_progress,
    group_fits,
    lacks_local,
    not_for_cpus,
    warps_of,
)
from gpuprims.core.traits import CallTraits
from gpuprims.primitives.fold_variants import ScanVariant


def gathered_fit(at: Geometry) -> Refusal:
    """Refuse devices whose local memory is too small for a tile's words and three numbers of each warp."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        words = at.block * at.items + 3 * warps_of(at.block, capabilities)
        return lacks_local(4 * words + SPARE_LOCAL, capabilities)

    return refuse


_RLE = Catalogue(ScanVariant, "rle", Path(__file__).parent)

VARIANTS = (
    *_RLE.gpu(
        "round_robin",
        rank=10,
        geometry=PerBackend(cuda=Geometry(128, 64, 2), opencl=Geometry(512, 16, 1)),
        word_items=True,
        looks=2,
        vectors=True,
        scratch="tile statuses",
        together=True,
        refuse=lambda at: first_refusal(
            not_for_cpus, double_precision, group_fits(at.block), gathered_fit(at), forward_progress
        ),
    ),
)
