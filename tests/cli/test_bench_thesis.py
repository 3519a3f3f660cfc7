"""The thesis' figures measured again: splits, configurations, refusals."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import gpuprims
from bench import thesis
from bench.clocks import HostClock

REFERENCE = gpuprims.Device("reference")
CLOCK = HostClock(REFERENCE.synchronize)


def test_the_thesis_table_has_its_configurations() -> None:
    cpu, *groups = thesis.FIGURE_11
    assert (cpu.datapoints, len(groups)) == (0, 12)
    assert [row.datapoints * row.threads > 1024 for row in groups] == [row.exceeds for row in groups]
    assert min(groups, key=lambda row: row.ms if not row.exceeds else np.inf)[:2] == (2, 128)


def test_each_run_has_another_split() -> None:
    one, again, other = (thesis.split_of(seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.X, again.X)
    assert not np.array_equal(one.X, other.X)
    assert one.X.shape == (5000, 1024)
    assert one.y.mean() == pytest.approx(0.368)
    orders = one.orders(2).reshape(2, 4500)
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(4500))
    assert not np.array_equal(*orders)
    weights = np.zeros(1025, np.float32)
    weights[-1] = 1  # all spam
    assert one.rates(weights)["train"].error == pytest.approx(1 - one.y[:4500].mean())


def test_groups_that_are_too_large_are_refusals_and_others_are_measured(
    device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    if device.backend == "reference":
        pytest.skip("NumPy has one kernel")
    X, y = 9 * np.eye(8, dtype=np.float32)[np.arange(60) % 8], (np.arange(60) % 8 < 3).astype(np.float32)
    monkeypatch.setattr(thesis, "_data", lambda: (X, y))
    for name, value in (("_FEATURES", 8), ("_TRAIN", 40)):
        monkeypatch.setattr(thesis, name, value)
    clock = HostClock(device.synchronize)
    asked = {"variant": "warp_atomic", "threads_per_datapoint": 256}

    def measured(rows: int) -> dict[str, Any]:
        how = {**asked, "datapoints_per_block": rows}
        trainer = thesis.Trainer("warp_atomic", partial(thesis._by_steps, device, how), clock, rows, 256)
        return thesis._measured(device, trainer, 2, 30)

    assert "a group of at most 1024 work-items" in measured(8)["refused"]
    point = measured(1)
    assert len(point["run_seconds"]) == 2
    assert point["seconds"] > 0
    assert point["test_error"] == 0
    assert point["test_tpr"] == 1


def test_a_run_ends_at_the_target_or_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.ones((60, 1), np.float32)  # which tell nothing
    for labels, timed_out in ((np.ones(60), False), (np.arange(60) % 2, True)):
        monkeypatch.setattr(thesis, "_data", lambda labels=labels: (X, labels.astype(np.float32)))
        for name, value in (("_FEATURES", 1), ("_TRAIN", 40), ("_MOST_EPOCHS", 3)):
            monkeypatch.setattr(thesis, name, value)
        found = thesis._until_target(REFERENCE, CLOCK, thesis.split_of(0))
        assert found["timed_out"] == timed_out
        assert found["epochs"] == (3 if timed_out else 1)
        assert found["seconds"] > 0
