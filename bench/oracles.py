"""The oracles that check results before any time is taken, computed once for all contenders of a case.

Large oracles use several threads of the host, because one thread would take longer than all measurements. Histograms
are exact sums over pieces. Running sums are of -1 and 1, exact in any order, so each piece is summed alone and the sum
before it is added. For blurs only the first and last rows are computed. Loss and gradient are sums over pieces, in
float64. No check uses a sample of the elements, or gpuprims itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import ndimage

from .calls import ends
from .elements import in_threads

CROSS = np.array([[0, 0.2, 0], [0.2, 0.2, 0.2], [0, 0.2, 0]], np.float32)
EDGES = np.sort(np.random.default_rng(20261121).random(257))
_ROWS, _MARGIN = 32, 32


def doubled(x: np.ndarray) -> np.ndarray:
    return np.concatenate(in_threads(lambda piece: 2 * piece + 1, x))


def float64_sum(x: np.ndarray, axis: int | None = None) -> Any:
    return np.sum(x, axis=axis, dtype=np.float64)


def running_sum(x: np.ndarray) -> np.ndarray:
    sums = in_threads(partial(np.cumsum, dtype=x.dtype), x)
    before = np.cumsum([0] + [piece[-1] if piece.size else 0 for piece in sums])
    for piece, start in zip(sums, before.astype(x.dtype), strict=False):
        piece += start
    return np.concatenate(sums)


def before(x: np.ndarray) -> np.ndarray:
    sums = running_sum(x)
    return np.concatenate([np.zeros_like(sums[:1]), sums[:-1]])


def within_segments(x: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    sums = running_sum(x)
    starts = np.concatenate([[0], sums[offsets[1:-1] - 1]]).astype(x.dtype)
    inside: np.ndarray = sums - np.repeat(starts, np.diff(offsets))
    return inside


def of_segments(x: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    return np.add.reduceat(x, offsets[:-1])


def counts(bins: Any, x: np.ndarray) -> np.ndarray:
    return np.histogram(x, bins, ends(x))[0]


def added_up(count: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    """Count in pieces; pieces may have different numbers of bins."""
    found = in_threads(count, x)
    most = max(map(len, found))
    return np.asarray(np.sum([np.pad(one, (0, most - len(one))) for one in found], axis=0))


def cross(x: np.ndarray) -> np.ndarray:
    weights = CROSS[..., np.newaxis] if x.ndim == 3 else CROSS
    return np.asarray(ndimage.correlate(x, weights, mode="nearest"))


def cross_twice(x: np.ndarray) -> np.ndarray:
    return cross(cross(x))


def box_9(x: np.ndarray) -> np.ndarray:
    return np.asarray(ndimage.uniform_filter(x, 9, mode="nearest"))


def gaussian_2(x: np.ndarray) -> np.ndarray:
    return np.asarray(ndimage.gaussian_filter(x, 2, mode="nearest"))


def first_and_last(blur: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    """Blur the first and last rows, with enough rows around them."""
    rows = _ROWS + _MARGIN
    if len(x) < 2 * rows:
        return blur(x)
    return np.concatenate([blur(x[:rows])[:_ROWS], blur(x[-rows:])[-_ROWS:]])


def descended(rate: float, steps: int, X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Run iterations of batch gradient descent, in the dtype of the arrays."""
    rows = np.ascontiguousarray(X.T)
    w, step = weights.copy(), X.dtype.type(rate)
    for _ in range(steps):
        w -= step * (rows @ (1 / (1 + np.exp(-(X @ w))) - y))
    return w


def descended_in_float64(rate: float, steps: int, *arrays: np.ndarray) -> np.ndarray:
    return descended(rate, steps, *(array.astype(np.float64) for array in arrays))


def loss_gradient(X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> tuple[Any, np.ndarray]:
    """Return the summed log loss and its gradient, in the dtype of the arrays."""
    z = X @ weights
    return (np.logaddexp(0, z) - y * z).sum(), X.T @ (1 / (1 + np.exp(-z)) - y)


def loss_gradient_in_float64(X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the loss and then the gradient, summed over pieces of rows."""
    w = weights.astype(np.float64)

    def piece(X: np.ndarray, y: np.ndarray) -> np.ndarray:
        loss, gradient = loss_gradient(X.astype(np.float64), y.astype(np.float64), w)
        return np.concatenate([[loss], gradient])

    return np.asarray(np.sum(in_threads(piece, X, y), axis=0))


def exact(result: Any, expected: np.ndarray) -> None:
    """Check that a result equals the expected elements."""
    result = np.asarray(result).reshape(np.shape(expected))
    if result.ndim and all(in_threads(np.array_equal, result, expected)):
        return
    np.testing.assert_array_equal(result, expected)


def near_sum(result: Any, expected: Any) -> None:
    np.testing.assert_allclose(result, expected, rtol=1e-5)


def near_map(result: Any, expected: Any) -> None:
    np.testing.assert_allclose(result, expected, rtol=1e-6)


def near_blur(result: Any, expected: np.ndarray) -> None:
    """Compare the first and last rows with means that SciPy cuts after rounding."""
    if len(result) > len(expected):
        result = np.concatenate([result[:_ROWS], result[-_ROWS:]])
    got = result.astype(np.float64)  # differences of bytes would wrap modulo 256
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1 if result.dtype == np.uint8 else 0)


def near_weights(result: Any, expected: np.ndarray) -> None:
    np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-4)


def near_gradient(result: Any, expected: np.ndarray) -> None:
    """Compare a loss and a gradient with sums in float64."""
    loss, gradient = result
    np.testing.assert_allclose(loss, expected[0], rtol=1e-4)
    np.testing.assert_allclose(gradient, expected[1:], rtol=1e-3, atol=1e-4 * np.abs(expected[1:]).max())
