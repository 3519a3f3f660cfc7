"""The logistic loss of linear scores with its gradient and Hessian, computed on a device."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from gpuprims.core.determinism import asked_level
from gpuprims.core.plans import plan
from gpuprims.models import host_algebra
from gpuprims.models.features import DenseFeatures
from gpuprims.models.logreg import softmax as of_scores
from gpuprims.models.logreg.few_scores import FewScores, has_few_scores
from gpuprims.models.logreg.samples import Samples
from gpuprims.models.logreg.softmax import of_class, residual_of_power, residual_of_score, row_terms
from gpuprims.primitives.logistic.labelled import curvature_of_row, loss_and_residual
from gpuprims.primitives.logistic.refusals import MOST_OF_TREE
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce

# Power iteration converges by the ratio of the two largest eigenvalues; a learning rate needs a factor of 2 only.
_POWER_ITERATIONS = 20
# Bytes of the scores of a block of samples of more than two classes.
_SCORE_BYTES = 256 << 20


class Objective:
    """Log loss per unit of sample weight, plus a penalty on the squared coefficients.

    Two classes have one output, the score of the second class; more classes have one output each and a softmax.
    Solvers see weights as one flat vector: the coefficients of each output, then all intercepts. ``penalty`` is twice
    the factor of the sum of squares, ``1 / (C * samples.total)``; intercepts have none.
    """

    in_parts = False  # True without samples of its own

    def __init__(self, samples: Samples, outputs: int, penalty: float, *, fit_intercept: bool) -> None:
        self.samples, self.device, self.dtype, self.total = samples, samples.device, samples.dtype, samples.total
        self.home, self.features, self.outputs = samples.features.home, samples.features.shape[1], outputs
        self.penalty, self.fit_intercept = penalty, fit_intercept
        self._gradient_plan: Any = None

    def of(self, samples: Samples) -> Objective:
        """Return the objective of other samples."""
        return Objective(samples, self.outputs, self.penalty, fit_intercept=self.fit_intercept)

    def rows(self, start: int, stop: int) -> Objective:
        """Return the objective of samples ``start`` to ``stop``."""
        return self.of(self.samples.rows(start, stop))

    def columns(self, chosen: np.ndarray) -> Objective:
        """Return the objective of some features, for flat weights of these."""
        return self.of(replace(self.samples, features=self.samples.features.columns(chosen)))

    def as_float64(self) -> Objective | None:
        """Return the same objective in float64; None if the device has no float64, or products have fewer bits."""
        if self.dtype == np.float64:
            return self
        able = self.device.capabilities.fp64 and not self.samples.features.rough
        return self.of(self.samples.as_float64()) if able else None

    @property
    def size(self) -> int:
        """Length of the flat weights."""
        return self.outputs * (self.features + self.fit_intercept)

    # on the host -----------------------------------------------------------------------------------------------------

    def split(self, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Split flat weights into coefficients and intercepts."""
        coefficients = flat[: self.outputs * self.features].reshape(self.outputs, self.features)
        return coefficients, flat[coefficients.size :] if self.fit_intercept else np.zeros(self.outputs)

    def join(self, coefficients: np.ndarray, intercepts: np.ndarray) -> np.ndarray:
        """Join coefficients and intercepts into flat weights of float64."""
        parts = [np.ravel(coefficients), *([np.ravel(intercepts)] if self.fit_intercept else [])]
        return np.concatenate(parts).astype(np.float64)

    def to_device(self, flat: np.ndarray) -> Any:
        """Copy flat weights to the device, without waiting for earlier work if its driver is able to."""
        return self.home.begin_asarray(np.ascontiguousarray(flat, self.dtype))

    def to_host(self, weights: Any) -> np.ndarray:
        """Copy flat weights to the host, in float64."""
        return self.device.to_host(weights).astype(np.float64)

    def loss_gradient(self, flat: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient."""
        return self.value_gradient(*self.loss(self.to_device(flat)), flat)

    def value_gradient(self, loss: Any, slopes: Any, flat: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient, from the result of :meth:`loss` and the weights that gave it."""
        return self.penalised_mean(float(self.device.to_host(loss)), self.to_host(slopes), flat)

    def penalised_mean(self, loss: float, slopes: np.ndarray, flat: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient, from the summed loss and its gradient on the host."""
        coefficients = np.where(self.penalised, flat, 0.0)
        value = loss / self.total + self.penalty / 2 * host_algebra.dot(coefficients, coefficients)
        return value, slopes / self.total + self.penalty * coefficients

    def mean_and_deviation(self) -> tuple[np.ndarray, np.ndarray]:
        """Return each feature's weighted mean and standard deviation."""
        return self.samples.features.mean_and_deviation(self._weight)

    @cached_property
    def has_few_weights(self) -> bool:
        """True if NumPy computes the Hessian before kernels do."""
        return not self.in_parts and self._few is not None and self._few.has_hessian

    @cached_property
    def penalised(self) -> np.ndarray:
        """A mask of flat weights: True for coefficients, False for intercepts, which have no penalty."""
        return np.arange(self.size) < self.outputs * self.features

    def hessian(self, flat: np.ndarray) -> np.ndarray:
        """Return the Hessian; with several outputs, a penalty on the mean intercept makes it regular."""
        weights, few = self.to_device(flat), self._few
        found = few.hessian(weights) if few is not None and few.has_hessian else self._hessian_by_blocks(weights)
        found /= self.samples.total
        found[np.diag_indices(self.size)] += self.penalty * self.penalised
        if self.outputs > 1:
            intercepts = slice(self.outputs * self.features, None)
            found[intercepts, intercepts] += 1 / self.outputs
        return found

    # on the device ---------------------------------------------------------------------------------------------------

    @cached_property
    def _weight(self) -> Any:
        return self.samples.weights.reshape(-1, 1)

    @cached_property
    def _code(self) -> Any:
        return self.samples.codes.reshape(-1, 1)

    @cached_property
    def _scale(self) -> Any:
        """The factor of each feature's stored integers, and 1 for the intercept."""
        scale = self.device.to_host(self.samples.features.scale)  # type: ignore[union-attr]  # of dense features
        return self.home.asarray(np.append(scale, np.ones(int(self.fit_intercept))).astype(self.dtype))

    @cached_property
    def _few(self) -> FewScores | None:
        return FewScores(self.samples, self.outputs) if has_few_scores(self.samples, self.outputs) else None

    @cached_property
    def _classes(self) -> Any:
        return self.home.asarray(np.arange(self.outputs, dtype=self.dtype).reshape(1, -1))

    def scores(self, weights: Any) -> Any:
        """Return ``X @ coefficients.T + intercepts`` of shape (n, outputs), for flat weights on the device."""
        coefficients = weights[: self.outputs * self.features].reshape(self.outputs, self.features)
        intercepts = weights[self.outputs * self.features :] if self.fit_intercept else None
        return of_scores.scores_of(self.samples.features, coefficients, intercepts)

    def loss(self, weights: Any) -> tuple[Any, Any]:
        """Return the summed log loss without the penalty, and its gradient, on the device."""
        samples = self.samples
        if self._few is not None:
            return self._few.loss(weights)
        if self.outputs == 1 and (dense := self._read_at_once) is not None:
            return self._at_once(dense, weights)
        if self.outputs == 1 and samples.features.integers is not None:
            scaled = self._map("w*s", weights, self._scale)
            loss, slopes = self._at_once(samples.features.integers, scaled)
            return loss, self._map("g*s", slopes, self._scale)
        if self.outputs > 1:
            return self._softmax_loss(weights)
        losses, residuals = self._map(loss_and_residual, self.scores(weights), self._code, self._weight)
        return self._reduce(losses), self._gradient(residuals)

    def _at_once(self, array: Any, weights: Any) -> tuple[Any, Any]:
        """Return loss and gradient by one reading of an array of features; all calls of a fit share a plan."""
        own = () if self.samples.sample_weight is None else (self.samples.sample_weight,)
        given = array, self.samples.codes, weights, *own
        if self._gradient_plan is None:
            self._gradient_plan = plan("logistic", *given, device=self.device)
        return self._gradient_plan(*given)  # type: ignore[no-any-return]  # two arrays

    @property
    def _read_at_once(self) -> Any:
        """Dense features for the kernel that reads them once, which has a fixed tree at the level "device"; or None."""
        features = self.samples.features
        if asked_level() == "device" and isinstance(features, DenseFeatures) and features.scale is None:
            return features.array if self.features <= MOST_OF_TREE else None
        return features.dense

    def _softmax_loss(self, weights: Any) -> tuple[Any, Any]:
        """Do what :meth:`loss` does, with the scores of one block of samples at a time in memory."""
        if len(self._blocks) == 1:
            return self._softmax_loss_at_once(weights)
        losses, gradient = [], None
        for block in self._blocks:
            loss, slopes = block._softmax_loss_at_once(weights)
            losses.append(loss)
            gradient = slopes if gradient is None else self._map("a + b", gradient, slopes)
        return np.sum([float(self.device.to_host(one)) for one in losses]), gradient

    @cached_property
    def _blocks(self) -> list[Objective]:
        samples, (n, _) = self.samples, self.samples.features.shape
        rows = max(_SCORE_BYTES // (self.outputs * self.dtype.itemsize), 1)
        if rows >= n or samples.features.dense is None:
            return [self]
        parts = (slice(start, min(start + rows, n)) for start in range(0, n, rows))
        return [
            self.of(
                replace(
                    samples,
                    features=samples.features.rows(part.start, part.stop),
                    codes=samples.codes[part],
                    sample_weight=None if samples.sample_weight is None else samples.sample_weight[part],
                )
            )
            for part in parts
        ]

    def _softmax_loss_at_once(self, weights: Any) -> tuple[Any, Any]:
        scores = self.scores(weights)
        largest, powers, total = row_terms(self.device, scores)
        own = self._reduce(scores, self._code, self._classes, map=of_class, axis=1, keepdims=True)
        value = self._reduce(self._weight, largest, total, own, map="s*(m + log(t) - z)")
        given = total, self._code, self._classes, self._weight
        if powers is None:
            residuals = self._map(residual_of_score, scores, largest, *given)
        else:
            residuals = self._map(residual_of_power, powers, *given)
        return value, self._gradient(residuals)

    def _gradient(self, residuals: Any) -> Any:
        """Return the gradient of flat weights for residuals of shape (n, outputs)."""
        outputs = residuals.shape[1]
        gradient = self.home.empty((outputs * (self.features + self.fit_intercept),), self.dtype)
        coefficients = gradient[: outputs * self.features].reshape(outputs, self.features)
        self.samples.features.write_gradient(residuals, coefficients)
        if self.fit_intercept:
            self._reduce(residuals, axis=0, out=gradient[outputs * self.features :])
        return gradient

    def _curvatures(self, scores: Any) -> Iterator[tuple[int, int, Any]]:
        """Yield two outputs, and the second derivatives of each row's loss with respect to their scores."""
        if self.outputs == 1:
            yield 0, 0, self._map(curvature_of_row, scores, self._weight)
            return
        probabilities = of_scores.softmax(self.device, scores)
        for row, column in combinations_with_replacement(range(self.outputs), 2):
            own = self.dtype.type(row == column)
            pair = (probabilities[:, k : k + 1] for k in (row, column))
            yield row, column, self._map(lambda p, q, s, own=own: s * p * (own - q), *pair, self._weight)

    def _hessian_by_blocks(self, weights: Any) -> np.ndarray:
        """Return the Hessian of the summed log loss, by a block for each pair of outputs."""
        found = np.zeros((self.size, self.size))
        coefficients, intercepts = np.split(np.arange(self.size), [self.outputs * self.features])
        places = np.hstack([part.reshape(self.outputs, -1) for part in (coefficients, intercepts)])
        for row, column, slopes in self._curvatures(self.scores(weights)):
            block = self._hessian_block(slopes)
            found[np.ix_(places[row], places[column])] = block
            found[np.ix_(places[column], places[row])] = block.T
        return found

    def _hessian_block(self, slopes: Any) -> np.ndarray:
        """Return the summed second derivatives with respect to the weights of two outputs."""
        found = self.samples.features.gram(slopes)
        if not self.fit_intercept:
            return found
        mixed = self.home.empty((1, self.features), self.dtype)
        self.samples.features.write_gradient(slopes, mixed)
        edge, corner = self.device.to_host(mixed), self.device.to_host(self._reduce(slopes))
        return np.block([[found, edge.T], [edge, np.reshape(corner, (1, 1))]])

    def max_curvature(self, coordinates: Any = None) -> float:
        """Estimate, from below, the largest second derivative of the summed log loss.

        The slope of a sigmoid is at most 1/4 and that of a softmax 1/2. Power iteration finds the largest eigenvalue
        of the weighted ``X.T @ X``. A step of the inverse descends if the estimate is above half the true value.
        ``coordinates`` of one output, such as Standardised, give the derivative with respect to their own variables.
        """
        one = Objective(self.samples, 1, 0, fit_intercept=self.fit_intercept)
        direction = host_algebra.direction_of(one.size)
        largest = 0.0
        for _ in range(_POWER_ITERATIONS):
            direction = direction / host_algebra.norm(direction)
            flat = direction if coordinates is None else coordinates.to_weights(direction)
            scores = one.scores(one.to_device(flat))
            found = one.to_host(one._gradient(self._map("z*s", scores, self._weight)))
            direction = found if coordinates is None else coordinates.inner_gradient(found)
            largest = host_algebra.norm(direction)
        return largest / (4 if self.outputs == 1 else 2)

    def _map(self, fn: Any, *arrays: Any) -> Any:
        return map_elements(fn, *arrays, device=self.device)

    def _reduce(self, *arrays: Any, **how: Any) -> Any:
        return reduce(*arrays, device=self.device, **how)
