"""The articles' figures, measured on this device: the ladder, the log-likelihood, threads, histograms."""

from __future__ import annotations

import pytest

from .articles import ladder, log_likelihood, two_kernels
from .counting import histograms
from .session import Session
from .training import training_times

SERIES = {
    "ladder": lambda run: ladder(run.device, run.clock, run.delay, full=run.options.full),
    "two kernels": lambda run: two_kernels(run.device, run.clock, run.delay),
    "log-likelihood": lambda run: log_likelihood(run.user_device),
    "threads": lambda run: training_times(run.device, run.clock),
    "histogram ways": lambda run: histograms(run.device, run.clock, run.delay, full=run.options.full),
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.label(f"articles, {name}")) for name in SERIES])
def test_figure(run: Session, name: str) -> None:
    if run.user_device.backend == "reference":
        pytest.skip("the reference has one kernel of each primitive")
    points = SERIES[name](run)
    assert points
    run.add_series(name, points)
