"""The kernels of the logistic gradient: what they are for, and what they refuse."""

from __future__ import annotations

from pathlib import Path

from gpuprims.registry import Variant, first_refusal
from gpuprims.rules import double_precision, group_fits, row_fits, values_fit

KERNELS = Path(__file__).parent / "kernels"

LOGISTICS = (
    Variant(
        primitive="logistic",
        name="fused",
        backend="cuda",
        source=KERNELS / "logistic_fused.cu",
        rank=90,
        block=256,
        items=32,
        word_items=True,
        groups_per_unit=3,
        vectors=True,
        refuse=first_refusal(double_precision, group_fits(256), values_fit(256), row_fits(256, 32)),
    ),
)
