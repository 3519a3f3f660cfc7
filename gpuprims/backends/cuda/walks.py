"""The kernels that descend by single samples: what they are for, and what they refuse."""

from __future__ import annotations

from pathlib import Path

from gpuprims.core.refusals import double_precision, group_fits, number_atomics, row_fits
from gpuprims.core.registry import Variant, first_refusal

KERNELS = Path(__file__).parents[2] / "primitives"

# H200, driver 580.159, CUDA 13.0, float32, 2026-11-22, ms of 30 times round 4500 x 1024 samples: sgd/gram 15.2 by 8
# work-items a sample and 32 samples a run; by 16 and 32 18.1, 32 and 32 28.9, 16 and 16 17.0, 32 and 8 27.8, 4 and 32,
# whose rows do not stay in registers, 121. hogwild/lock_free 4.7 by 140 workers, 19 by 32, 514 by one.
WALKS = (
    Variant(
        primitive="sgd",
        name="gram",
        backend="cuda",
        source=KERNELS / "sgd/kernels/sgd_gram.cl",
        rank=90,
        block=256,
        items=64,
        groups_per_unit=8,
        vectors=True,
        scratch="products",
        refuse=first_refusal(double_precision, group_fits(256), row_fits(256, 64)),
    ),
    Variant(
        primitive="hogwild",
        name="lock_free",
        backend="cuda",
        source=KERNELS / "hogwild/kernels/hogwild_lock_free.cl",
        rank=90,
        block=32,
        items=32,
        groups_per_unit=4,
        repeats=False,
        refuse=first_refusal(double_precision, number_atomics),
    ),
)
