"""The kernels of the logistic gradient: what they are for, and what they refuse."""

from __future__ import annotations

from pathlib import Path

from gpuprims.registry import Variant, first_refusal
from gpuprims.rules import (
    columns_fit,
    double_precision,
    for_cpus,
    gradient_fits,
    gradients_fit,
    group_fits,
    row_fits,
    samples_fit,
    values_fit,
)

KERNELS = Path(__file__).parent / "kernels"

# H200, driver 580.159, float32, 2026-11-22, ms of a call after the other: logistic/fused 0.94 of 10^7 x 100, where one
# reading takes 0.93; 0.98 of 10^6 x 1024, where one takes 0.91; 0.12 of 10^6 x 100.
# Two cores of an AMD EPYC of family 26, runtime 2026.2, float32, 2026-11-22, ms of 10^6 x 100: logistic/cpu_fused 8.6
# to 10.2, where a sum, which reads the same once, takes 5.4 to 7.9; NumPy's gradient alone 23 to 26. With 4, 16 and 64
# runs of rows a core 12.2, 12.1 and 11.9, beside other work.
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
    # The ladder of the articles, which is run when asked for by name, or by two_kernels_local where rows are too long.
    Variant(
        primitive="logistic",
        name="two_kernels_local",
        backend="opencl",
        source=KERNELS / "logistic_two_kernels_local.cl",
        rank=70,
        block=64,
        items=1,
        groups_per_unit=16,
        scratch="rows in turn",
        refuse=first_refusal(double_precision, group_fits(64), values_fit(64)),
    ),
    Variant(
        primitive="logistic",
        name="two_kernels",
        backend="opencl",
        source=KERNELS / "logistic_two_kernels.cl",
        rank=60,
        block=64,
        items=1,
        groups_per_unit=16,
        scratch="rows in turn",
        refuse=first_refusal(double_precision, group_fits(64)),
    ),
    Variant(
        primitive="logistic",
        name="two_kernels_transposed",
        backend="opencl",
        source=KERNELS / "logistic_two_kernels_transposed.cl",
        rank=55,
        block=64,
        items=1,
        groups_per_unit=16,
        scratch="columns in turn",
        refuse=first_refusal(double_precision, group_fits(64)),
    ),
    Variant(
        primitive="logistic",
        name="vec4",
        backend="opencl",
        source=KERNELS / "logistic_vec4.cl",
        rank=50,
        block=64,
        items=1,
        vectors=True,
        shares_outputs=False,
        refuse=first_refusal(double_precision, group_fits(64), gradients_fit(64)),
    ),
    Variant(
        primitive="logistic",
        name="tree",
        backend="opencl",
        source=KERNELS / "logistic_tree.cl",
        rank=40,
        block=64,
        items=1,
        shares_outputs=False,
        refuse=first_refusal(double_precision, group_fits(64), gradients_fit(64)),
    ),
    Variant(
        primitive="logistic",
        name="work_items",
        backend="opencl",
        source=KERNELS / "logistic_work_items.cl",
        rank=30,
        block=64,
        items=1,
        shares_outputs=False,
        refuse=first_refusal(double_precision, group_fits(64), gradients_fit(64)),
    ),
    Variant(
        primitive="logistic",
        name="merged_loops",
        backend="opencl",
        source=KERNELS / "logistic_merged_loops.cl",
        rank=20,
        block=1,
        items=1,
        shares_outputs=False,
        refuse=first_refusal(double_precision, gradient_fits),
    ),
    Variant(
        primitive="logistic",
        name="sequential",
        backend="opencl",
        source=KERNELS / "logistic_sequential.cl",
        rank=10,
        block=1,
        items=1,
        shares_outputs=False,
        scratch="rows",
        refuse=double_precision,
    ),
)

# Gradient descent whose steps are all taken in one launch.
DESCENTS = (
    Variant(
        primitive="descent",
        name="cpu_persistent",
        backend="opencl",
        source=KERNELS / "descent_cpu_persistent.cl",
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
        source=KERNELS / "descent_persistent.cl",
        rank=10,
        block=256,
        items=160,
        word_items=True,
        refuse=first_refusal(double_precision, group_fits(256), columns_fit(32), samples_fit(256, 160)),
    ),
)
