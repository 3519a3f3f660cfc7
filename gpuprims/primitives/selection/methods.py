"""The positions of quantiles among sorted elements, by NumPy's thirteen methods."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Numbers = np.ndarray


def _at(alpha: float, beta: float) -> Callable[[int, Numbers], Numbers]:
    """Return the function for positions by Hyndman and Fan's formula."""
    return lambda n, q: np.asarray(n * q + (alpha + q * (1 - alpha - beta)) - 1)


def _between(n: int, q: Numbers) -> Numbers:
    return np.asarray((n - 1) * q)


def _middle(n: int, q: Numbers) -> Numbers:
    places = _between(n, q)
    return np.asarray(0.5 * (np.floor(places) + np.ceil(places)))


def _averaged(n: int, q: Numbers) -> Numbers:
    """Return the next position, or the middle of two where the distribution function is flat."""
    places = n * q - 1
    return np.asarray(np.floor(places) + np.where(places == np.floor(places), 0.5, 1))


def _closest(n: int, q: Numbers) -> Numbers:
    """Return the nearest position; of two equally near, the odd one, counted from 0."""
    places = n * q - 1.5
    before = np.floor(places)
    return np.asarray(np.where((places == before) & (before % 2 == 1), before, before + 1))


# By NumPy's name, the function from the number of elements and quantiles to positions among the sorted elements.
METHODS: dict[str, Callable[[int, Numbers], Numbers]] = {
    "linear": _between,
    "lower": lambda n, q: np.floor(_between(n, q)),
    "higher": lambda n, q: np.ceil(_between(n, q)),
    "nearest": lambda n, q: np.rint(_between(n, q)),
    "midpoint": _middle,
    "inverted_cdf": lambda n, q: np.ceil(n * q - 1),
    "averaged_inverted_cdf": _averaged,
    "closest_observation": _closest,
    "interpolated_inverted_cdf": _at(0, 1),
    "hazen": _at(0.5, 0.5),
    "weibull": _at(0, 0),
    "median_unbiased": _at(1 / 3, 1 / 3),
    "normal_unbiased": _at(3 / 8, 3 / 8),
}
# Methods that return elements, in their dtype.
OF_ELEMENTS = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")
