"""Training time of a spam filter by requested threads, as in the thesis' Figures 11 and 12."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import gpuprims
from gpuprims.models import generated_mail
from gpuprims.models.spam import text_features
from gpuprims.primitives.sgd import logistic_sgd

from .clocks import Clock
from .elements import SEED
from .measuring import Racer, race

_TEXTS, _FEATURES, _RATE, _MOST = 4500, 1024, 0.05, 1024
# Threads per datapoint, and datapoints per block. A CPU's compiler takes minutes for longer runs; the kernel chosen on
# CPUs has no runs.
_THREADS = (1, 4, 16, 64, 256, 1024)
_ROWS = {"cpu": (1, 4), "gpu": (1, 4, 8, 16, 32)}


def training_times(device: gpuprims.Device, clock: Clock) -> list[dict[str, Any]]:
    """Return the seconds of one round over 4,500 generated texts, for each number of threads and datapoints."""
    mail = generated_mail(_TEXTS)
    X = text_features(mail.texts, _FEATURES, device=device)
    y, start = (mail.labels == "spam").astype(np.float32), np.zeros(_FEATURES, np.float32)
    order = np.random.default_rng(SEED).permutation(_TEXTS).astype(np.int32)
    expected = _one_by_one(X.astype(np.float64), y, order)
    call = partial(logistic_sgd, *map(device.asarray, (X, y, start, order)), rate=_RATE)
    racers = {}
    for rows, threads in _groups(device):
        asked = {"threads_per_datapoint": threads, "datapoints_per_block": rows, "variant": "gram"} if rows else {}
        run = partial(call, **asked)
        np.testing.assert_allclose(device.to_host(run()), expected, rtol=1e-3, atol=1e-4)
        racers[f"{rows} {threads}"] = Racer(run, clock, clock)
    times = race(racers, 4)
    shape = {"rows": _TEXTS, "features": _FEATURES, "epochs": 1}
    return [
        {"datapoints_per_block": rows, "threads_per_datapoint": threads, "seconds": times[f"{rows} {threads}"].device_s}
        | shape
        for rows, threads in _groups(device)
    ]


def _groups(device: gpuprims.Device) -> list[tuple[int | None, int | None]]:
    """Return the datapoints and threads of each group; None: gpuprims chooses."""
    cpu = device.capabilities.kind == "cpu"
    threads = [n for n in _THREADS if not cpu or n <= 256]
    groups = [(rows, n) for rows in _ROWS["cpu" if cpu else "gpu"] for n in threads if rows * n <= _MOST]
    return [(None, None), *groups]


def _one_by_one(X: np.ndarray, y: np.ndarray, order: np.ndarray) -> np.ndarray:
    weights = np.zeros(X.shape[1])
    for k in order:
        weights -= _RATE * (1 / (1 + np.exp(-(X[k] @ weights))) - y[k]) * X[k]
    return weights
