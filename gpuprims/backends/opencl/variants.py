"""The kernels of the OpenCL backend: which there are, what they are for, and what they refuse.

CPU and GPU variants of a primitive are separate entries. The numbers in an entry carry the measurement that set them.
"""

from __future__ import annotations

from pathlib import Path

from gpuprims.driver import Capabilities
from gpuprims.registry import Call, Variant, first_refusal
from gpuprims.rules import double_precision, group_fits

KERNELS = Path(__file__).parent / "kernels"


def _for_cpus(capabilities: Capabilities, call: Call) -> str | None:
    if capabilities.kind == "cpu":
        return None
    return f"is for CPUs, where each work-item is a thread of its own; {capabilities.name} is a {capabilities.kind}"


VARIANTS = (
    Variant(
        primitive="map",
        name="cpu_chunks",
        backend="opencl",
        source=KERNELS / "map_cpu_chunks.cl",
        rank=20,
        block=1,
        items=16384,
        refuse=first_refusal(_for_cpus, double_precision),
    ),
    Variant(
        primitive="map",
        name="grid",
        backend="opencl",
        source=KERNELS / "map_grid.cl",
        rank=10,
        block=256,
        items=4,
        refuse=first_refusal(double_precision, group_fits(256)),
    ),
    Variant(
        primitive="reduce",
        name="cpu_chunks",
        backend="opencl",
        source=KERNELS / "reduce_cpu_chunks.cl",
        rank=20,
        block=1,
        items=8192,
        refuse=first_refusal(_for_cpus, double_precision),
    ),
    Variant(
        primitive="reduce",
        name="tree",
        backend="opencl",
        source=KERNELS / "reduce_tree.cl",
        rank=10,
        block=256,
        items=8,
        groups_per_unit=8,
        refuse=first_refusal(double_precision, group_fits(256)),
    ),
)
