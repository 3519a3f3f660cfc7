"""selection: elements of given ranks, for medians, quantiles and partitions."""

from __future__ import annotations

from functools import partial

from gpuprims.core.plans import planner
from gpuprims.core.primitive import Primitive
from gpuprims.primitives.selection import partitions, quantile_plans
from gpuprims.primitives.selection.partitions import argpartition, bind_partition, partition
from gpuprims.primitives.selection.plan import plan_call, sample
from gpuprims.primitives.selection.quantiles import MOST, bind_median, bind_quantile, median, percentile, quantile
from gpuprims.primitives.selection.variants import VARIANTS

__all__ = ["PRIMITIVE", "argpartition", "median", "partition", "percentile", "quantile"]

# The primitive has no bind, because its callers make the array of ranks.
_QUANTILES = {
    name: planner(
        *(name, partial(bind_quantile, name), quantile_plans.plan_call), taken=2, positional=("axis",), beside=True
    )
    for name in MOST
}
_PARTITIONS = {
    name: planner(
        *(name, partial(bind_partition, name), partitions.plan_call), taken=2, positional=("axis",), beside=True
    )
    for name in ("partition", "argpartition")
}
PRIMITIVE = Primitive(
    *("selection", VARIANTS, plan_call, sample),
    tuning_case=f"{__name__}.tuning_case",
    tuned=False,
    plans={
        "median": planner("median", bind_median, quantile_plans.plan_call, positional=("axis",), beside=True),
        **_QUANTILES,
        **_PARTITIONS,
    },
)
