"""Dictionary learning on features, from their covariance."""

from __future__ import annotations

import numpy as np

from gpuprims.models.decomposition.moments import Moments, principal, with_fixed_signs

# A column of U whose codes have a smaller sum of squares begins anew, as in scikit-learn.
_UNUSED = 1e-6
# Sweeps of coordinate descent, and the change relative to the largest code at which they end.
_SWEEPS, _SMALLEST = 1000, 1e-10


def learn(
    moments: Moments, components: int, alpha: float, tol: float, max_iter: int, random: np.random.RandomState
) -> tuple[np.ndarray, list[float]]:
    """Return the codes of the features, of shape (features, components), and the objective after each iteration.

    Columns of U are combinations of the centred features: row j of ``mixing`` has the factors of column j. Products of
    columns are then products of these factors and the scatter.
    """
    scatter, k = moments.scatter, moments.features
    rank = min(moments.size, k, components)
    _, rows = principal(scatter, rank)
    first = with_fixed_signs(rows)
    # U begins as the projections on principal axes, which have the lengths of the singular values.
    mixing, codes = np.zeros((components, k)), np.zeros((k, components))
    mixing[:rank], codes[:, :rank] = first, first.T
    objective: list[float] = []
    for _ in range(max_iter):
        mixed = mixing @ scatter
        codes = lasso(mixed @ mixing.T, mixed, codes, alpha)
        _update(mixing, codes, scatter, random)
        mixed = mixing @ scatter
        fit = np.trace(scatter) - 2 * np.sum(mixed * codes.T) + np.sum((mixed @ mixing.T) * (codes.T @ codes))
        objective.append(float(fit / 2 + alpha * np.abs(codes).sum()))
        if len(objective) > 1 and objective[-2] - objective[-1] < tol * objective[-1]:
            break
    return codes, objective


def lasso(gram: np.ndarray, targets: np.ndarray, codes: np.ndarray, alpha: float) -> np.ndarray:
    """Return codes that minimise ``c @ gram @ c / 2 - c @ target + alpha * sum(abs(c))`` for each column of targets.

    Coordinate descent starts from the given codes and changes one code of all features at a time. Without a penalty the
    codes solve linear equations.
    """
    if not alpha:
        exact: np.ndarray = np.linalg.lstsq(gram, targets)[0].T
        return exact
    codes, curvatures = codes.copy(), np.diag(gram)
    for _ in range(_SWEEPS):
        change = 0.0
        for j in np.flatnonzero(curvatures > 0):
            wanted = targets[j] - codes @ gram[j] + curvatures[j] * codes[:, j]
            found = np.sign(wanted) * np.maximum(np.abs(wanted) - alpha, 0) / curvatures[j]
            change = max(change, float(np.abs(found - codes[:, j]).max()))
            codes[:, j] = found
        if change <= _SMALLEST * np.abs(codes).max():
            break
    return codes


def _update(mixing: np.ndarray, codes: np.ndarray, scatter: np.ndarray, random: np.random.RandomState) -> None:
    """Move each column of U to where it fits best, not longer than 1."""
    products, sums = codes.T @ codes, codes.T
    for j in range(len(mixing)):
        if products[j, j] > _UNUSED:
            mixing[j] += (sums[j] - products[j] @ mixing) / products[j, j]
        else:
            mixing[j], codes[:, j] = 0, 0
            mixing[j, random.choice(len(codes))] = 1
        mixing[j] /= max(np.sqrt(max(float(mixing[j] @ scatter @ mixing[j]), 0.0)), 1)
