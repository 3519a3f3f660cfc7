"""The thesis' Figures 8 to 13, measured again on this device: J. Selig, "Hardware Accelerated Machine Learning Via
Parallel Programming on GPUs", Cornell University, 2017.

The data are generated in the thesis' shape and shares: 5,000 samples of 1,024 counts, 36.8 % spam, shuffled and split
anew for each run into 4,500 to train and 500 to test.
"""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier

import gpuprims
from gpuprims.datasets import spam_counts
from gpuprims.errors import ArgumentError, BuildError, NoVariantError
from gpuprims.models import LogReg, Rates
from gpuprims.primitives.hogwild import logistic_hogwild
from gpuprims.primitives.sgd import logistic_sgd

from .clocks import Clock, HostClock
from .elements import SEED

Points = list[dict[str, Any]]
_SAMPLES, _FEATURES, _TRAIN, _RATE = 5000, 1024, 4500, 0.02
_TARGET, _MOST_EPOCHS = 0.05, 100  # the test error that ends a training, and the epochs of a time-out
_BATCHES = (32, 128, 512, 2048, 4500)


class Published(NamedTuple):
    """A row of the thesis' Figure 11: the time of 30 epochs, which are some ms, and rates in per cent."""

    datapoints: int  # per block; 0: the CPU
    threads: int  # per datapoint
    ms: float
    train: tuple[float, float, float]  # true and false positive rate, and error
    test: tuple[float, float, float]
    exceeds: bool = False  # "Exceeds Resources"


_NOTHING = (0.0, 0.0, 36.84444), (0.0, 0.0, 36.8), True
FIGURE_11 = (
    Published(0, 0, 85.8341, (99.99999, 0, 0), (94.56522, 1.898734, 3.2)),
    Published(1, 128, 73.59577, (98.93245, 1.482524, 1.32963), (94.14855, 3.860759, 4.593333)),
    Published(2, 128, 73.20963, (98.48613, 0.777621, 1.048889), (93.36956, 2.415612, 3.966667)),
    Published(4, 128, 78.10077, (99.38279, 0.442177, 0.506667), (93.87681, 3.291139, 4.333333)),
    Published(8, 128, 103.434, (97.59549, 1.258503, 1.680741), (92.08333, 3.765823, 5.293333)),
    Published(1, 256, 119.6902, (95.01809, 4.074595, 4.408889), (92.08333, 6.381856, 6.946667)),
    Published(2, 256, 122.9877, (99.81102, 0.234577, 0.217778), (94.34782, 3.175105, 4.086667)),
    Published(4, 256, 173.4247, (98.77362, 1.035656, 1.105926), (93.24275, 3.829114, 4.906667)),
    Published(8, 256, 5.7368, *_NOTHING),
    Published(1, 512, 220.2363, (99.92762, 0.112597, 0.097778), (94.38406, 3.364979, 4.193333)),
    Published(2, 512, 318.1911, (62.89706, 10.7225, 20.44222), (65.77898, 11.23418, 19.69333)),
    Published(3, 512, 5.739667, *_NOTHING),
    Published(4, 512, 5.7507, *_NOTHING),
)
EPOCHS = 30  # of the thesis' runs


@dataclass(frozen=True)
class Split:
    """Samples of a run, on the host."""

    X: np.ndarray
    y: np.ndarray
    seed: int

    def orders(self, epochs: int) -> np.ndarray:
        """Return the training samples in a new order for each epoch."""
        rng = np.random.default_rng((SEED, self.seed))
        return np.concatenate([rng.permutation(_TRAIN) for _ in range(epochs)]).astype(np.int32)

    def rates(self, weights: np.ndarray) -> dict[str, Rates]:
        """Return the rates of weights, whose last is the intercept."""
        guesses = self.X @ weights[:-1] + weights[-1] > 0
        parts = {"train": slice(_TRAIN), "test": slice(_TRAIN, None)}
        return {name: Rates.of(self.y[part] > 0, guesses[part], positive=True) for name, part in parts.items()}


@cache
def _data() -> tuple[np.ndarray, np.ndarray]:
    X, y = spam_counts(_SAMPLES, _FEATURES)
    return X, y.astype(np.float32)


def split_of(seed: int) -> Split:
    """Return the samples in an order that the seed decides; the first 4,500 are to train."""
    X, y = _data()
    order = np.random.default_rng(seed).permutation(len(X))
    return Split(X[order], y[order], seed)


@dataclass(frozen=True)
class Trainer:
    """A way to train, by name; ``make`` returns the call for a run, whose result is the weights."""

    name: str
    make: Callable[[Split, int], Callable[[], Any]]
    clock: Clock
    datapoints: int | None = None
    threads: int | None = None


def trainers(device: gpuprims.Device, clock: Clock) -> Iterator[Trainer]:
    """Return the thesis' configurations, its linear reduction beside its fastest, ours, and scikit-learn's on a CPU."""
    on_host = HostClock(device.synchronize)
    yield Trainer("CPU, scikit-learn", _by_sklearn, on_host)
    yield Trainer("as gpuprims chooses", partial(_by_steps, device, {}), clock)
    for name, rows in (("linear", FIGURE_11[2:3]), ("warp_atomic", FIGURE_11[1:])):
        for row in rows:
            asked = {"threads_per_datapoint": row.threads, "datapoints_per_block": row.datapoints, "variant": name}
            yield Trainer(name, partial(_by_steps, device, asked), clock, row.datapoints, row.threads)


def _by_steps(device: gpuprims.Device, asked: dict[str, Any], split: Split, epochs: int) -> Callable[[], Any]:
    start = np.zeros(_FEATURES + 1, np.float32)
    X, y, w, order = map(device.asarray, (split.X[:_TRAIN], split.y[:_TRAIN], start, split.orders(epochs)))
    return partial(logistic_sgd, X, y, w, order, rate=_RATE, **asked)


def _by_sklearn(split: Split, epochs: int) -> Callable[[], Any]:
    how: dict[str, Any] = {"penalty": None, "learning_rate": "constant", "eta0": _RATE, "max_iter": epochs, "tol": None}
    model = SGDClassifier(loss="log_loss", random_state=split.seed, **how)

    def fit() -> np.ndarray:
        model.fit(split.X[:_TRAIN], split.y[:_TRAIN])
        return np.append(model.coef_[0], model.intercept_).astype(np.float32)

    return fit


def _on_host(device: gpuprims.Device, weights: Any) -> np.ndarray:
    return weights if isinstance(weights, np.ndarray) else device.to_host(weights)


def figure_11(device: gpuprims.Device, clock: Clock, *, full: bool) -> Points:
    """Return time and rates of each configuration, in the mean of some shuffled runs; or why it is refused."""
    gpu = device.capabilities.kind == "gpu"
    runs, epochs = (EPOCHS if full else 3, EPOCHS) if gpu else (3 if full else 1, 2)
    return [_measured(device, trainer, runs, epochs) for trainer in trainers(device, clock)]


def _measured(device: gpuprims.Device, trainer: Trainer, runs: int, epochs: int) -> dict[str, Any]:
    asked = {"datapoints_per_block": trainer.datapoints, "threads_per_datapoint": trainer.threads}
    point = {"kernel": trainer.name, "runs": runs, "epochs": epochs, **asked}
    times, rates = [], []
    for seed in range(runs):
        split = split_of(seed)
        call = trainer.make(split, epochs)
        try:
            weights = call()  # compiles
        except (ArgumentError, BuildError, NoVariantError) as error:
            return point | {"refused": " ".join(str(error).split())[:200]}
        times.append(trainer.clock.span(call).device)
        rates.append(split.rates(_on_host(device, weights)))
    return point | {"seconds": statistics.mean(times), "run_seconds": times} | _mean_rates(rates)


def _mean_rates(rates: list[dict[str, Rates]]) -> dict[str, float]:
    names = {"tpr": "true_positive_rate", "fpr": "false_positive_rate", "error": "error"}
    return {
        f"{part}_{short}": statistics.mean(getattr(one[part], name) for one in rates)
        for part in ("train", "test")
        for short, name in names.items()
    }


def figure_8(device: gpuprims.Device, clock: Clock) -> Points:
    """Return for each of 30 shuffled runs the time and the epochs until the test error is below 5 %."""
    return [_until_target(device, clock, split_of(seed)) for seed in range(30)]


def _until_target(device: gpuprims.Device, clock: Clock, split: Split) -> dict[str, Any]:
    X, y = map(device.asarray, (split.X[:_TRAIN], split.y[:_TRAIN]))
    weights: Any = device.asarray(np.zeros(_FEATURES + 1, np.float32))
    seconds, orders = 0.0, split.orders(_MOST_EPOCHS).reshape(_MOST_EPOCHS, _TRAIN)
    for epoch in range(1, _MOST_EPOCHS + 1):
        order = device.asarray(orders[epoch - 1])
        call = partial(logistic_sgd, X, y, weights, order, rate=_RATE)
        if epoch == 1:
            call()  # compiles
        seconds += clock.span(call).device
        weights = call()  # the clock keeps no result
        if split.rates(device.to_host(weights))["test"].error < _TARGET:
            break
    return {"seed": split.seed, "seconds": seconds, "epochs": epoch, "timed_out": epoch == _MOST_EPOCHS}


def figure_9(device: gpuprims.Device, *, full: bool) -> Points:
    """Return for each batch size the epochs and time-outs of runs of minibatch descent."""
    points = []
    for batch in _BATCHES:
        for seed in range(10 if full else 2):
            split = split_of(seed)
            model = _logreg(device, "minibatch", batch_size=batch, random_state=seed, target_error=_TARGET)
            _quietly(partial(model.fit, split.X[:_TRAIN], split.y[:_TRAIN]))
            ended = model.stop_reason_
            points.append({"batch": batch, "seed": seed, "epochs": model.n_iter_, "timed_out": ended == "max_iter"})
    return points


def figure_10(device: gpuprims.Device, *, full: bool) -> Points:
    """Return the test error of each way to optimise, in the mean of some runs, without those that time out."""
    errors: dict[str, list[float]] = {}
    for seed in range(10 if full else 2):
        split = split_of(seed)
        for name, fit in _optimisers(device).items():
            weights = fit(split)
            if weights is not None:
                errors.setdefault(name, []).append(split.rates(weights)["test"].error)
    return [
        {"optimiser": name, "test_error": statistics.mean(some), "runs": len(some)} for name, some in errors.items()
    ]


def _optimisers(device: gpuprims.Device) -> dict[str, Callable[[Split], np.ndarray | None]]:
    epochs = 10

    def steps(split: Split, function: Callable[..., Any]) -> np.ndarray:
        start = np.zeros(_FEATURES + 1, np.float32)
        X, y, order = split.X[:_TRAIN], split.y[:_TRAIN], split.orders(epochs)
        return _on_host(device, function(X, y, start, order, rate=_RATE, device=device))

    def model(split: Split, solver: str) -> np.ndarray | None:
        target = {"batch_size": 128, "target_error": _TARGET} if solver == "minibatch" else {}
        fitted = _logreg(device, solver, random_state=split.seed, **target)
        _quietly(partial(fitted.fit, split.X[:_TRAIN], split.y[:_TRAIN]))
        if solver == "minibatch" and fitted.stop_reason_ == "max_iter":
            return None
        return np.append(fitted.coef_[0], fitted.intercept_)

    return {
        "CPU SGD, scikit-learn": lambda split: np.asarray(_by_sklearn(split, epochs)()),
        "SGD": partial(steps, function=logistic_sgd),
        "Hogwild": partial(steps, function=logistic_hogwild),
        "minibatches": partial(model, solver="minibatch"),
        "L-BFGS": partial(model, solver="lbfgs"),
    }


def _logreg(device: gpuprims.Device, solver: str, **parameters: Any) -> LogReg:
    return LogReg(device=device, solver=solver, max_iter=_MOST_EPOCHS, **parameters)


def _quietly(fit: Callable[[], Any]) -> None:
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):  # max_iter= is the time-out
        fit()


def figure_13(device: gpuprims.Device) -> Points:
    """Return the copies and launches of a training of 5 epochs, a call each, with their begin and length."""
    split = split_of(0)
    X, y = split.X[:_TRAIN], split.y[:_TRAIN]
    start = np.zeros(_FEATURES + 1, np.float32)
    orders = split.orders(5).reshape(5, -1)
    logistic_sgd(X, y, start, orders[0], rate=_RATE, device=device)
    with gpuprims.profile() as seen:
        X_there, y_there, weights = (device.asarray(one) for one in (X, y, start))
        for order in map(device.asarray, orders):
            weights = logistic_sgd(X_there, y_there, weights, order, rate=_RATE)
        device.to_host(weights)
    happened = [("copy", one) for one in seen.copies] + [(one.kernel, one) for one in seen.launches]
    return [{"what": what, "start": one.start, "seconds": one.seconds} for what, one in happened]
