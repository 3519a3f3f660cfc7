"""Batches whose problems are too large for one work-group, fitted side by side if they share samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.models.features import DenseFeatures
from gpuprims.models.inputs import all_finite
from gpuprims.models.logreg import lbfgs_side_by_side, newton_with_errors
from gpuprims.models.logreg.batch_arrays import Batch
from gpuprims.models.logreg.objective import Objective
from gpuprims.models.logreg.samples import Samples
from gpuprims.models.logreg.shared import SharedRows, product_of
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.newton import ENDS
from gpuprims.primitives.newton.arrays import check_batch
from gpuprims.primitives.reduce import reduce

# Most elements of the Hessians of problems that are fitted together; these are on the host.
_MOST_SECOND = 1 << 25


class Tolerances(NamedTuple):
    """The step that ends a problem, in standard errors, and the most iterations."""

    tol: float
    max_iter: int


@dataclass(frozen=True)
class _Group:
    """Problems that share features. Labels and weights have one column for all problems, or one for each."""

    device: Device
    problems: np.ndarray
    array: Any
    codes: Any
    weights: Any

    def of_each(self, function: Any, *arrays: Any, op: Any = "sum") -> np.ndarray:
        """Fold a function of labels, weights or both over the rows of each problem."""
        found = self.device.to_host(reduce(*arrays, map=function, op=op, axis=0, device=self.device))
        return np.broadcast_to(found, (len(self.problems),))

    def samples(self, total: float, problem: int = 0) -> Samples:
        """Return the samples of a problem."""
        codes, weights = (
            one.reshape(-1) if one.shape[1] == 1 else map_elements("y", one[:, problem], device=self.device)
            for one in (self.codes, self.weights)
        )
        return Samples(self.device, DenseFeatures(self.device, self.array), codes, weights, total=total)


def fit_large(
    label: str, batch: Batch, *, fit_intercept: bool, tolerances: Tolerances
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fit a batch, and return what :func:`gpuprims.primitives.newton.logistic_newton` does, on the host."""
    natives = [one for one in (*batch.arrays, batch.weights) if one is not None]
    count, penalties, rows = check_batch(label, natives, batch.C, batch.offsets, weighted=batch.weights is not None)
    penalties, columns = np.broadcast_to(penalties, (count,)), batch.features + fit_intercept
    weights, losses = np.full((count, 2, columns), np.nan), np.full(count, np.nan)
    ends = np.zeros((count, 2), np.int32)
    most = min(lbfgs_side_by_side.MOST_TOGETHER, max(_MOST_SECOND // columns**2, 1))
    for group in _groups(batch, count, rows, most):
        reasons, totals = _unfitted(group)
        ends[group.problems, 0] = [ENDS.index(reason) if reason else 0 for reason in reasons]
        fitted = np.flatnonzero(reasons == "")
        if len(fitted):
            own = group.problems[fitted]
            problems = _Problems(group, fitted, totals[fitted], penalties[own], fit_intercept=fit_intercept)
            for problem, fit in zip(own, problems.fits(tolerances), strict=True):
                weights[problem], losses[problem] = (fit.flat, fit.errors), fit.loss
                ends[problem] = ENDS.index(fit.reason), fit.n_iter
    return weights, losses, ends


def _groups(batch: Batch, count: int, rows: np.ndarray | None, most: int) -> Iterator[_Group]:
    """Yield groups of at most ``most`` problems that share features."""
    device, dtype = batch.device, batch.arrays[0].dtype

    def placed(one: Any) -> Any:
        return device.asarray(np.ascontiguousarray(one)) if isinstance(one, np.ndarray) else one

    samples, labels = map(placed, batch.arrays)
    labels = map_elements(lambda y: y.astype(dtype), labels, device=device)
    if batch.weights is None:
        weights = map_elements("z + 1", device.driver.zeros((samples.shape[-2],), dtype), device=device)
    else:
        weights = placed(batch.weights)

    def columns(one: Any, problems: slice) -> Any:
        return one.reshape(-1, 1) if len(one.shape) == 1 else map_elements("y", one[problems].T, device=device)

    if rows is not None:
        for problem, (start, stop) in enumerate(pairwise(rows.tolist())):
            parts = (one[start:stop].reshape(-1, 1) for one in (labels, weights))
            yield _Group(device, np.array([problem]), samples[start:stop], *parts)
        return
    shared = len(samples.shape) == 2
    most = most if shared else 1
    for first in range(0, count, most):
        some = slice(first, min(first + most, count))
        parts = (columns(one, some) for one in (labels, weights))
        yield _Group(device, np.arange(first, some.stop), samples if shared else samples[first], *parts)


def _unfitted(group: _Group) -> tuple[np.ndarray, np.ndarray]:
    """Return why each problem has no fit, or an empty string, and the sums of sample weights."""
    count = len(group.problems)
    if not group.array.shape[0]:
        return np.full(count, "one_class"), np.zeros(count)
    reasons = np.full(count, "", "U16")
    ones, zeros = (group.of_each(one, group.codes, group.weights).astype(np.float64) for one in (_one, _zero))
    reasons[~((ones > 0) & (zeros > 0))] = "one_class"
    if not all_finite(group.array, group.device):
        reasons[:] = "bad_feature"
    reasons[group.of_each(_is_no_label, group.codes, op="any")] = "bad_label"
    reasons[group.of_each(_is_no_weight, group.weights, op="any")] = "bad_weight"
    return reasons, ones + zeros


class _Problems:
    """Some problems of a group, with their sums of weights and penalties of the summed losses."""

    def __init__(
        self, group: _Group, places: np.ndarray, totals: np.ndarray, penalties: np.ndarray, *, fit_intercept: bool
    ) -> None:
        self._group, self._places, self._intercept = group, places, fit_intercept
        self._totals, self._penalties = totals, penalties

    def fits(self, tolerances: Tolerances) -> Iterator[newton_with_errors.Fit]:
        """Yield the fit of each problem."""
        for at, (point, before) in enumerate(self._starts(tolerances)):
            yield newton_with_errors.minimise(self._objective(at), point, before, *tolerances)

    def _objective(self, at: int) -> Objective:
        samples = self._group.samples(float(self._totals[at]), int(self._places[at]))
        return Objective(samples, 1, float(self._penalties[at] / self._totals[at]), fit_intercept=self._intercept)

    def _starts(self, tolerances: Tolerances) -> Iterator[tuple[newton_with_errors.Point, int]]:
        """Yield the point from which each problem is fitted by itself, and its iterations before that."""
        samples = self._group.samples(float(self._totals[0]))
        if product_of(samples) is None:
            for at in range(len(self._places)):
                one = self._objective(at)
                yield newton_with_errors.point_at(one, np.zeros(one.size)), 0
            return
        own = [one if one.shape[1] > 1 else None for one in (self._group.codes, self._group.weights)]
        rows = SharedRows(samples, *own, fit_intercept=self._intercept)
        if len(self._places) < len(self._group.problems):
            rows = rows.of(self._places)

        def ends(losses: np.ndarray, gradients: np.ndarray, decreases: np.ndarray) -> np.ndarray:
            near: np.ndarray = decreases <= tolerances.tol**2 * np.minimum(losses, 1)
            return near

        totals, penalties = self._totals, self._penalties
        found = lbfgs_side_by_side.minimise(rows, totals, penalties / totals, ends, tolerances.max_iter)
        hessians = rows.hessians(found.flat)
        inner = np.arange(self._group.array.shape[1])
        hessians[:, inner, inner] += penalties[:, None]
        for at, total in enumerate(totals):
            given = found.flat[at], found.values[at] * total, found.gradients[at] * total, hessians[at]
            yield newton_with_errors.Point(*given), int(found.n_iter[at])


# Functions of elements, defined once so that their kernels are found by identity.


def _one(y: Any, s: Any) -> Any:
    return y * s


def _zero(y: Any, s: Any) -> Any:
    return (1 - y) * s


def _is_no_label(y: Any) -> Any:
    return (y != 0) & (y != 1)


def _is_no_weight(s: Any) -> Any:
    return ~(s >= 0) | (s - s != 0)
