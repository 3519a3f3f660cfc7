"""The parts of matrices that gradients of scans keep, against products of such matrices as numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gpuprims.expressions import expression
from gpuprims.expressions.derivatives import jacobian
from gpuprims.primitives.scan.matrices import parts_of

# The step, how many of its arguments are states, and how many parts are kept, in how many places.
STEPS: dict[str, tuple[Any, int, int, int]] = {
    "product": (lambda a, x: a * x, 1, 1, 1),
    "sums": (lambda a, b, x, y: (a + x, b + y), 2, 1, 2),
    "affine maps": (lambda a, b, c, x, y, z: (a * x, b * x + y, c * x + z), 3, 1, 3),
    "negated": (lambda a, b, x: (-a * x, -b * x), 2, 1, 2),
    "of either sign": (lambda a, b, x: (a * x, -b * x), 2, 2, 2),
    "of two scales": (lambda a, b, x: (a * x, 2 * b * x), 2, 2, 2),
    "complex": (lambda a, b, x, y: (a * x - b * y, a * y + b * x), 2, 2, 4),
    "complex conjugate": (lambda a, b, x, y: (a * x + b * y, b * x - a * y), 2, 2, 4),
    "hyperbolic": (lambda a, b, x, y: (a * x + b * y, a * y + b * x), 2, 2, 4),
    "scaled turns": (lambda a, b, x, y: (a * x - 2 * b * y, a * y + b * x), 2, 4, 4),
    "symmetric": (lambda a, b, x, y, z: (a * x + b * y, a * y + b * z), 2, 4, 4),
    "one zero": (lambda a, b, x, y: (a * x + b * y, a * y), 2, 4, 4),
    "squares": (lambda a, b, x, y: (a * x + b * y * y, b * x), 2, 2, 3),
    "turned in a circle": (
        lambda a, b, c, x, y, z: (a * x + b * z + c * y, a * y + b * x + c * z, a * z + b * y + c * x), 3, 3, 9,
    ),
    "only past a third": (lambda a, b, c, x, y: (a * x, a * y + b * x, b * y + c * x), 3, 3, 6),
    "quaternions": (
        lambda a, b, c, d, w, x, y, z: (
            a * w - b * x - c * y - d * z, a * x + b * w + c * z - d * y,
            a * y - b * z + c * w + d * x, a * z + b * y - c * x + d * w,
        ), 4, 4, 16,
    ),
    "nonlinear": (lambda a, b, x: (np.sin(a) * x, np.sin(a) * b), 2, 3, 3),
    "nonlinear, alike": (lambda a, b, x: (np.exp(a) * x, np.exp(b) * x), 2, 2, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_products_have_the_parts(name: str, rng: np.random.Generator) -> None:
    function, n, kept, filled = STEPS[name]
    step = expression(function, function.__code__.co_argcount)
    parts = parts_of(step, n)
    assert (len({part.kept for part in parts.values()}), len(parts)) == (kept, filled)
    for count in (0, 1, 2, 5):
        whole = _product(jacobian(step), len(step.parameters), n, count, rng)
        for place, value in np.ndenumerate(whole):
            part = parts.get(place)
            wanted = 0 if part is None else -whole[part.kept] if part.negative else whole[part.kept]
            assert value == pytest.approx(wanted, rel=1e-12, abs=1e-12)


def _product(derivative: Callable[..., Any], arity: int, n: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return a product of transposed derivatives by the state, at random arguments."""
    whole = np.eye(n)
    for _ in range(count):
        found = np.array(derivative(*rng.uniform(-2, 2, arity)), float).reshape(n, arity)
        whole = whole @ found[:, :n].T
    return whole


def test_kept_parts_lie_in_places_of_their_own() -> None:
    function, n, *_ = STEPS["complex"]
    parts = parts_of(expression(function, 4), n)
    assert [place for place, part in parts.items() if part.kept == place] == [(0, 0), (0, 1)]
    assert [part.negative for part in parts.values()] == [False, False, True, False]
