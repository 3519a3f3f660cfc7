"""The kernels that descend by single samples: what they are for, and what they refuse."""

from __future__ import annotations

from pathlib import Path

from gpuprims.registry import Variant, first_refusal
from gpuprims.rules import double_precision, group_fits, number_atomics, row_fits

KERNELS = Path(__file__).parent / "kernels"

WALKS = (
    Variant(
        primitive="sgd",
        name="gram",
        backend="cuda",
        source=KERNELS / "sgd_gram.cu",
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
        source=KERNELS / "hogwild_lock_free.cu",
        rank=90,
        block=32,
        items=32,
        groups_per_unit=4,
        repeats=False,
        refuse=first_refusal(double_precision, number_atomics),
    ),
)
