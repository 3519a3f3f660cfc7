"""Sums that carry their own rounding errors: error-free transformations, and compensated sum and mean.

Nothing here needs a wider dtype, so float32 gains the accuracy of twice its digits on devices without float64. It
rests on IEEE additions in the order written, which CUDA and OpenCL keep unless they are told to be fast and loose.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.operators.dtypes import averaging, doubled, widening
from gpuprims.operators.op import Op


def two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """Return the rounded sum and exactly what rounding left out, whichever operand is larger.

    TwoSum of D. E. Knuth, The Art of Computer Programming, volume 2, section 4.2.2.
    """
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def fast_two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """Return the same for ``abs(a) >= abs(b)``, by T. J. Dekker, Numerische Mathematik 18 (1971)."""
    total = a + b
    return total, b - (total - a)


def _merge(p: tuple[Any, Any], q: tuple[Any, Any]) -> tuple[Any, Any]:
    """Add the sums, and the errors with what rounding left out of this sum.

    As A. Neumaier (ZAMM 54, 1974), and as Sum2 of T. Ogita, S. M. Rump and S. Oishi, "Accurate sum and dot product",
    SIAM Journal on Scientific Computing 26 (2005), on a tree.
    """
    total, error = two_sum(p[0], q[0])
    return total, p[1] + q[1] + error


def _corrected(total: Any, error: Any) -> Any:
    """Add the errors to the sum; infinities and NaN make the error NaN, and are in the sum itself as NumPy has them."""
    return np.where(np.isnan(error), total, total + error)


def with_errors(plain: Op) -> Op:
    """Make a sum or a mean of floats that folds (sum, error) pairs.

    Parameters
    ----------
    plain : Op
        The operator without errors, which folds integers and bools: they do not round.

    Returns
    -------
    Op
    """
    finish = {
        "sum": lambda total, error, count: _corrected(total, error),
        "mean": lambda total, error, count: _corrected(total, error) / count,
    }[plain.name]
    rule = {"sum": widening(np.add), "mean": averaging}[plain.name]
    return Op(
        _merge,
        (0, 0),
        name=plain.name,
        commutative=True,
        prepare=lambda element, index: (element, 0),
        finish=finish,
        dtypes=doubled(rule, plain.name),
        exact=plain,
    )
