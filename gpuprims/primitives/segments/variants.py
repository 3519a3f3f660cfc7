"""The variants of segments. Comments name the rows of measurements.md."""

from __future__ import annotations

from pathlib import Path

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.catalogue import Catalogue, PerBackend
from gpuprims.core.geometry import Geometry, first_refusal
from gpuprims.core.refusals import double_precision, for_cpus, group_fits, shuffles
from gpuprims.core.traits import CallTraits
from gpuprims.primitives.fold_variants import FoldVariant


def many_segments(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse segments that leave most warps idle: too few, or so long that one of them ends last."""
    if call.size <= 8192 and call.outputs >= 1024:
        return None
    got = f"{call.outputs}, none longer than {call.size}"
    return f"is for 1024 segments or more of at most 8192 elements; this call has {got}"


_SEGMENTS = Catalogue(FoldVariant, "segments", Path(__file__).parent)

VARIANTS = (
    _SEGMENTS.cpu(
        "cpu_runs",
        rank=10,
        geometry=Geometry(1, 8192, 16),
        refuse=lambda at: first_refusal(for_cpus, double_precision),
    ),
    *_SEGMENTS.gpu(
        "lanes",
        rank=PerBackend(cuda=10, opencl=5),
        geometry=Geometry(256, 4, 32),  # rows: lanes
        shares_outputs=False,
        refuse=lambda at: first_refusal(many_segments, shuffles(at.block), double_precision, group_fits(at.block)),
    ),
)
