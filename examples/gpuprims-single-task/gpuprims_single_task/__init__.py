"""map/single_task, a kernel that gpuprims finds through this package's entry point."""

from pathlib import Path

from gpuprims import CallTraits, Capabilities, Geometry, Variant
from gpuprims.core.geometry import first_refusal
from gpuprims.core.refusals import double_precision

LIMIT = 64  # outputs; kernels that use many work-items are faster for more


def small_arrays_only(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse calls that are too large for one work-item."""
    if call.outputs <= LIMIT:
        return None
    return f"runs at most {LIMIT} elements in one work-item of {capabilities.name}; got {call.outputs}"


VARIANTS = (
    Variant(
        primitive="map",
        name="single_task",
        backend="opencl",
        source=Path(__file__).with_name("map_single_task.cl"),
        rank=1000,
        geometry=Geometry(1, LIMIT),
        refuse=first_refusal(small_arrays_only, double_precision),
    ),
)
