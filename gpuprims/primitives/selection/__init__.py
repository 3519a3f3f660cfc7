"""select: elements of given ranks, from which medians, quantiles and partitions are made."""

from __future__ import annotations

from gpuprims.core.primitive import Primitive
from gpuprims.primitives.selection.partitions import argpartition, partition
from gpuprims.primitives.selection.plan import plan_call, sample
from gpuprims.primitives.selection.quantiles import median, percentile, quantile
from gpuprims.primitives.selection.variants import VARIANTS

__all__ = ["PRIMITIVE", "argpartition", "median", "partition", "percentile", "quantile"]

# No bind: ranks are arrays of the library's own.
PRIMITIVE = Primitive("selection", VARIANTS, plan_call, sample, tuning_case=f"{__name__}.tuning_case", tuned=False)
