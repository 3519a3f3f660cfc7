"""Calls of every primitive on random arrays, each checked with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gpuprims

# How a call is made: on host arrays, or on the device's own.
Place = Callable[[np.ndarray], Any]
Recipe = Callable[[np.random.Generator, gpuprims.Device, Place], None]

SIZES = (0, 1, 2, 31, 1000, 4097, 65_537, 300_001)
AFFINE = gpuprims.Op(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), identity=(1, 0), name="affine")


def numbers(rng: np.random.Generator, dtype: str, least: int = 0) -> np.ndarray:
    """Return random numbers, as many as one of the sizes or a few more."""
    size = max(int(rng.choice(SIZES)) + int(rng.integers(0, 3)), least)
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal(size).astype(dtype)
    low, high = (0, 2) if dtype == "bool" else (-100 if np.dtype(dtype).kind == "i" else 0, 101)
    return rng.integers(low, high, size).astype(dtype)


def same(device: gpuprims.Device, got: Any, expected: Any) -> None:
    """Compare with NumPy, bit for bit but for the sign of zero."""
    got = got if isinstance(got, (np.ndarray, np.generic)) else device.to_host(got)
    if got.dtype != np.asarray(expected).dtype:
        raise AssertionError(f"{np.asarray(expected).dtype}; got {got.dtype}")
    np.testing.assert_array_equal(got, expected)


def near(device: gpuprims.Device, got: Any, expected: Any, terms: np.ndarray) -> None:
    """Compare sums of floats, within the rounding of as many additions in any order."""
    got = np.asarray(got if isinstance(got, (np.ndarray, np.generic)) else device.to_host(got), np.float64)
    scale = float(np.abs(terms.astype(np.float64)).sum()) + 1
    np.testing.assert_allclose(got, expected, rtol=0, atol=64 * float(np.finfo(terms.dtype).eps) * scale)


def _map(dtype: str) -> Recipe:
    def run(rng: np.random.Generator, device: gpuprims.Device, place: Place) -> None:
        x = numbers(rng, dtype)
        y = x[::-1].copy()
        same(device, gpuprims.map("maximum(x + y, x - 3)", place(x), place(y), device=device), np.maximum(x + y, x - 3))

    return run


def _reduce(dtype: str, op: str) -> Recipe:
    def run(rng: np.random.Generator, device: gpuprims.Device, place: Place) -> None:
        x = numbers(rng, dtype, least=1)
        got, expected = gpuprims.reduce(place(x), op=op, device=device), getattr(np, op)(x)
        if op == "sum" and x.dtype.kind == "f":
            return near(device, got, x.sum(dtype=np.float64), x)
        return same(device, got, expected)

    return run


def _columns(rng: np.random.Generator, device: gpuprims.Device, place: Place) -> None:
    x = rng.integers(-99, 99, (int(rng.integers(1, 300)), int(rng.integers(1, 700)))).astype(np.int32)
    axis = int(rng.integers(0, 2))
    same(device, gpuprims.reduce(place(x), axis=axis, device=device), x.sum(axis=axis))


def _affine(rng: np.random.Generator, device: gpuprims.Device, place: Place) -> None:
    slopes, offsets = numbers(rng, "int64", least=1) | 1, None
    offsets = rng.integers(-9, 10, slopes.size)
    got = gpuprims.reduce(place(slopes), place(offsets), op=AFFINE, device=device)
    a, b = slopes, offsets
    while a.size > 1:
        odd = a.size % 2
        a, b = np.append(a, np.ones(odd, np.int64)), np.append(b, np.zeros(odd, np.int64))
        a, b = a[::2] * a[1::2], b[::2] * a[1::2] + b[1::2]
    for one, other in zip(got, (a[0], b[0]), strict=True):
        same(device, one, other)


def _scan(dtype: str, op: str) -> Recipe:
    def run(rng: np.random.Generator, device: gpuprims.Device, place: Place) -> None:
        x = numbers(rng, dtype)
        ufunc = {"sum": np.add, "max": np.maximum}[op]
        same(device, gpuprims.scan(place(x), op=op, dtype=dtype, device=device), ufunc.accumulate(x).astype(dtype))

    return run


def _compact(rng: np.random.Generator, device: gpuprims.Device, place: Place) -> None:
    x = numbers(rng, "float32")
    mask = rng.random(x.size) < rng.random()
    same(device, gpuprims.compact(place(x), place(mask), device=device), x[mask])


def _histogram(rng: np.random.Generator, device: gpuprims.Device, place: Place) -> None:
    x = numbers(rng, "float32")
    counts, edges = gpuprims.histogram(place(x), 50, (-2.0, 2.0), device=device)
    expected = np.histogram(x, 50, (-2.0, 2.0))
    same(device, counts, expected[0])
    same(device, edges, expected[1])


def _bincount(rng: np.random.Generator, device: gpuprims.Device, place: Place) -> None:
    x = np.abs(numbers(rng, "int32", least=1))
    same(device, gpuprims.bincount(place(x), device=device), np.bincount(x))


def _segments(rng: np.random.Generator, device: gpuprims.Device, place: Place) -> None:
    x = numbers(rng, "int64")
    offsets = np.concatenate([[0], np.sort(rng.integers(0, x.size + 1, x.size // 20 + 1)), [x.size]])
    running = np.concatenate([[0], np.cumsum(x)])
    same(device, gpuprims.reduce(place(x), segments=place(offsets), device=device), np.diff(running[offsets]))


def _stencil(rng: np.random.Generator, device: gpuprims.Device, place: Place) -> None:
    x = rng.integers(0, 99, (int(rng.integers(1, 90)), int(rng.integers(3, 200)))).astype(np.int32)
    got = gpuprims.stencil(place(x), np.array([[1, -2, 3]]), mode="nearest", device=device)
    wide = np.pad(x, ((0, 0), (1, 1)), mode="edge")
    same(device, got, wide[:, :-2] - 2 * wide[:, 1:-1] + 3 * wide[:, 2:])


def recipes() -> dict[str, Recipe]:
    """Return every call by name; there are few, so that all kernels are compiled soon and memory stays flat."""
    found: dict[str, Recipe] = {f"map {dtype}": _map(dtype) for dtype in ("int8", "int64", "float32", "float64")}
    found |= {f"sum {dtype}": _reduce(dtype, "sum") for dtype in ("uint8", "int32", "float32", "float64")}
    found |= {f"{op} {dtype}": _reduce(dtype, op) for op in ("max", "argmin") for dtype in ("float32", "int16")}
    found |= {f"scan {op} {dtype}": _scan(dtype, op) for op in ("sum", "max") for dtype in ("int32", "int64")}
    found |= {"columns": _columns, "affine": _affine, "compact": _compact, "histogram": _histogram}
    return found | {"bincount": _bincount, "segments": _segments, "stencil": _stencil}
