"""The duality gap of penalised fits, an upper bound of the distance from the minimum."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.models.features import DenseFeatures
from gpuprims.models.logreg.objective import Objective
from gpuprims.models.logreg.softmax import row_terms
from gpuprims.primitives.logistic.labelled import sigmoid
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce

# Iterations that balance a matrix of flows between classes; few, as it is nearly balanced close to the optimum.
_BALANCINGS = 100


def dual_gap(objective: Objective, flat: np.ndarray, l1: float, value: float, gradient: np.ndarray) -> float:
    """Return an upper bound of the distance of an objective from its minimum.

    A dual point moves some probability of each sample from its class to the others. The model's own probabilities are
    such a point if intercepts are optimal: as much then leaves each class as enters it. They are scaled by pairs of
    classes until this holds exactly, and as a whole until no correlation with a feature exceeds the penalty.

    Parameters
    ----------
    objective : Objective
        With the penalty of squares.
    flat : ndarray
        Flat weights.
    l1 : float
        Factor of the sum of magnitudes of coefficients, per unit of sample weight.
    value : float
        The whole objective at these weights.
    gradient : ndarray
        The gradient of ``objective`` there. Scaling changes a correlation by at most the weight that it removes, times
        half the width of the feature's range, so the samples are read once.

    Notes
    -----
    Source: S.-J. Kim, K. Koh, S. Boyd et al., "An interior-point method for large-scale l1-regularized logistic
    regression", 2007, which has no intercept in the dual; here flows are balanced.

    Examples
    --------
    >>> from gpuprims.models import LogReg
    >>> model = LogReg("reference", l1_ratio=1, tol=1e-8).fit([[-2.0], [-1.0], [0.5], [-0.5], [2.0]], [0, 0, 0, 1, 1])
    >>> 0 <= model.dual_gap_ < 1e-8
    True
    """
    flows = (_binary_flows if objective.outputs == 1 else _flows)(objective, flat)
    magnitudes = _correlations(objective, flat, gradient, flows.removed / objective.samples.total)
    return max(value - flows.bound(objective, l1, magnitudes), 0.0)


def share_beyond(objective: Objective, flat: np.ndarray, l1: float, gradient: np.ndarray) -> float:
    """Return the share by which the dual point of two classes is scaled down, without reading the samples.

    Far from the optimum, the gap without a penalty of squares is about proportional to it.
    """
    removed = np.abs(objective.split(gradient)[1])
    largest = float(_correlations(objective, flat, gradient, removed).max(initial=0))
    return max(1 - l1 / largest, 0.0) if largest else 0.0


def _correlations(objective: Objective, flat: np.ndarray, gradient: np.ndarray, removed: np.ndarray) -> Any:
    """Return bounds of the correlations of balanced flows with features, of shape (outputs, features)."""
    slopes, of_intercepts = objective.split(gradient - objective.penalty * np.where(objective.penalised, flat, 0))
    if not objective.fit_intercept:
        return np.abs(slopes)
    # Flows are balanced, so any centre of the features gives the same correlations.
    centres, half_widths = objective.samples.features.centres_and_half_widths()
    return np.abs(slopes - np.outer(of_intercepts, centres)) + np.outer(removed, half_widths)


class _Flows:
    """Probabilities that leave each sample's class, of shape (n, 1) or (n, classes).

    ``removed`` is the weight that scaling took from the flows into and out of each output.
    """

    def __init__(self, objective: Objective, leaving: Any, removed: np.ndarray) -> None:
        self.device, self._leaving, self.removed = objective.device, leaving, removed
        self._weight = objective.samples.weights.reshape(-1, 1)

    def bound(self, objective: Objective, l1: float, magnitudes: np.ndarray) -> float:
        """Return the best value of the dual for some parts of the flows, given bounds of their correlations."""
        largest = float(magnitudes.max(initial=0))
        parts = {min(1.0, l1 / largest) if largest else 1.0, *([1.0] if objective.penalty else [])}
        found = []
        for part in parts:
            beyond = np.maximum(part * magnitudes - l1, 0)
            squares = float(beyond.ravel() @ beyond.ravel())
            conjugate = squares / (2 * objective.penalty) if objective.penalty else 0.0
            found.append(self._entropy(part) / objective.samples.total - conjugate)
        return max(found)

    def _entropy(self, part: float) -> float:
        """Return the weighted sum of the entropies of the samples' probabilities, after a part has left."""
        device, leaving, weight = self.device, self._leaving, self._weight
        scale = leaving.dtype.type(part)
        if leaving.shape[1] == 1:
            return -float(device.to_host(reduce(leaving, weight, scale, map=_of_pair, device=device)))
        left = reduce(leaving, weight, scale, map=_of_leaving, device=device)
        one = reduce(leaving, axis=1, keepdims=True, device=device)
        stays = reduce(one, weight, scale, map=_of_staying, device=device)
        return -float(device.to_host(left)) - float(device.to_host(stays))


# Functions of elements, defined once so that their kernels are found by identity.


def _of_leaving(q: Any, s: Any, part: Any) -> Any:
    return s * _plogp(part * q)


def _of_staying(q: Any, s: Any, part: Any) -> Any:
    return s * _stays(part * q)


def _of_pair(q: Any, s: Any, part: Any) -> Any:
    return s * (_plogp(part * q) + _stays(part * q))


def _wrong(z: Any, y: Any) -> Any:
    return sigmoid(np.where(y > 0, -z, z))


def _first_leaves(q: Any, y: Any, s: Any) -> Any:
    return s * q * (1 - y)


def _second_leaves(q: Any, y: Any, s: Any) -> Any:
    return s * q * y


def _scaled(q: Any, y: Any, first: Any, second: Any) -> Any:
    return q * np.where(y > 0, second, first)


def _others(z: Any, m: Any, t: Any, y: Any, c: Any) -> Any:
    return np.where(y == c, 0, np.exp(z - m) / t)


def _own_weight(y: Any, c: Any, s: Any) -> Any:
    return np.where(y == c, s, 0)


def _plogp(q: Any) -> Any:
    return np.where(q > 0, q * np.log(np.where(q > 0, q, 1)), 0)


def _stays(q: Any) -> Any:
    """``(1 - q) * log(1 - q)``; rounding may have made q larger than 1."""
    return np.where(q < 1, (1 - q) * np.log1p(-np.where(q < 1, q, 0)), 0)


def _binary_flows(objective: Objective, flat: np.ndarray) -> _Flows:
    device, samples = objective.device, objective.samples
    codes, weight = samples.codes.reshape(-1, 1), samples.weights.reshape(-1, 1)
    leaving = map_elements(_wrong, objective.scores(objective.to_device(flat)), codes, device=device)
    if not objective.fit_intercept:
        return _Flows(objective, leaving, np.zeros(1))
    sums = (reduce(leaving, codes, weight, map=one, device=device) for one in (_first_leaves, _second_leaves))
    first, second = (float(device.to_host(one)) for one in sums)
    parts = (min(a, b) / a if a else 1.0 for a, b in ((first, second), (second, first)))
    leaving = map_elements(_scaled, leaving, codes, *map(objective.dtype.type, parts), device=device)
    return _Flows(objective, leaving, np.array([abs(first - second)]))


def _flows(objective: Objective, flat: np.ndarray) -> _Flows:
    device, samples, dtype = objective.device, objective.samples, objective.dtype
    codes, weight = samples.codes.reshape(-1, 1), samples.weights.reshape(-1, 1)
    classes = objective.home.asarray(np.arange(objective.outputs, dtype=dtype).reshape(1, -1))
    scores = objective.scores(objective.to_device(flat))
    largest, _, total = row_terms(device, scores)
    leaving = map_elements(_others, scores, largest, total, codes, classes, device=device)
    if not objective.fit_intercept:
        return _Flows(objective, leaving, np.zeros(objective.outputs))
    own = map_elements(_own_weight, codes, classes, weight, device=device)
    found = objective.home.empty((objective.outputs, objective.outputs), dtype)
    DenseFeatures(device, leaving).write_gradient(own, found)
    between = device.to_host(found).astype(np.float64)
    parts = _balancing_parts(between)
    ones = map_elements(_own_weight, codes, classes, dtype.type(1), device=device)
    factors = DenseFeatures(device, ones).scores(objective.home.asarray(np.ascontiguousarray(parts.T, dtype)))
    lost = (1 - parts) * between
    return _Flows(objective, map_elements("q*f", leaving, factors, device=device), lost.sum(axis=0) + lost.sum(axis=1))


def _balancing_parts(between: np.ndarray) -> np.ndarray:
    """Return factors, none above 1, by which as much leaves each class as enters it.

    ``between[a, c]`` leaves class a for class c. A factor is ``d[a] / d[c]``, divided by the largest one.

    Source: E. E. Osborne, "On pre-conditioning of matrices", 1960, in the norm of sums.
    """
    d = np.ones(len(between))
    for _ in range(_BALANCINGS):
        before = d.copy()
        for k in range(len(d)):
            leaves, enters = d[k] * (between[k] / d).sum(), (d * between[:, k]).sum() / d[k]
            if leaves > 0 and enters > 0:
                d[k] *= np.sqrt(enters / leaves)
        if np.abs(d / before - 1).max() < 1e-15:
            break
    factors: np.ndarray = d[:, None] / d
    factors /= factors.max()
    return factors
