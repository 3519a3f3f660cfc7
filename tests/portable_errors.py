"""Errors of portable functions against x87's long doubles: ``python -m tests.portable_errors`` writes their table."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuprims.expressions.portable import CHOICES, DEFINITIONS
from gpuprims.expressions.portable.formats import FORMATS

WIDE = np.longdouble
# Long doubles of 64 digits tell how far a float64 is from the exact number; elsewhere they may be float64 themselves.
HAS_ORACLE = np.finfo(WIDE).nmant >= 63
COMPUTING = tuple(name for name in DEFINITIONS if name not in CHOICES)


_ORACLES: dict[str, Callable[..., Any]] = {"cube": lambda x: x * x * x, "fourth": lambda x: x**4}


class Errors(NamedTuple):
    """How far a function is from exact results, in units of the last place."""

    most: float  # from the exact number
    rounded: int  # from the correctly rounded one
    share: float  # of results that are not correctly rounded
    wrong: list[str]  # infinities, NaN and signs that differ


def inputs(rng: np.random.Generator, dtype: str, count: int) -> np.ndarray:
    """Return numbers of every exponent, of the ranges where functions change, near 1, and special values."""
    unsigned = np.dtype(f"u{np.dtype(dtype).itemsize}")
    large = 105.0 if dtype == "float32" else 750.0
    values = [
        rng.integers(0, np.iinfo(unsigned).max, count, unsigned, endpoint=True).view(dtype),
        *(rng.uniform(-end, end, count) for end in (1.0, 4.0, large, 1e4)),
        np.exp2(rng.uniform(-30, 30, count)) * rng.choice([-1, 1], count),
        1 + rng.uniform(-1, 1, count) * 2.0**-8,
        np.arange(-200, 200) / 2,
    ]
    limits = np.finfo(dtype)
    special: list[Any] = [0.0, np.inf, limits.max, limits.tiny, limits.smallest_subnormal, 1.0, np.pi / 2]
    with np.errstate(over="ignore"):
        parts = [np.asarray(one).astype(dtype) for one in (*values, special, [-one for one in special], [np.nan])]
    return np.concatenate(parts)


def operands(name: str, rng: np.random.Generator, dtype: str, count: int) -> list[np.ndarray]:
    """Return the operands of a function: for two, all pairs of some hard values too."""
    first = inputs(rng, dtype, count)
    if DEFINITIONS[name].arity == 1:
        return [first]
    second = rng.permutation(first)
    hard = [0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 1e30, -1e30, np.inf, -np.inf, np.nan, 2**24 + 2, 2**23 - 1.0]
    left, right = (one.ravel().astype(dtype) for one in np.meshgrid(hard, hard))
    return [np.concatenate([first, left]), np.concatenate([second, right])]


def errors(name: str, values: Sequence[np.ndarray]) -> Errors:
    """Compare a function with the oracle."""
    dtype = values[0].dtype
    with np.errstate(all="ignore"):
        got = DEFINITIONS[name].text(*values, FORMATS[dtype.name])
        exact = _ORACLES.get(name) or getattr(np, name)
        wide = exact(*(value.astype(WIDE) for value in values))
        wanted = wide.astype(dtype)
    assert got.dtype == dtype
    finite = np.isfinite(got) & np.isfinite(wanted)
    below = np.nextafter(np.finfo(dtype).max, dtype.type(0))  # beyond the largest number, there is none
    unit = np.spacing(np.minimum(np.abs(np.where(finite, wanted, 1)), below))
    lower = np.frexp(np.where(finite, wide, 1))[1] < np.frexp(np.where(finite, wanted, 1))[1]  # rounded to a power of 2
    away = np.abs(np.where(finite, got, 0) - np.where(finite, wide, 0)) / np.where(
        lower & (unit > np.finfo(dtype).tiny), unit / 2, unit
    )
    steps = np.abs(np.where(finite, got, 0).astype(WIDE) - np.where(finite, wanted, 0)) / unit
    same = (got == wanted) & (np.signbit(got) == np.signbit(wanted)) | (np.isnan(got) & np.isnan(wanted))
    wrong = np.flatnonzero(~same & (~finite | (np.signbit(got) != np.signbit(wanted))))
    shown = [f"{name}({', '.join(repr(v[k]) for v in values)}) = {got[k]!r}, not {wanted[k]!r}" for k in wrong[:4]]
    return Errors(float(away.max()), round(float(steps.max())), float(np.mean(steps[finite] > 0)), shown)


def table(count: int, seed: int = 1) -> str:
    """Write the largest errors of all functions as a table."""
    lines = ["| function | float32 | not correctly rounded | float64 | not correctly rounded |", "| --- " * 5 + "|"]
    for name in COMPUTING:
        cells = [name]
        for dtype in FORMATS:
            found = errors(name, operands(name, np.random.default_rng(seed), dtype, count))
            cells += [f"{found.most:.3f}", f"{100 * found.share:.2f} %"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(int(sys.argv[1]) if len(sys.argv) > 1 else 400_000))
