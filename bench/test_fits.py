"""Loss against time of each solver of LogReg, measured on this device."""

from __future__ import annotations

import pytest

from .convergence import loss_against_time
from .session import Session

NAME = "loss against time"


@pytest.mark.label(f"fits, {NAME}")
def test_loss_against_time(run: Session) -> None:
    if run.user_device.backend == "reference":
        pytest.skip("the reference has one kernel of each primitive")
    points = loss_against_time(run.user_device)
    assert points
    run.add_series(NAME, points)
