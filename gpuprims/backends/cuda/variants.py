"""The kernels of the CUDA backend: which there are, what they are for, and what they refuse.

The numbers in an entry carry the measurement that set them.
"""

from __future__ import annotations

from pathlib import Path

from gpuprims.registry import Variant, first_refusal
from gpuprims.rules import double_precision, group_fits

KERNELS = Path(__file__).parent / "kernels"

VARIANTS = (
    Variant(
        primitive="map",
        name="grid",
        backend="cuda",
        source=KERNELS / "map_grid.cu",
        rank=10,
        block=256,
        items=4,
        refuse=first_refusal(double_precision, group_fits(256)),
    ),
    Variant(
        primitive="reduce",
        name="warp",
        backend="cuda",
        source=KERNELS / "reduce_warp.cu",
        rank=20,
        block=256,
        items=8,
        groups_per_unit=8,
        refuse=first_refusal(double_precision, group_fits(256)),
    ),
    Variant(
        primitive="reduce",
        name="tree",
        backend="cuda",
        source=KERNELS / "reduce_tree.cu",
        rank=10,
        block=256,
        items=8,
        groups_per_unit=8,
        refuse=first_refusal(double_precision, group_fits(256)),
    ),
)
