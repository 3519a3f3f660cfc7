"""The figures of the articles behind gpuprims, measured again on this device.

The ladder is from "OpenCL logistic regression with gradient ascent": iterations of batch gradient descent per second,
over 2048 samples of 8 features, by the number of work-items. As in the article, the loop over iterations is in the
kernel, which changes the weights too; "persistent" is the kernel that gpuprims chooses. The log-likelihood is the same
article's animation.
"""

from __future__ import annotations

import time
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
from gpuprims.primitives.logistic.plan import columns_for
from gpuprims.primitives.logistic.refusals import gradients_fit
from gpuprims.primitives.logistic.variants import LogisticVariant

from .ahead import Delay
from .cases import RATE, STEPS
from .clocks import Clock, HostClock
from .elements import Samples
from .measuring import Racer, race
from .oracles import descended, loss_gradient, near_weights

ROWS, FEATURES, _CHECKED_STEPS = 2048, 8, 20
# The rungs of one work-item, with the iterations that are timed, and those of one group, tried with every size.
_FIRST_RUNGS = ("sequential", "merged_loops")
_GROUP_RUNGS = ("work_items", "tree", "vec4")
_ITERATIONS, _SECONDS = 120, 6
# The articles for .NET: numbers of examples, features, and kernels, each named for what it adds to the one before.
_NET_ROWS, _NET_FEATURES = (1280, 640), 292
_NET_KERNELS = ("two_kernels", "grad1_ff4", "grad2_tf4", "grad1_ns4", "grad2_ns", "grad2_ns_loc")

Points = list[dict[str, Any]]


@dataclass(frozen=True)
class Resized(LogisticVariant):
    """A kernel with another number of work-items and another variant name; the function keeps its file's name."""

    @property
    def entry(self) -> str:
        """Name of the kernel function."""
        return self.path.stem


def resized(backend: str, name: str, work_items: int, items: int = 1) -> str:
    """Register a kernel of descent in another geometry, and return its name."""
    known = {variant.name: variant for variant in REGISTRY.variants("descent", backend)}
    called, rung = f"{name}_{work_items}", LogisticVariant.of(known[name])
    if called in known:
        return called
    given = {field.name: getattr(rung, field.name) for field in fields(LogisticVariant)}
    given |= {"name": called, "rank": -len(known), "geometry": Geometry(work_items, items)}
    sums = first_refusal() if rung.word_items else gradients_fit(work_items)
    given["refuse"] = first_refusal(double_precision, group_fits(work_items), sums)
    register(Resized(**given))
    return called


def _rungs(device: gpuprims.Device, *, full: bool) -> Iterator[tuple[str, int, str]]:
    """Return each rung, its number of work-items, and the variant."""
    for name in _FIRST_RUNGS:
        yield name, 1, name
    for name in _GROUP_RUNGS:
        for power in range(0, 9, 1 if full else 2):
            yield name, 2**power, resized(device.backend, name, 2**power)
    if device.capabilities.kind == "cpu":
        yield "persistent", 1, "cpu_persistent"
        return
    for power in (7, 8, 9):  # numbers of a work-item set the size of the group
        yield "persistent", 2**power, resized(device.backend, "persistent", 2**power, ROWS * FEATURES // 2**power)


def ladder(device: gpuprims.Device, clock: Clock, delay: Delay | None, *, full: bool) -> Points:
    """Return the iterations per second of each rung at each number of work-items; a launch runs several iterations."""
    host = Samples(FEATURES, at_zero=True).host(ROWS)
    in_float64 = [array.astype(np.float64) for array in host]
    arrays = [device.asarray(array) for array in host]
    racers, places, refused = {}, {}, []
    for rung, work_items, variant in _rungs(device, full=full):
        call = partial(logistic_descent, *arrays, rate=RATE, variant=variant)
        try:
            steps = _steps_of(partial(call, steps=_CHECKED_STEPS), device)
        except (NoVariantError, BuildError) as error:  # the device may lack the memory
            refused.append({"rung": rung, "work_items": work_items, "its_per_s": None, "reason": str(error)[:400]})
            continue
        near_weights(device.to_host(call(steps=steps)), descended(RATE, steps, *in_float64))
        racers[variant] = Racer(partial(call, steps=steps), clock, clock, delay)
        places[variant] = rung, work_items, steps
    host_clock = HostClock(device.synchronize)
    racers["NumPy"] = Racer(partial(descended, RATE, 50, *host), host_clock, host_clock)
    places["NumPy"] = "NumPy", 1, 50
    times = race(racers, _SECONDS)
    points = [
        {"rung": rung, "work_items": work_items, "its_per_s": steps / times[name].device_s}
        for name, (rung, work_items, steps) in places.items()
    ]
    return points + refused


def _steps_of(few: Callable[[], Any], device: gpuprims.Device) -> int:
    """Return iterations for a launch of some hundredth of a second, from the time of a few."""
    few()
    device.synchronize()
    begin = time.perf_counter()
    few()
    device.synchronize()
    each = (time.perf_counter() - begin) / _CHECKED_STEPS
    return int(min(max(1e-2 / each, _CHECKED_STEPS), STEPS))


def two_kernels(device: gpuprims.Device, clock: Clock, delay: Delay | None) -> Points:
    """Return the seconds of a gradient by each kernel of the articles for .NET; samples are transposed once."""
    points: Points = []
    for rows in _NET_ROWS:
        host = Samples(_NET_FEATURES).host(rows)
        in_float64 = [array.astype(np.float64) for array in host]
        X, y, weights = map(device.asarray, host)
        racers = {}
        for name in (*_NET_KERNELS, "chosen"):
            variant = None if name == "chosen" else name
            arrays = (X, y, weights, *columns_for(X, variant, device))
            call = partial(gpuprims.plan("logistic", *arrays, variant=variant), *arrays)
            np.testing.assert_allclose(device.to_host(call()[1]), loss_gradient(*in_float64)[1], rtol=1e-4, atol=1e-3)
            racers[name] = Racer(call, clock, clock, delay)
        host_clock = HostClock(device.synchronize)
        racers["NumPy"] = Racer(partial(loss_gradient, *host), host_clock, host_clock)
        times = race(racers, _SECONDS / 2)
        points += [{"kernel": name, "rows": rows, "seconds": times[name].device_s} for name in racers]
    return points


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
