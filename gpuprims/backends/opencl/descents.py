"""The kernels that descend by single samples: what they are for, and what they refuse."""

from __future__ import annotations

from pathlib import Path

from gpuprims.registry import Variant, first_refusal
from gpuprims.rules import double_precision, for_cpus, group_fits, number_atomics, row_fits

KERNELS = Path(__file__).parent / "kernels"

DESCENTS = (
    Variant(
        primitive="sgd",
        name="cpu_sequential",
        backend="opencl",
        source=KERNELS / "sgd_cpu_sequential.cl",
        rank=100,
        block=1,
        items=1,
        refuse=first_refusal(for_cpus, double_precision),
    ),
    Variant(
        primitive="sgd",
        name="gram",
        backend="opencl",
        source=KERNELS / "sgd_gram.cl",
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
        backend="opencl",
        source=KERNELS / "hogwild_lock_free.cl",
        rank=90,
        block=32,
        items=32,
        groups_per_unit=4,
        repeats=False,
        refuse=first_refusal(double_precision, number_atomics),
    ),
)
