"""The kernels of the logistic gradient: what they are for, and what they refuse."""

from __future__ import annotations

from pathlib import Path

from gpuprims.backends.ladder import ladder
from gpuprims.core.refusals import (
    columns_fit,
    double_precision,
    group_fits,
    row_fits,
    samples_fit,
    values_fit,
)
from gpuprims.core.registry import Variant, first_refusal

KERNELS = Path(__file__).parents[2] / "primitives"

# H200, driver 580.159, CUDA 13.0, float32, 2026-11-22, ms of a call after the other: logistic/fused 0.89 to 0.92 of
# 10^7 x 100, where one reading takes 0.93 by a sum, and CuPy's two products 2.66; 0.93 to 0.95 of 10^6 x 1024, where
# one takes 0.91; 0.11 of 10^6 x 100.
LOGISTICS = (
    Variant(
        primitive="logistic",
        name="fused",
        backend="cuda",
        source=KERNELS / "logistic/kernels/logistic_fused.cl",
        rank=90,
        block=256,
        items=32,
        word_items=True,
        groups_per_unit=3,
        vectors=True,
        refuse=first_refusal(double_precision, group_fits(256), values_fit(256), row_fits(256, 32)),
    ),
    *ladder("cuda", KERNELS / "logistic/kernels"),
)

# Gradient descent whose steps are all taken in one launch. H200, driver 580.159, CUDA 13.0, float32, 2026-11-22, of
# 2048 x 8: descent/persistent 2.37 million steps a second (of the 870 clocks that a step takes, some 375 are scores and
# gradient, 170 the fold of a warp, 150 that of the warps and the step itself).
DESCENTS = (
    Variant(
        primitive="descent",
        name="persistent",
        backend="cuda",
        source=KERNELS / "descent/kernels/descent_persistent.cl",
        rank=10,
        block=256,
        items=160,
        word_items=True,
        refuse=first_refusal(double_precision, group_fits(256), columns_fit(32), samples_fit(256, 160)),
    ),
)
