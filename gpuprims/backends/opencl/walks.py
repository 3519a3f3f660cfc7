"""The kernels that descend by single samples: what they are for, and what they refuse."""

from __future__ import annotations

from pathlib import Path

from gpuprims.core.refusals import double_precision, for_cpus, group_fits, number_atomics, row_fits
from gpuprims.core.registry import Variant, first_refusal

KERNELS = Path(__file__).parents[2] / "primitives"

# Two cores of an AMD EPYC of family 26, runtime 2026.2, float32, 2026-11-22, beside other work, ms of 30 rounds of
# 4,500 x 1,024, least and median of 12: sgd/cpu_sequential 21 and 28; a loop by numba 104 and 120, with fastmath 31 and
# 40; by NumPy 484 and 490. hogwild/lock_free 3500, for each addition is a locked one of the core. What a prefetch of
# the row after next is for has not been seen: 22 with it, 22 without.
WALKS = (
    Variant(
        primitive="sgd",
        name="cpu_sequential",
        backend="opencl",
        source=KERNELS / "sgd/kernels/sgd_cpu_sequential.cl",
        rank=100,
        block=1,
        items=1,
        refuse=first_refusal(for_cpus, double_precision),
    ),
    Variant(
        primitive="sgd",
        name="gram",
        backend="opencl",
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
        backend="opencl",
        source=KERNELS / "hogwild/kernels/hogwild_lock_free.cl",
        rank=90,
        block=32,
        items=32,
        groups_per_unit=4,
        repeats=False,
        refuse=first_refusal(double_precision, number_atomics),
    ),
)
