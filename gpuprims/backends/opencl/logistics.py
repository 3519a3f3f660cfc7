"""The kernels of the logistic gradient: what they are for, and what they refuse."""

from __future__ import annotations

from pathlib import Path

from gpuprims.backends.ladder import ladder
from gpuprims.core.refusals import (
    columns_fit,
    double_precision,
    for_cpus,
    gradient_fits,
    group_fits,
    row_fits,
    samples_fit,
    values_fit,
)
from gpuprims.core.registry import Variant, first_refusal

KERNELS = Path(__file__).parents[2] / "primitives"

# H200, driver 580.159, float32, 2026-11-22, ms of a call after the other: logistic/fused 0.90 to 0.93 of 10^7 x 100,
# where one reading takes 0.93; 0.96 to 0.99 of 10^6 x 1024, where one takes 0.91; 0.11 of 10^6 x 100.
# Two cores of an AMD EPYC of family 26, runtime 2026.2, float32, 2026-11-22, ms of 10^6 x 100: logistic/cpu_fused 8.6
# to 10.2, where a sum, which reads the same once, takes 5.4 to 7.9; NumPy's gradient alone 23 to 26. With 4, 16 and 64
# runs of rows a core 12.2, 12.1 and 11.9, beside other work.
LOGISTICS = (
    Variant(
        primitive="logistic",
        name="cpu_fused",
        backend="opencl",
        source=KERNELS / "logistic/kernels/logistic_cpu_fused.cl",
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
        source=KERNELS / "logistic/kernels/logistic_fused.cl",
        rank=90,
        block=256,
        items=32,
        word_items=True,
        groups_per_unit=3,
        vectors=True,
        refuse=first_refusal(double_precision, group_fits(256), values_fit(256), row_fits(256, 32)),
    ),
    *ladder("opencl", KERNELS / "logistic/kernels"),
)

# Gradient descent whose steps are all taken in one launch. H200, driver 580.159, float32, 2026-11-22, of 2048 x 8:
# descent/persistent 2.3 million steps a second with 128 work-items. Two cores of an AMD EPYC of family 26, runtime
# 2026.2: descent/cpu_persistent 1.0 million, on one core; NumPy 113,000.
DESCENTS = (
    Variant(
        primitive="descent",
        name="cpu_persistent",
        backend="opencl",
        source=KERNELS / "descent/kernels/descent_cpu_persistent.cl",
        rank=20,
        block=1,
        items=2**18,
        scratch="rows",
        refuse=first_refusal(for_cpus, double_precision, gradient_fits, samples_fit(1, 2**18)),
    ),
    Variant(
        primitive="descent",
        name="persistent",
        backend="opencl",
        source=KERNELS / "descent/kernels/descent_persistent.cl",
        rank=10,
        block=256,
        items=160,
        word_items=True,
        refuse=first_refusal(double_precision, group_fits(256), columns_fit(32), samples_fit(256, 160)),
    ),
)
