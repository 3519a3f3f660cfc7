"""L-BFGS whose vectors stay on the device; the host computes with some hundred products of two of them.

The two loops of L-BFGS only add multiples of the last steps and changes of the gradient, and of the gradient. So their
result is known from the products of any two of these vectors. A reduction computes the products of the newest ones with
all others, the loops run over numbers on the host, and another reduction adds up the multiples.

Sources: D. C. Liu and J. Nocedal, "On the limited memory BFGS method for large scale optimization", 1989; W. Chen,
Z. Wang and J. Zhou, "Large-scale L-BFGS using MapReduce", 2014, for the loops over products; W. W. Hager and H. Zhang,
"A new conjugate gradient method with guaranteed descent and an efficient line search", 2005, for the slopes that accept
a point where rounding hides the decrease.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.determinism import asks_for_device
from gpuprims.models import host_algebra
from gpuprims.models.logreg import newton
from gpuprims.models.logreg.objective import Objective
from gpuprims.models.logreg.progress import Monitor, Settings
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce

# Fewest weights whose vectors stay on the device (measurements.md, vectors on the device).
_FEWEST = 8192
# Steps that are remembered, as in SciPy.
_HISTORY = 10
# Most points of a line search, and the shares of the first slope that a decrease must reach and the slope fall to.
_POINTS, _DECREASE, _FLATTER = 30, 1e-4, 0.9
# Largest factor from one point of a line search to the next, and least distance from the ends of an interval, as a
# share of its width.
_FURTHEST, _NEAREST = 10.0, 0.1
# Consecutive iterations that may lower the loss by less than its rounding error.
_IDLE_ITERATIONS = 3
_WIDE = np.dtype(np.float64)


def lbfgs(objective: Objective, start: np.ndarray, settings: Settings, monitor: Monitor) -> str:
    """Minimise by L-BFGS: SciPy's for few weights, and for many with vectors on the device.

    For the same bits on every device, vectors are always on the device.
    """
    if asks_for_device():  # SciPy's has products by BLAS
        return newton.solve_in_two_precisions(minimise, minimise, objective, start, settings, monitor)
    if not _stays_on_device(objective):
        return newton.lbfgs(objective, start, settings, monitor)
    return newton.solve_in_two_precisions(minimise, newton.lbfgs_standardised, objective, start, settings, monitor)


def _stays_on_device(objective: Objective) -> bool:
    """Return True if L-BFGS takes less time with vectors on the device than by SciPy.

    It takes more beside samples that a CPU reads in place (measurements.md, small fits in place).
    """
    return not objective.home.on_host and objective.size >= _FEWEST and objective.device.capabilities.fp64


class _Point(NamedTuple):
    """Weights and gradient on the device, in float64, with the objective and its slope along the search."""

    weights: Any
    gradient: Any
    value: float
    slope: float
    steepest: float  # the largest magnitude of the gradient


def minimise(objective: Objective, start: np.ndarray, settings: Settings, monitor: Monitor) -> str:
    """Minimise in the samples' dtype; return why the iterations ended."""
    vectors = _Vectors(objective)
    here = vectors.point(objective.home.asarray(np.ascontiguousarray(start, _WIDE)), None)
    rounding, idle, last = float(np.finfo(objective.dtype).eps), 0, monitor.n_iter + settings.max_iter
    while True:
        if here.steepest <= settings.tol:
            return "tolerance"
        if monitor.n_iter >= last:
            return "max_iter"
        direction, slope = vectors.direction(here)
        if not slope < 0 or idle == _IDLE_ITERATIONS:
            return newton.rounding_or_stalled(here.value, slope / 2)
        step = 1.0 if vectors.known else 1 / np.sqrt(-slope)  # the first step has length 1, as SciPy's
        there = _search(vectors, here._replace(slope=slope), direction, step, rounding)
        if there is None:
            return newton.rounding_or_stalled(here.value, slope / 2)
        idle = 0 if there.value < here.value - rounding * abs(here.value) else idle + 1
        vectors.remember(here, there)
        here = there
        if reason := monitor.record(here.value, objective.to_host(here.weights)):
            return reason


def _search(vectors: _Vectors, here: _Point, direction: Any, step: float, rounding: float) -> _Point | None:
    """Return a point along a direction that lowers the objective and flattens its slope; None if rounding hides it.

    The objective is convex, so its slope only grows along the direction: the points enclose where it is zero.
    """
    noise = 4 * rounding * abs(here.value)
    low, high = (0.0, here.slope), (np.inf, np.inf)
    for _ in range(_POINTS):
        there = vectors.step(here, step, direction)
        lower = there.value <= here.value + _DECREASE * step * here.slope
        hidden = abs(there.value - here.value) <= noise and there.slope <= (2 * _DECREASE - 1) * here.slope
        if not (lower or hidden):  # also for NaN
            high = step, there.slope
        elif there.slope < _FLATTER * here.slope:
            before, low = low, (step, there.slope)
        else:
            return there
        if high[0] == np.inf:
            step = min(max(_zero_of_line(before, low), 2 * step), _FURTHEST * step)
        else:
            width = high[0] - low[0]
            if not width > rounding * high[0]:
                return None
            zero = _zero_of_line(low, high) if low[1] < high[1] < np.inf else (low[0] + high[0]) / 2
            step = min(max(zero, low[0] + _NEAREST * width), high[0] - _NEAREST * width)
    return None


def _zero_of_line(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Return where a line through two points is zero; infinity for a level line."""
    rise = other[1] - one[1]
    return other[0] - other[1] * (other[0] - one[0]) / rise if rise else np.inf


class _Vectors:
    """The last steps, the changes of the gradient along them, and the gradient, as rows of a matrix on the device."""

    def __init__(self, objective: Objective) -> None:
        self._objective, self._device = objective, objective.device
        size, self._rows = objective.size, 2 * _HISTORY + 1
        self._matrix = objective.home.zeros((self._rows, size), _WIDE)
        self._products = np.zeros((self._rows, self._rows))
        self._penalty = objective.home.asarray(np.where(objective.penalised, objective.penalty, 0.0))
        self.known: list[int] = []  # the rows of steps, oldest first; changes of the gradient are _HISTORY behind

    def point(self, weights: Any, direction: Any) -> _Point:
        """Compute the objective and its gradient."""
        objective, total = self._objective, self._objective.samples.total
        summed, slopes = objective.loss(self._map(lambda w: w.astype(objective.dtype), weights))
        gradient = self._map(lambda g, w, p: g.astype(_WIDE) / total + p * w, slopes, weights, self._penalty)
        numbers = [
            summed,
            self._reduce(weights, self._penalty, map="w*w*p"),
            self._reduce(gradient, map="abs(g)", op="max"),
        ]
        if direction is not None:
            numbers.append(self._reduce(gradient, direction, map="g*d"))
        value, squares, steepest, *slope = (float(self._device.to_host(one)) for one in numbers)
        return _Point(weights, gradient, value / total + squares / 2, slope[0] if slope else 0.0, steepest)

    def step(self, here: _Point, step: float, direction: Any) -> _Point:
        """Compute the point a step away."""
        return self.point(self._map(lambda w, d: w + step * d, here.weights, direction), direction)

    def direction(self, here: _Point) -> tuple[Any, float]:
        """Return the direction of L-BFGS, and the objective's slope along it."""
        self._set({2 * _HISTORY: here.gradient})
        factors, products = np.zeros(self._rows), self._products
        factors[-1] = -1.0
        shares: list[tuple[int, float]] = []
        for step in reversed(self.known):
            change = step + _HISTORY
            share = host_algebra.dot(factors, products[:, step]) / products[step, change]
            factors[change] -= share
            shares.append((step, share))
        if self.known:
            newest = self.known[-1]
            change = newest + _HISTORY
            factors *= products[newest, change] / products[change, change]
        for step, share in reversed(shares):
            change = step + _HISTORY
            factors[step] += share - host_algebra.dot(factors, products[:, change]) / products[step, change]
        given = self._objective.home.asarray(factors.reshape(-1, 1))
        return self._reduce(self._matrix, given, map="b*f", axis=0), host_algebra.dot(factors, products[:, -1])

    def remember(self, here: _Point, there: _Point) -> None:
        """Keep the step between two points, in place of the oldest one."""
        step = self.known.pop(0) if len(self.known) == _HISTORY else len(self.known)  # cleared ones begin at 0 again
        moved, changed = (
            self._map(lambda a, b: b - a, one, other)
            for one, other in ((here.weights, there.weights), (here.gradient, there.gradient))
        )
        self._set({step: moved, step + _HISTORY: changed})
        if self._products[step, step + _HISTORY] > 0:
            self.known.append(step)
        else:  # by rounding: start again from the gradient
            self.known.clear()

    def _set(self, vectors: dict[int, Any]) -> None:
        """Write rows, and compute their products with all rows."""
        for row, vector in vectors.items():
            map_elements("v", vector, out=self._matrix[row], device=self._device)
        for row, vector in vectors.items():
            found = self._device.to_host(self._reduce(self._matrix, vector.reshape(1, -1), map="b*v", axis=1))
            self._products[row] = self._products[:, row] = found

    def _map(self, fn: Any, *arrays: Any) -> Any:
        return map_elements(fn, *arrays, device=self._device)

    def _reduce(self, *arrays: Any, **how: Any) -> Any:
        return reduce(*arrays, device=self._device, **how)
