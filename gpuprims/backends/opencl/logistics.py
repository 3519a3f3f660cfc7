"""The kernels of the logistic gradient: what they are for, and what they refuse."""

from __future__ import annotations

from pathlib import Path

from gpuprims.registry import Variant, first_refusal
from gpuprims.rules import double_precision, for_cpus, gradient_fits, group_fits, row_fits, values_fit

KERNELS = Path(__file__).parent / "kernels"

LOGISTICS = (
    Variant(
        primitive="logistic",
        name="cpu_fused",
        backend="opencl",
        source=KERNELS / "logistic_cpu_fused.cl",
        rank=100,
        block=1,
        items=256,
        groups_per_unit=16,
        refuse=first_refusal(for_cpus, double_precision, gradient_fits),
    ),
    Variant(
        primitive="logistic",
        name="fused",
        backend="opencl",
        source=KERNELS / "logistic_fused.cl",
        rank=90,
        block=256,
        items=32,
        word_items=True,
        groups_per_unit=3,
        vectors=True,
        refuse=first_refusal(double_precision, group_fits(256), values_fit(256), row_fits(256, 32)),
    ),
)
