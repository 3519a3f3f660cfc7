"""The arrays of the cases: made on the host in several threads, and the same in every run."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

SEED = 20261121
# Elements per piece. Each piece has its own generator, so the number of threads does not change the elements.
_PIECE = 2**22
_FLOAT32 = np.dtype(np.float32)


def in_threads(function: Callable[..., Any], *arrays: np.ndarray) -> list[Any]:
    """Return the results of a function for pieces of arrays, in order."""
    pieces = max(os.cpu_count() or 1, -(-arrays[0].size // _PIECE))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(function, *(np.array_split(array, pieces) for array in arrays)))


def _whole(rng: np.random.Generator, piece: np.ndarray, start: int) -> np.ndarray:
    every = np.iinfo(piece.dtype)
    return rng.integers(every.min, every.max, piece.size, piece.dtype, endpoint=True)


def _distinct(rng: np.random.Generator, piece: np.ndarray, start: int) -> np.ndarray:
    """Return numbers times an odd number, which are distinct modulo 2^32."""
    return (np.arange(start, start + piece.size, dtype=np.uint32) * np.uint32(2654435761)).view(np.int32)


# Distributions of integers: from a generator, the piece to fill, and the number of its first element.
_INTEGERS: dict[str, Callable[[np.random.Generator, np.ndarray, int], np.ndarray]] = {
    "every": _whole,
    "narrow": lambda rng, piece, start: rng.integers(0, 2**16, piece.size, piece.dtype),
    "few": lambda rng, piece, start: rng.integers(0, 1000, piece.size, piece.dtype),
    "geometric": lambda rng, piece, start: rng.geometric(0.5, piece.size),
    "ramp": lambda rng, piece, start: np.arange(start, start + piece.size),
    "distinct": _distinct,
}


@dataclass(frozen=True)
class Elements:
    """Elements from 0 to 1, or integers from 0 to 255.

    ``spread`` selects their distribution: "steps" are -1 and 1, with sums that are exact in any order; "skewed" has
    half of them below 1/256; "alike" is one value; "normal" has mean 0; "ascending" is sorted. Of integers, "every"
    are all that the dtype has, "narrow" are 0 to 65,535, "few" are 0 to 999, "geometric" fall by half, "ramp" is
    sorted, and "distinct" are in no order.

    The array is a line, a matrix with about as many rows as columns, a square of pixels with four channels, or rows of
    a given length. ``beside`` is a further argument of the call: a mask, offsets of segments of about 32 elements, none
    of them empty, or of 100, numbers as values beside keys, some thousand or a million keys, or as many elements again.
    """

    dtype: str = "float32"
    spread: str = "uniform"
    shape: str | int = "line"
    beside: str = ""

    def host(self, size: int) -> list[np.ndarray]:
        """Return the arrays."""
        x = np.empty(size, self.dtype)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda k: self._fill(x[k * _PIECE : (k + 1) * _PIECE], k), range(-(-size // _PIECE))))
        return [x.reshape(self._shape(size)), *self._others(x)]

    def _others(self, x: np.ndarray) -> list[np.ndarray]:
        size = x.size
        match self.beside:
            case "mask":
                return [x > 0.5]
            case "segments":
                return [_offsets(size)]
            case "segments of 100":
                return [np.append(np.arange(0, size, 100), size)]
            case "numbers":
                return [np.arange(size, dtype=np.uint32)]
            case "thousand keys" | "million keys":
                keys = {"thousand keys": 1000, "million keys": 10**6}[self.beside]
                return [np.random.default_rng(SEED).integers(0, keys, size, np.int32)]
            case "elements":
                return [np.random.default_rng(SEED).random(size, dtype=np.float32)]
        return []

    def _fill(self, piece: np.ndarray, k: int) -> None:
        rng = np.random.default_rng((SEED, k))
        if self.spread in _INTEGERS:
            piece[:] = _INTEGERS[self.spread](rng, piece, k * _PIECE)
        elif self.spread == "ascending":
            piece[:] = np.arange(k * _PIECE, k * _PIECE + piece.size) / 2**28
        elif self.spread == "normal":
            rng.standard_normal(out=piece, dtype=piece.dtype)
        elif self.spread == "steps":
            piece[:] = 2 * rng.integers(0, 2, piece.size, np.int8) - 1
        elif self.spread == "alike":
            piece[:] = 0.5
        elif piece.dtype.kind == "f":
            rng.random(out=piece, dtype=piece.dtype)
            if self.spread == "skewed":
                piece **= 8
        else:
            piece[:] = rng.integers(0, 256, piece.size, piece.dtype)

    def _shape(self, size: int) -> tuple[int, ...]:
        if isinstance(self.shape, int):
            return (max(1, size // self.shape), min(size, self.shape))
        rows = 1 << (size.bit_length() - 1) // 2
        return {"line": (size,), "square": (rows, size // rows), "pixels": (rows, size // rows // 4, 4)}[self.shape]

    def label(self, size: int) -> str:
        """Return the label of a size."""
        power = size.bit_length() - 1
        return f"2^{power} {self.dtype}" if size == 1 << power else f"{size:,} {self.dtype}"


@dataclass(frozen=True)
class Samples:
    """Normal samples with a number of columns, random labels that depend on them, and initial weights."""

    columns: int
    dtype: str = "float32"
    spread: str = "normal"
    at_zero: bool = False

    def host(self, size: int) -> list[np.ndarray]:
        """Return samples, labels and weights."""
        X = np.empty((size, self.columns), self.dtype)
        flat, rng = X.reshape(-1), np.random.default_rng(SEED)
        pieces = -(-flat.size // _PIECE)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda k: _normal(flat[k * _PIECE : (k + 1) * _PIECE], k), range(pieces)))
        truth = rng.standard_normal(self.columns).astype(self.dtype) / np.float32(np.sqrt(self.columns))
        y = (rng.random(size) < 1 / (1 + np.exp(-4 * (X @ truth)))).astype(self.dtype)
        return [X, y, np.zeros_like(truth) if self.at_zero else (truth / 3).astype(self.dtype)]

    def label(self, size: int) -> str:
        """Return the label of a size."""
        return f"{size:,} x {self.columns} {self.dtype}"


def _normal(piece: np.ndarray, k: int) -> None:
    np.random.default_rng((SEED, k)).standard_normal(out=piece, dtype=piece.dtype)


def _offsets(size: int) -> np.ndarray:
    offsets = np.arange(0, size + 1, 32)
    offsets[1:-1] += np.random.default_rng(SEED).integers(-15, 16, offsets.size - 2)
    return offsets
