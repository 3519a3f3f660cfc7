"""A histogram of each row, for ``explain``."""

from __future__ import annotations

from gpuprims.core.launch_plan import LaunchPlan, Sample
from gpuprims.core.layout import contiguous
from gpuprims.primitives.histogram.binning import check_bins
from gpuprims.primitives.histogram.plan import plan_sums
from gpuprims.primitives.histogram.request import COUNTS, HistogramRequest


def sample(call: Sample) -> LaunchPlan:
    """Return the plan of a histogram of each row, for ``explain``."""
    form = contiguous(call.dtype, (call.outputs, call.size), 16)
    bins = check_bins("explain", call.bins)
    request = HistogramRequest("explain", "even", bins, 0, bins, 1, COUNTS)
    return plan_sums(request, (form,), 16, call.device, None, 0)
