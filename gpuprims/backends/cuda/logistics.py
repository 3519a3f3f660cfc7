"""The kernels of the logistic gradient: what they are for, and what they refuse."""

from __future__ import annotations

from pathlib import Path

from gpuprims.registry import Variant, first_refusal
from gpuprims.rules import (
    columns_fit,
    double_precision,
    gradient_fits,
    gradients_fit,
    group_fits,
    row_fits,
    samples_fit,
    values_fit,
)

KERNELS = Path(__file__).parent / "kernels"

# H200, driver 580.159, CUDA 13.0, float32, 2026-11-22, ms of a call after the other: logistic/fused 0.93 of 10^7 x 100,
# where one reading takes 0.93, and CuPy's two products 2.70; 0.93 of 10^6 x 1024, where one takes 0.91; 0.11 of
# 10^6 x 100. The articles' kernels have not been timed on it.
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
    # The ladder of the articles, which is run when asked for by name, or by two_kernels_local where rows are too long.
    Variant(
        primitive="logistic",
        name="two_kernels_local",
        backend="cuda",
        source=KERNELS / "logistic_two_kernels_local.cu",
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
        backend="cuda",
        source=KERNELS / "logistic_two_kernels.cu",
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
        backend="cuda",
        source=KERNELS / "logistic_two_kernels_transposed.cu",
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
        backend="cuda",
        source=KERNELS / "logistic_vec4.cu",
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
        backend="cuda",
        source=KERNELS / "logistic_tree.cu",
        rank=40,
        block=64,
        items=1,
        shares_outputs=False,
        refuse=first_refusal(double_precision, group_fits(64), gradients_fit(64)),
    ),
    Variant(
        primitive="logistic",
        name="work_items",
        backend="cuda",
        source=KERNELS / "logistic_work_items.cu",
        rank=30,
        block=64,
        items=1,
        shares_outputs=False,
        refuse=first_refusal(double_precision, group_fits(64), gradients_fit(64)),
    ),
    Variant(
        primitive="logistic",
        name="merged_loops",
        backend="cuda",
        source=KERNELS / "logistic_merged_loops.cu",
        rank=20,
        block=1,
        items=1,
        shares_outputs=False,
        refuse=first_refusal(double_precision, gradient_fits),
    ),
    Variant(
        primitive="logistic",
        name="sequential",
        backend="cuda",
        source=KERNELS / "logistic_sequential.cu",
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
        name="persistent",
        backend="cuda",
        source=KERNELS / "descent_persistent.cu",
        rank=10,
        block=256,
        items=160,
        word_items=True,
        refuse=first_refusal(double_precision, group_fits(256), columns_fit(32), samples_fit(256, 160)),
    ),
)
