"""Errors of sums at each level of determinism against exact sums: ``python -m tests.sum_errors [ELEMENTS]``.

Prints the table of docs/guide/determinism.md, in units in the last place of the exact sum.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

import gpuprims
from gpuprims.core.determinism import Level

LEVELS: tuple[Level, ...] = ("run", "device", "order")


def data(rng: np.random.Generator, size: int) -> dict[str, np.ndarray]:
    """Return float32 arrays whose sums are of different condition."""
    normal = rng.standard_normal(size, np.float32)
    wide = (rng.standard_normal(size) * 2.0 ** rng.integers(-60, 60, size)).astype(np.float32)
    return {
        "uniform, 0 to 1": rng.random(size, np.float32),
        "normal": normal,
        "normal around 1,000": normal + np.float32(1000),
        "exponents -60 to 60": wide,
        "nearly cancelling": np.concatenate([wide[: size // 2], -wide[1 : size // 2]]),
    }


def errors(x: np.ndarray, device: Any = None) -> dict[str, float]:
    """Return the distance of each level's sum, and of NumPy's, from the exact one, in units in the last place."""
    exact = math.fsum(x.astype(np.float64))
    unit = float(np.spacing(np.float32(abs(exact))))
    sums: dict[str, Any] = {level: gpuprims.reduce(x, device=device, determinism=level) for level in LEVELS}
    return {name: abs(float(one) - exact) / unit for name, one in {"NumPy": x.sum(), **sums}.items()}


def main() -> None:
    """Print the table."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 2**22
    print("| float32 | NumPy | `run` | `device` | `order` |\n| --- | --- | --- | --- | --- |")
    for name, x in data(np.random.default_rng(0), size).items():
        print(f"| {name} |", " | ".join(f"{one:,.2f}" for one in errors(x).values()), "|")


if __name__ == "__main__":
    main()
