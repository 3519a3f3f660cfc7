"""Divisions into segments, and oracles that loop over them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from kernel_cases import Kernel

import gpuprims

LARGEST_TILE = 2**15

ACCUMULATE: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "sum": np.cumsum,
    "prod": np.cumprod,
    "min": np.minimum.accumulate,
    "max": np.maximum.accumulate,
    "any": lambda x: np.logical_or.accumulate(x != 0),
    "all": lambda x: np.logical_and.accumulate(x != 0),
}


def scan(kernel: Kernel, *arrays: Any, **keywords: Any) -> Any:
    """Scan by this variant, or by the best one if this variant only folds."""
    variant = kernel.variant.name if kernel.variant.primitive == "scan" else None
    return gpuprims.scan(*arrays, device=kernel.device, variant=variant, **keywords)


def size_of_several_tiles(kernel: Kernel) -> int:
    """Return a size at which segments cross tiles and the last tile is not full."""
    tile = kernel.variant.tile
    return 3 * tile + 3 if tile < LARGEST_TILE else 5003


def randomly(rng: np.random.Generator, size: int) -> np.ndarray:
    """Return offsets at random places, with empty segments at the start, between and at the end."""
    inner = np.sort(rng.integers(0, size + 1, rng.integers(3, 40)))
    again = np.sort(np.concatenate([inner, inner[::3]]))
    return np.concatenate([[0, 0], again, [size, size, size]])


def runs(x: np.ndarray, offsets: Any) -> list[np.ndarray]:
    return [x[first:last] for first, last in itertools.pairwise(offsets)]


def scanned(x: np.ndarray, offsets: Any, op: str = "sum") -> np.ndarray:
    """Scan each segment by NumPy."""
    whole = ACCUMULATE[op](x[:0])
    return np.concatenate([whole, *(ACCUMULATE[op](run) for run in runs(x, offsets) if run.size)])


def shifted(inclusive: np.ndarray, offsets: Any, nothing: Any) -> np.ndarray:
    """Turn an inclusive scan of segments into an exclusive one."""
    result = np.empty_like(inclusive)
    result[1:] = inclusive[:-1]
    starts = np.asarray(offsets)[:-1]
    result[starts[starts < result.size]] = nothing
    return result


def reduced(fold: Callable[..., Any], x: np.ndarray, offsets: Any, dtype: Any = None) -> np.ndarray:
    """Fold each segment by NumPy."""
    folded = [fold(run) for run in runs(x, offsets)]
    return np.array(folded, dtype=fold(x).dtype if dtype is None else dtype)
