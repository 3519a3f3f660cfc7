"""The calls that each class of devices computes, by dtype; tests run this table and docs/devices.md prints it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from device_doubles import DeviceClass
from kernel_cases import (
    AFFINE,
    COMPLEX,
    DTYPES,
    FLOATS,
    INTEGERS,
    affine_fold,
    affine_scan,
    assert_equal,
    random_values,
)
from logistic_cases import assert_descended, assert_descent, assert_logistic

import gpuprims

FLOAT64, ATOMICS = "float64", "atomics on 64 bits"
_DOUBLES = ("float64", "complex128")
# Above a tile of every kernel, and not a multiple of anything.
_SIZE = 9_001


def plain(dtype: str) -> bool:
    """Return True if a function that keeps its argument's dtype computes in float64."""
    return dtype in _DOUBLES


def inexact(dtype: str) -> bool:
    """Return True if NumPy's root, sine or quotient of a dtype is float64."""
    return np.sqrt(np.ones(1, dtype)).dtype.name in _DOUBLES


def averaged(dtype: str) -> bool:
    """Return True if NumPy's mean of a dtype is float64."""
    return np.dtype(dtype).kind in "biu" or plain(dtype)


def beyond_float32(dtype: str) -> bool:
    """Return True if float32 cannot hold every number of an integer dtype; fractional weights then need float64."""
    return np.dtype(dtype).kind in "iu" and np.dtype(dtype).itemsize > 2


def never(dtype: str) -> bool:
    return False


def always(dtype: str) -> bool:
    return True


@dataclass(frozen=True)
class Work:
    """One work of the matrix.

    Parameters
    ----------
    name : str
    calls : str
        The public calls that it is made of, for the docs.
    dtypes : sequence of str
    run : callable
        From a device, a dtype and a generator; computes and holds what it gets against NumPy.
    float64, atomics : callable
        From a dtype whether the work needs float64, or atomics on 64 bits.
    shuffled : bool
        Whether some of its kernels use shuffles.
    """

    name: str
    calls: str
    dtypes: Sequence[str]
    run: Callable[[gpuprims.Device, np.dtype[Any], np.random.Generator], None]
    float64: Callable[[str], bool] = plain
    atomics: Callable[[str], bool] = never

    def lacks(self, kind: DeviceClass, dtype: str) -> str | None:
        """Return what a class of devices lacks for this call; None if it computes."""
        if self.float64(dtype) and not kind.fp64:
            return FLOAT64
        return ATOMICS if self.atomics(dtype) and not kind.int64_atomics else None


def close(got: Any, expected: Any, *, roundings: float = 64) -> None:
    """Compare with NumPy: exactly, or for floats and complex numbers to some roundings of the largest."""
    got, expected = np.asarray(got), np.asarray(expected)
    if expected.dtype.kind not in "fc":
        assert_equal(got, expected)
        return
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    room = roundings * float(np.finfo(expected.dtype).eps)
    most = float(np.abs(expected[np.isfinite(expected)]).max(initial=1e-300))
    np.testing.assert_allclose(got, expected, rtol=room, atol=room * most)


def wide(x: np.ndarray) -> np.ndarray:
    """Return floats and complex numbers in double precision, for an oracle."""
    return x.astype({"f": np.float64, "c": np.complex128}.get(x.dtype.kind, x.dtype))


def _map(device: gpuprims.Device, dtype: np.dtype[Any], rng: np.random.Generator) -> None:
    x, y = random_values(rng, dtype, (2, _SIZE))
    close(gpuprims.map("x + y * x", x, y, device=device), x + y * x, roundings=4)
    close(gpuprims.map("where(x == y, x, y)", x[::3], y[::3], device=device), y[::3])


def _functions(device: gpuprims.Device, dtype: np.dtype[Any], rng: np.random.Generator) -> None:
    x = np.abs(random_values(rng, dtype, 301)).astype(dtype)
    x = np.minimum(x, np.asarray(100, dtype)) if dtype.kind in "iu" else x
    x = np.where(x < 0, np.asarray(1, dtype), x) if dtype.kind == "i" else x
    expected = np.sqrt(x) + np.sin(x) * np.exp(-np.abs(x).astype(np.sqrt(x).real.dtype))
    kind = np.sqrt(x).real.dtype.name
    got = gpuprims.map(lambda v: np.sqrt(v) + np.sin(v) * np.exp(-np.abs(v).astype(kind)), x, device=device)
    close(got, expected)


def _cast(device: gpuprims.Device, dtype: np.dtype[Any], rng: np.random.Generator) -> None:
    x = rng.integers(0, 2, 1001).astype(dtype) if dtype.kind == "b" else rng.integers(0, 100, 1001).astype(dtype)
    kinds = ("float16", "float32", "int16", "uint32", "bool")
    found = gpuprims.map(lambda v: tuple(v.astype(kind) for kind in kinds), x, device=device)
    for got, kind in zip(found, kinds, strict=True):
        close(got, x.astype(kind))


def _sum(device: gpuprims.Device, dtype: np.dtype[Any], rng: np.random.Generator) -> None:
    x = random_values(rng, dtype, (67, 149))
    expected = wide(x)
    for axis in (None, 0, 1):
        sums = np.asarray(expected.sum(axis))
        like = x.sum(axis).dtype
        close(gpuprims.reduce(x, axis=axis, device=device), sums.astype(like), roundings=256)


def _rows(device: gpuprims.Device, dtype: np.dtype[Any], rng: np.random.Generator) -> None:
    x = random_values(rng, dtype, (1030, 9))
    close(gpuprims.reduce(x, axis=1, op="max", device=device), x.max(1))
    close(gpuprims.reduce(x.T, axis=0, op="max", device=device), x.max(1))


def _places(device: gpuprims.Device, dtype: np.dtype[Any], rng: np.random.Generator) -> None:
    x = random_values(rng, dtype, _SIZE)
    close(gpuprims.reduce(x, op="argmax", device=device), np.argmax(x))
    close(gpuprims.reduce(x, op="any", device=device), np.any(x))


def _mean(device: gpuprims.Device, dtype: np.dtype[Any], rng: np.random.Generator) -> None:
    x = rng.integers(0, 100, _SIZE).astype(dtype) if dtype.kind in "iu" else random_values(rng, dtype, _SIZE)
    like = np.mean(x).dtype
    double = x.astype(np.complex128 if dtype.kind == "c" else np.float64)
    close(gpuprims.reduce(x, op="mean", device=device), double.mean().astype(like), roundings=256)


def _variance(device: gpuprims.Device, dtype: np.dtype[Any], rng: np.random.Generator) -> None:
    x = rng.integers(0, 100, _SIZE).astype(dtype) if dtype.kind in "iu" else random_values(rng, dtype, _SIZE)
    expected = np.asarray(x.astype(np.float64).var(), np.var(x).dtype)
    close(gpuprims.reduce(x, op="var", device=device), expected, roundings=256)


def _compensated(device: gpuprims.Device, dtype: np.dtype[Any], rng: np.random.Generator) -> None:
    x = random_values(rng, dtype, _SIZE)
    close(gpuprims.reduce(x, compensated=True, device=device), np.asarray(wide(x).sum(), x.sum().dtype), roundings=4)


def _affine(device: gpuprims.Device, dtype: np.dtype[Any], rng: np.random.Generator) -> None:
    a, b = rng.integers(-3, 4, (2, _SIZE)).astype(dtype)
    for got, expected in zip(gpuprims.reduce(a, b, op=AFFINE, device=device), affine_fold(a, b), strict=True):
        close(got, expected.astype(np.asarray(got).dtype))
    for got, scanned in zip(gpuprims.scan(a, b, op=AFFINE, device=device), affine_scan(a, b), strict=True):
        close(got, scanned.astype(got.dtype))


def _scan(device: gpuprims.Device, dtype: np.dtype[Any], rng: np.random.Generator) -> None:
    x = random_values(rng, dtype, _SIZE)
    like = np.cumsum(x[:1]).dtype
    close(gpuprims.cumsum(x, device=device), np.cumsum(wide(x)).astype(like), roundings=1024)
    close(gpuprims.scan(x, op="max", inclusive=True, device=device), np.maximum.accumulate(x))


def _scan_along(device: gpuprims.Device, dtype: np.dtype[Any], rng: np.random.Generator) -> None:
    x = random_values(rng, dtype, (1030, 9))
    for laid, axis in ((x, 1), (x.T, 0)):
        expected = np.maximum.accumulate(laid, axis)
        close(gpuprims.scan(laid, op="max", axis=axis, device=device), expected)


def _top_k(device: gpuprims.Device, dtype: np.dtype[Any], rng: np.random.Generator) -> None:
    x = random_values(rng, dtype, (7, _SIZE // 7))
    for largest in (True, False):
        values, places = gpuprims.top_k(x, 40, axis=1, largest=largest, device=device)
        ordered = np.sort(x, axis=1)
        close(values, ordered[:, ::-1][:, :40] if largest else ordered[:, :40])
        close(np.take_along_axis(x, places, 1), values)


def _select(device: gpuprims.Device, dtype: np.dtype[Any], rng: np.random.Generator) -> None:
    x = random_values(rng, dtype, (31, _SIZE // 31))
    close(gpuprims.median(x, 0, device=device), np.median(x, 0))
    parted = gpuprims.partition(x, 7, axis=0, device=device)
    close(parted[7], np.sort(x, axis=0)[7])


def _compact(device: gpuprims.Device, dtype: np.dtype[Any], rng: np.random.Generator) -> None:
    x, mask = random_values(rng, dtype, _SIZE), rng.random(_SIZE) < 0.4
    close(gpuprims.compact(x, mask, device=device), x[mask])


def _taken(device: gpuprims.Device, dtype: np.dtype[Any], rng: np.random.Generator) -> None:
    x, indices = random_values(rng, dtype, (90, 7)), rng.integers(-90, 90, _SIZE)
    close(gpuprims.take(x, indices, 0, device=device), np.take(x, indices, 0))
    close(gpuprims.take(x, indices, mode="wrap", device=device), np.take(x, indices, mode="wrap"))


def _ordered(device: gpuprims.Device, dtype: np.dtype[Any], rng: np.random.Generator) -> None:
    a, b = (np.sort(random_values(rng, dtype, size), kind="stable") for size in (_SIZE, 1001))
    keys = random_values(rng, dtype, 3001)
    close(gpuprims.searchsorted(a, keys, device=device), np.searchsorted(a, keys))
    close(gpuprims.isin(keys, a, device=device), np.isin(keys, a))
    close(gpuprims.merge(a, b, device=device), np.sort(np.concatenate([a, b]), kind="stable"))


def _segments(device: gpuprims.Device, dtype: np.dtype[Any], rng: np.random.Generator) -> None:
    x = random_values(rng, dtype, _SIZE)
    begin = np.sort(rng.integers(0, _SIZE, 1200))
    begin[0] = 0
    offsets = np.unique([*begin, _SIZE])
    close(gpuprims.reduce(x, op="max", segments=offsets, device=device), np.maximum.reduceat(x, offsets[:-1]))
    parts = [np.maximum.accumulate(x[a:b]) for a, b in pairwise(offsets)]
    close(gpuprims.scan(x, op="max", segments=offsets, device=device), np.concatenate(parts))


def _histogram(device: gpuprims.Device, dtype: np.dtype[Any], rng: np.random.Generator) -> None:
    x = random_values(rng, dtype, _SIZE)
    low, high = (-2, 2) if dtype.kind == "f" else (0, 100)
    for bins in (7, 1000 if dtype.itemsize < 4 else 70_000):
        counts = gpuprims.histogram(x, bins, (low, high), device=device)[0]
        close(counts, np.histogram(x, bins, (low, high))[0])
    edges = np.unique(random_values(rng, dtype, 9))
    close(gpuprims.histogram(x, edges, device=device)[0], np.histogram(x, edges)[0])


def _bincount(device: gpuprims.Device, dtype: np.dtype[Any], rng: np.random.Generator) -> None:
    x = rng.integers(0, 100, _SIZE).astype(dtype)
    close(gpuprims.bincount(x, device=device), np.bincount(x.astype(np.int64)))
    words = gpuprims.hash_counts(x[:500], 16, segments=[0, 100, 500], device=device)
    assert words.shape == (2, 16)
    assert words.sum(axis=1).tolist() == [100, 400]


def _weighted(device: gpuprims.Device, dtype: np.dtype[Any], rng: np.random.Generator) -> None:
    x, weights = rng.random(_SIZE, np.float32), rng.integers(0, 50, _SIZE).astype(dtype)
    got = gpuprims.histogram(x, 7, (0, 1), weights=weights, device=device)[0]
    close(got, np.histogram(x, 7, (0, 1), weights=weights.astype(np.float64))[0].astype(dtype))


def _stencil(device: gpuprims.Device, dtype: np.dtype[Any], rng: np.random.Generator) -> None:
    from scipy import ndimage

    image = rng.integers(0, 50, (37, 70)).astype(dtype)
    weights = rng.integers(0, 3, (3, 3)).astype(dtype if dtype.kind in "iu" else np.float32)
    expected = ndimage.correlate(wide(image) if dtype.kind == "f" else image, weights, mode="nearest")
    close(gpuprims.stencil(image, weights, device=device), expected.astype(dtype))


def _blur(device: gpuprims.Device, dtype: np.dtype[Any], rng: np.random.Generator) -> None:
    from scipy import ndimage

    image = (rng.integers(0, 100, (41, 90)) * (1 if dtype.kind in "iu" else 0.5)).astype(dtype)
    got = gpuprims.blur(image, "gaussian", sigma=1.5, device=device)
    expected = ndimage.gaussian_filter(image.astype(np.float64), 1.5, mode="nearest")
    assert got.dtype == dtype
    room = 1.001 if dtype.kind in "iu" else 64 * float(np.finfo(dtype).eps) * 50
    assert np.abs(got.astype(np.float64) - expected).max() <= room


def _product(device: gpuprims.Device, dtype: np.dtype[Any], rng: np.random.Generator) -> None:
    from scipy import sparse

    from gpuprims.primitives.csr import csr_product

    A = sparse.random_array((130, 61), density=0.2, format="csr", rng=rng, dtype=np.float64)
    for columns in (1, 5):
        dense = rng.standard_normal((61, columns)).astype(dtype)
        got = csr_product(A.data.astype(dtype), A.indices, A.indptr, dense, device=device)
        close(got, (A.astype(dtype).astype(np.float64) @ dense.astype(np.float64)).astype(dtype))


def _samples(rng: np.random.Generator, n: int, k: int, dtype: Any) -> list[np.ndarray]:
    weights = rng.standard_normal(k + 1) / np.sqrt(k)
    return [a.astype(dtype) for a in (rng.standard_normal((n, k)), rng.random(n) < 0.4, weights)]


def _gradient(device: gpuprims.Device, dtype: np.dtype[Any], rng: np.random.Generator) -> None:
    from gpuprims.primitives.logistic import logistic_gradient

    for n, k in ((900, 5), (70, 600)):
        given = _samples(rng, n, k, dtype)
        assert_logistic(logistic_gradient(*given, device=device), *given)


def _descent(device: gpuprims.Device, dtype: np.dtype[Any], rng: np.random.Generator) -> None:
    from gpuprims.primitives.descent import logistic_descent

    given = _samples(rng, 300, 4, dtype)
    how = {"rate": 0.001, "steps": 20}
    assert_descended(logistic_descent(*given, device=device, **how), *given, **how)


def _single(device: gpuprims.Device, dtype: np.dtype[Any], rng: np.random.Generator) -> None:
    from gpuprims.primitives.sgd import logistic_sgd

    given, order = _samples(rng, 50, 37, dtype), rng.integers(0, 50, 90).astype(np.int32)
    got = logistic_sgd(*given, order, rate=0.05, device=device)
    assert_descent(got, *given, order, rate=0.05)


def _lock_free(device: gpuprims.Device, dtype: np.dtype[Any], rng: np.random.Generator) -> None:
    from gpuprims.primitives.hogwild import logistic_hogwild

    given, order = _samples(rng, 40, 13, dtype), rng.integers(0, 40, 60).astype(np.int32)
    got = logistic_hogwild(*given, order, rate=0.02, workers=1, device=device)
    assert_descent(got, *given, order, rate=0.02)


def _model(device: gpuprims.Device, dtype: np.dtype[Any], rng: np.random.Generator) -> None:
    X = rng.standard_normal((200, 3)).astype(dtype)
    y = (X @ np.array([1.0, -2.0, 0.5]) > 0).astype(np.int64)
    model = gpuprims.models.LogReg(device=device, solver="lbfgs", max_iter=100, tol=0.05)
    assert model.fit(X, y).score(X, y) > 0.9


_REAL = tuple(DTYPES)
_NUMBERS = tuple(name for name in DTYPES if name != "bool")
_COUNTED = tuple(name for name in INTEGERS if name != "uint64")
_SOLVED = ("float32", "float64")
WORKS = (
    Work("map of arithmetic", "map", (*_REAL, *COMPLEX), _map),
    Work("map of roots, sines and powers", "map", (*_REAL, *COMPLEX), _functions, inexact),
    Work("map of casts", "map", _REAL, _cast),
    Work("sums", "reduce", (*_REAL, *COMPLEX), _sum),
    Work("extremes of rows and columns", "reduce", (*_REAL, *COMPLEX), _rows),
    Work("argmax, any", "reduce", _REAL, _places),
    Work("mean", "reduce", (*_NUMBERS, *COMPLEX), _mean, averaged),
    Work("variance", "reduce", _NUMBERS, _variance, averaged),
    Work("compensated sums", "reduce", tuple(FLOATS), _compensated),
    Work("an operator that does not commute", "reduce, scan", ("int32", "int64"), _affine),
    Work("running sums and extremes", "scan, cumsum", (*_REAL, *COMPLEX), _scan),
    Work("running extremes of rows and columns", "scan", _REAL, _scan_along),
    Work("elements that a mask keeps", "compact", (*_REAL, *COMPLEX), _compact),
    Work("largest and smallest elements", "top_k", _REAL, _top_k),
    Work("medians and partitions", "median, partition", _NUMBERS, _select, averaged),
    Work("elements by indices", "take", (*_REAL, *COMPLEX), _taken, lambda name: name == "complex128"),
    Work("searches and merges", "searchsorted, isin, merge", (*_REAL, *COMPLEX), _ordered),
    Work("segments", "reduce, scan", _REAL, _segments),
    Work("counts in bins", "histogram", _NUMBERS, _histogram),
    Work("counts of numbers and of words", "bincount, hash_counts", _COUNTED, _bincount),
    Work("sums of integer weights in bins", "histogram", tuple(INTEGERS), _weighted, atomics=always),
    Work("sums of float weights in bins", "histogram", tuple(FLOATS), _weighted, float64=always, atomics=always),
    Work("stencils", "stencil", _NUMBERS, _stencil),
    Work("Gaussian blur", "blur", _NUMBERS, _blur, lambda name: plain(name) or beyond_float32(name)),
    Work("product of a sparse matrix", "csr_product", _SOLVED, _product),
    Work("loss and gradient", "logistic_gradient", _SOLVED, _gradient),
    Work("gradient descent", "logistic_descent", _SOLVED, _descent),
    Work("descent by single samples", "logistic_sgd", _SOLVED, _single),
    Work("descent without locks", "logistic_hogwild", _SOLVED, _lock_free, atomics=plain),
    Work("logistic regression", "models.LogReg", _SOLVED, _model),
)
