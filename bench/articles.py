"""The figures of the articles behind gpuprims, measured again on this device.

The ladder is from "OpenCL logistic regression with gradient ascent": iterations of batch gradient descent per second,
over 2048 samples of 8 features, by the number of work-items. An iteration computes the gradient and the new weights, in
one launch or more each. On a GPU the launches gather on its queue first, so that the figures compare kernels and not
the host. "descent" runs all iterations in one launch. The log-likelihood is the same article's animation.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import gpuprims
from gpuprims.core.geometry import Geometry, first_refusal
from gpuprims.core.refusals import double_precision, group_fits
from gpuprims.core.registry import REGISTRY, register
from gpuprims.errors import BuildError, NoVariantError
from gpuprims.models import LogReg
from gpuprims.primitives.descent import logistic_descent
from gpuprims.primitives.logistic.refusals import gradients_fit
from gpuprims.primitives.logistic.variants import LogisticVariant

from .ahead import Delay
from .cases import RATE, STEPS
from .clocks import Clock, HostClock
from .elements import Samples
from .measuring import Racer, race
from .oracles import descended, near_weights

ROWS, FEATURES, _CHECKED_STEPS = 2048, 8, 20
# Rungs of one group, tried with every size, and rungs that divide their work-items among groups.
_GROUP_RUNGS = ("work_items", "tree", "vec4")
_SHARED_RUNGS = ("two_kernels", "two_kernels_transposed", "two_kernels_local")
_FIRST_RUNGS = ("sequential", "merged_loops")
_ITERATIONS, _SECONDS = 120, 6

Points = list[dict[str, Any]]


@dataclass(frozen=True)
class Resized(LogisticVariant):
    """A kernel with another number of work-items and another variant name; the function keeps its file's name."""

    @property
    def entry(self) -> str:
        """Name of the kernel function."""
        return self.path.stem


def resized(backend: str, name: str, work_items: int) -> str:
    """Register a rung with a number of work-items for all rows, and return its name."""
    known = {variant.name: variant for variant in REGISTRY.variants("logistic", backend)}
    called, rung = f"{name}_{work_items}", LogisticVariant.of(known[name])
    if called in known:
        return called
    given = {field.name: getattr(rung, field.name) for field in fields(LogisticVariant)}
    block = min(work_items, rung.block) if rung.shares_outputs else work_items
    # Rows of a group set the number of groups.
    items = max(ROWS // work_items, 1) if rung.shares_outputs else rung.items
    given |= {"name": called, "rank": -len(known), "geometry": Geometry(block, items)}
    if block > 1:
        given["refuse"] = first_refusal(double_precision, group_fits(block), gradients_fit(block))
    register(Resized(**given))
    return called


def _rungs(device: gpuprims.Device, *, full: bool) -> Iterator[tuple[str, int, str]]:
    """Return each rung, its number of work-items, and the variant."""
    for name in _FIRST_RUNGS:
        yield name, 1, name
    for name in _GROUP_RUNGS:
        for power in range(0, 9, 1 if full else 2):
            yield name, 2**power, resized(device.backend, name, 2**power)
    for name in _SHARED_RUNGS:
        for power in range(1, 12, 1 if full else 3):  # a CPU variant has one work-item, so start at two
            yield name, 2**power, resized(device.backend, name, 2**power)
    if device.capabilities.kind == "cpu":
        for power in range(0, 8, 1 if full else 2):
            yield "cpu_fused", 2**power, resized(device.backend, "cpu_fused", 2**power)
    else:
        for power in (5, 6, 7, 8):
            yield "fused", 2**power, resized(device.backend, "fused", 2**power)


def ladder(device: gpuprims.Device, clock: Clock, delay: Delay | None, *, full: bool) -> Points:
    """Return the iterations per second of each rung at each number of work-items."""
    host = Samples(FEATURES, at_zero=True).host(ROWS)
    expected = descended(RATE, _CHECKED_STEPS, *(array.astype(np.float64) for array in host))
    X, y, start = map(device.asarray, host)
    racers, places, refused = {}, {}, []
    for rung, work_items, variant in _rungs(device, full=full):
        try:
            step = _step(X, y, start, variant)
        except (NoVariantError, BuildError) as error:  # the device may lack the memory
            refused.append({"rung": rung, "work_items": work_items, "its_per_s": None, "reason": str(error)[:400]})
            continue
        for _ in range(_CHECKED_STEPS):
            weights = step()
        near_weights(device.to_host(weights), expected)
        racers[variant] = Racer(step, clock, clock, delay)
        places[variant] = rung, work_items, 1
    for work_items, call in _descents(device, X, y, start):
        near_weights(device.to_host(call()), descended(RATE, STEPS, *(array.astype(np.float64) for array in host)))
        racers[f"descent_{work_items}"] = Racer(call, clock, clock, delay)
        places[f"descent_{work_items}"] = "descent", work_items, STEPS
    host_clock = HostClock(device.synchronize)
    racers["NumPy"] = Racer(partial(descended, RATE, 50, *host), host_clock, host_clock)
    places["NumPy"] = "NumPy", 1, 50
    times = race(racers, _SECONDS)
    points = [
        {"rung": rung, "work_items": work_items, "its_per_s": steps / times[name].device_s}
        for name, (rung, work_items, steps) in places.items()
    ]
    return points + refused


def _step(X: Any, y: Any, start: Any, variant: str) -> Callable[[], Any]:
    """Return a call that runs one more iteration each time, and returns the weights."""
    gradient = gpuprims.plan("logistic", X, y, start, variant=variant)
    further = gpuprims.plan("map", f"w - {RATE}*g", start, start)
    weights = start

    def step() -> Any:
        nonlocal weights
        weights = further(weights, gradient(X, y, weights)[1])
        return weights

    return step


def _descents(device: gpuprims.Device, *arrays: Any) -> Iterator[tuple[int, Callable[[], Any]]]:
    """Return all iterations in one launch: one work-item of a CPU, or GPU groups of every size that fits."""
    call = partial(logistic_descent, *arrays, rate=RATE, steps=STEPS)
    if device.capabilities.kind == "cpu":
        yield 1, partial(call, variant="cpu_persistent")
        return
    (known,) = (v for v in REGISTRY.variants("descent", device.backend) if v.name == "persistent")
    for work_items in (128, 256, 512):
        name = f"persistent_{work_items}"
        items = ROWS * FEATURES // work_items  # numbers per work-item, which set the size of the group
        given = {field.name: getattr(known, field.name) for field in fields(LogisticVariant)}
        given |= {"name": name, "rank": -work_items, "geometry": Geometry(work_items, items)}
        given["refuse"] = first_refusal(double_precision, group_fits(work_items))
        if name not in {v.name for v in REGISTRY.variants("descent", device.backend)}:
            register(Resized(**given))
        yield work_items, partial(call, variant=name)


def log_likelihood(device: gpuprims.Device) -> Points:
    """Return the log-likelihood after each iteration, from an estimator fitted one iteration at a time."""
    X, y, _ = Samples(FEATURES).host(ROWS)
    points: Points = []

    def seen(progress: Any) -> None:
        points.append({"iteration": len(points), "log_likelihood": -float(progress.loss) * ROWS})

    how: dict[str, Any] = {"C": np.inf, "fit_intercept": False, "learning_rate": 1e-4, "tol": 0, "max_iter": 1}
    model = LogReg(device=device, solver="gd", warm_start=True, callback=seen, **how)
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):  # max_iter= ends the fit on purpose
        for _ in range(_ITERATIONS):
            model.fit(X, y)
    rising = [point["log_likelihood"] for point in points]
    assert rising == sorted(rising), "log-likelihood: one that rises with each iteration"
    return points
