"""The articles' figures, measured on this device: the ladder, the log-likelihood, threads, histograms."""

from __future__ import annotations

import pytest

from .articles import ladder, log_likelihood, two_kernels
from .counting import histograms, increments
from .session import Session
from .thesis import figure_8, figure_9, figure_10, figure_11, figure_13
from .training import training_times

SERIES = {
    "ladder": lambda run: ladder(run.device, run.clock, run.delay, full=run.options.full),
    "two kernels": lambda run: two_kernels(run.device, run.clock, run.delay),
    "log-likelihood": lambda run: log_likelihood(run.user_device),
    "threads": lambda run: training_times(run.device, run.clock),
    "thesis, Figure 8": lambda run: figure_8(run.device, run.clock),
    "thesis, Figure 9": lambda run: figure_9(run.user_device, full=run.options.full),
    "thesis, Figure 10": lambda run: figure_10(run.user_device, full=run.options.full),
    "thesis, Figure 11": lambda run: figure_11(run.device, run.clock, full=run.options.full),
    "thesis, Figure 13": lambda run: figure_13(run.user_device),
    "histogram ways": lambda run: histograms(run.device, run.clock, run.delay, full=run.options.full),
    "increments": lambda run: increments(run.device, run.clock, run.delay),
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.label(f"articles, {name}")) for name in SERIES])
def test_figure(run: Session, name: str) -> None:
    if run.user_device.backend == "reference":
        pytest.skip("the reference has one kernel of each primitive")
    points = SERIES[name](run)
    assert points
    run.add_series(name, points)
