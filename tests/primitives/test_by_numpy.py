"""Functions whose short calls NumPy computes: the bits are those of the kernels, for every dtype where it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from kernel_cases import need

import gpuprims
from gpuprims.core.by_numpy import Few, Switch
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.program_cache import forget_calls
from gpuprims.primitives.sort import by_numpy

INTEGERS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float32", "float64")
REAL = (*INTEGERS, *FLOATS)
SORTED = (*REAL, "float16")
SPECIAL = (-0.0, 0.0, 1.0, -1.0, 2.5, np.inf, -np.inf, np.nan)
G = gpuprims
AT = np.array([[3, 0, -1], [7, -7, 2]])


def _offsets(x: np.ndarray, *, empty: bool = False) -> np.ndarray:
    """Return offsets of segments of several lengths, some of which have no elements."""
    ends = [0, 1, 3, x.size // 2, x.size - 2, x.size]
    return np.sort([*ends, 0, 3, x.size] if empty else ends)


def _in_segments(op: str, *, empty: bool = False, **how: Any) -> Callable[..., Any]:
    return lambda x, **at: G.reduce(x.ravel(), op=op, segments=_offsets(x, empty=empty), **how, **at)


# Calls on an array of some elements, and the dtypes whose calls NumPy computes.
CALLS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "sort": (G.sort, SORTED),
    "sort, descending": (lambda x, **at: G.sort(x, descending=True, **at), SORTED),
    "sort, flat": (lambda x, **at: G.sort(x, axis=None, **at), SORTED),
    "sort, first axis": (lambda x, **at: G.sort(x, axis=0, **at), SORTED),
    "argsort": (lambda x, **at: G.argsort(x.ravel(), **at), SORTED),
    "argsort, descending": (lambda x, **at: G.argsort(x.ravel(), descending=True, **at), SORTED),
    "argsort, rows": (lambda x, **at: G.argsort(x, axis=0, descending=True, **at), SORTED),
    "lexsort": (lambda x, **at: G.lexsort((x.ravel(), (x != x.ravel()[0]).ravel()), **at), SORTED),
    "sort of complex": (G.sort, ("complex64",)),
    "argsort of complex": (lambda x, **at: G.argsort(x, axis=0, **at), ("complex64",)),
    "sort_by_key": (lambda x, **at: G.sort_by_key(x.ravel(), np.arange(x.size, dtype=np.float64), **at), SORTED),
    "take": (lambda x, **at: G.take(x, AT, **at), (*REAL, "float16", "complex64")),
    "take, axis": (lambda x, **at: G.take(x, AT.astype(np.int8), axis=-1, mode="wrap", **at), REAL),
    "take, clip": (lambda x, **at: G.take(x, np.abs(AT).astype(np.uint32), axis=0, mode="clip", **at), REAL),
    "searchsorted": (lambda x, **at: G.searchsorted(np.sort(x.ravel()), x, "right", **at), REAL),
    "searchsorted, short": (lambda x, **at: G.searchsorted(np.float32([1, 2, 3]), x, **at), (*REAL, "float16")),
    "isin": (lambda x, **at: G.isin(x, x.ravel()[:3], **at), REAL),
    "isin, inverted": (lambda x, **at: G.isin(x, x.ravel()[:3], invert=True, kind="sort", **at), REAL),
    "isin, table": (lambda x, **at: G.isin(x, x.ravel()[:40], **at), REAL),
    "isin, list": (lambda x, **at: G.isin(x, [0.1, 2.5, 1, 1e300, np.nan], **at), FLOATS),
    "compact": (lambda x, **at: G.compact(x, "x > 1", **at), REAL),
    "compact, arithmetic": (lambda x, **at: G.compact(x, "(x * x - x < 3) | (x == 2)", **at), REAL[1:]),
    "compact, mask": (lambda x, **at: G.compact(x, x != x.ravel()[0], **at), (*REAL, "float16", "complex64")),
    "compact, elements": (lambda x, **at: G.compact(x, "x", **at), REAL),
    "compact, axis": (
        lambda x, **at: G.compact(x, np.arange(x.shape[-1]) % 3 == 0, axis=-1, **at),
        (*REAL, "float16", "complex64"),
    ),
    "minmax": (lambda x, **at: G.reduce(x, op="minmax", **at), REAL),
    "ptp": (lambda x, **at: G.reduce(x, op="ptp", **at), REAL[1:]),
    "count_nonzero": (lambda x, **at: G.count_nonzero(x, keepdims=True, **at), INTEGERS),
    "sums down columns": (
        lambda x, **at: G.cumsum(x.ravel()[: x.size & ~3].reshape(-1, 4), 0, **at),
        ("int64", "uint64"),
    ),
    "sums of products": (
        lambda x, **at: G.reduce(x, x[..., ::-1].copy(), map="x * y", keepdims=True, **at),
        (*INTEGERS[1:], *FLOATS),
    ),
    "sums of products along": (lambda x, **at: G.reduce(x, x + x, map="x * y", axis=-1, **at), ("int32", "uint64")),
    "inner product": (
        lambda x, **at: G.reduce(x, x.copy(), map="conj(x) * y", dtype=x.dtype, **at),
        ("int16", "int64"),
    ),
    "sum of floats": (G.reduce, FLOATS),
    "map itself": (lambda x, **at: G.map("x", x, **at), REAL),
    "map to float32": (lambda x, **at: G.map(lambda e: e.astype(np.float32), x, **at), REAL),
    "map to float64": (lambda x, **at: G.map(lambda e: e.astype(np.float64), x, **at), REAL),
    "map to int16": (lambda x, **at: G.map(lambda e: e.astype(np.int16), x, **at), INTEGERS),
    "map to bool": (lambda x, **at: G.map(lambda e: e.astype(np.bool_), x, **at), REAL),
    "left shift": (lambda x, **at: G.map("x << y", x, x[..., ::-1].copy(), **at), INTEGERS[1:]),
    "signs": (lambda x, **at: G.map("sign(x)", x, **at), INTEGERS[1:]),
    "argmax of rows": (lambda x, **at: G.reduce(x, op="argmax", axis=-1, **at), REAL),
    "argmin of rows": (lambda x, **at: G.reduce(x, op="argmin", axis=-1, keepdims=True, **at), REAL),
    "argmax of all": (lambda x, **at: G.reduce(x, op="argmax", **at), REAL),
    "nonzero": (G.nonzero, ("bool", "float32")),
    "argwhere": (G.argwhere, ("bool", "float32")),
    "sums by key": (lambda x, **at: G.reduce(x, by=(np.arange(x.size) % 5).reshape(x.shape), **at), INTEGERS),
    "maxima of groups": (
        lambda x, **at: G.group_by(x, np.arange(x.size).reshape(x.shape), op="max", **at),
        (*INTEGERS, *FLOATS),
    ),
    "sums up to each of a key": (
        lambda x, **at: G.scan(x, by=(np.arange(x.size) % 5).reshape(x.shape), inclusive=False, **at),
        ("bool", "int64"),
    ),
    "sort of segments": (lambda x, **at: G.sort(x.ravel(), segments=_offsets(x, empty=True), **at), REAL),
    "argsort of segments": (
        lambda x, **at: G.argsort(x.ravel(), segments=_offsets(x).astype(np.int32), descending=True, **at),
        REAL,
    ),
    "run lengths": (G.run_length_encode, ("int16", "float32")),
    "runs": (lambda x, **at: G.unique_consecutive(x, True, True, **at), ("bool", "int16", "float32")),
    "repeated": (lambda x, **at: G.run_length_decode(x.ravel(), np.arange(x.size) % 3, **at), ("uint8", "float32")),
    "bincount": (lambda x, **at: G.bincount(x.ravel(), minlength=9, **at), ("bool", "uint8", "uint16")),
    "bincount, weights": (
        lambda x, **at: G.bincount(np.arange(x.size) % 7, x.ravel(), 9, **at),
        ("bool", "int8", "uint16", "int32", *FLOATS),
    ),
    "median": (G.median, ("int32", "uint32", "int64", "uint64", *FLOATS, "float16")),
    "quantiles of rows": (lambda x, **at: G.quantile(x, [0.1, 0.77, 0.5], axis=-1, **at), ("int8", *FLOATS, "float16")),
    "quantile": (lambda x, **at: G.quantile(x, [0.1, 0.9, 0.5], **at), ()),
    "percentile": (lambda x, **at: G.percentile(x, 30, method="lower", keepdims=True, **at), ("int32", *FLOATS)),
    "partition, rows": (lambda x, **at: G.partition(x, [1, 5], axis=0, **at), SORTED),
    "argpartition, rows": (lambda x, **at: G.argpartition(x, 3, **at), SORTED),
    "partition": (lambda x, **at: G.partition(x, 5, axis=None, **at), SORTED),
    "argpartition": (lambda x, **at: G.argpartition(x.ravel(), [2, -1, 5], **at), SORTED),
    "merge": (lambda x, **at: G.merge(np.sort(x.ravel()), np.sort(x.ravel()[::3]), **at), SORTED),
    "merge, descending": (
        lambda x, **at: G.merge(G.sort(x.ravel(), descending=True, **at), x.ravel()[:1], descending=True, **at),
        SORTED,
    ),
    "sums of segments": (_in_segments("sum", empty=True), INTEGERS),
    "products of segments": (_in_segments("prod", empty=True), INTEGERS),
    "bits of segments": (_in_segments("bitwise_and", empty=True), INTEGERS),
    "truths of segments": (_in_segments("any", empty=True), REAL),
    "unique": (G.unique, REAL),
    "unique, all": (lambda x, **at: G.unique(x, True, True, True, **at), REAL),
    "unique, counts": (lambda x, **at: G.unique(x, return_counts=True, **at), REAL),
}
# Those that it computes only where launches wake threads.
WOKEN: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "top_k, smallest": (lambda x, **at: G.top_k(x.ravel(), 4, largest=False, **at), ("int32", "uint64", "float32")),
    "top_k": (lambda x, **at: G.top_k(x.ravel(), 5, **at), ("int32", "uint32", "int64", "float32")),
    "top_k of others": (
        lambda x, **at: G.top_k(x.ravel(), x.size, **at),
        ("bool", "int8", "uint8", "int16", "uint16", "uint64", "float64"),
    ),
    "diff": (lambda x, **at: G.diff(x, **at), REAL),
    "diff, twice": (lambda x, **at: G.diff(x, 2, **at), ("int16", "float32")),
    "map": (lambda x, **at: G.map("2*x + x/4 - 1", x, **at), FLOATS),
    "map of integers": (lambda x, **at: G.map("(x * x - 7) // 3 + (x & 5)", x, **at), INTEGERS[1:]),
    "shifts": (lambda x, **at: G.map("(x << (x & 70)) >> x", x, **at), INTEGERS[1:]),
    "map of roots": (lambda x, **at: G.map("sqrt(abs(x)) + x**2", x, **at), FLOATS),
    "map to truths": (lambda x, **at: G.map("where(x > 1, x, -x)", x, **at), ("int16", "int64", *FLOATS)),
    "map of two": (lambda x, **at: G.map("x + y", x, x[:1], **at), ("int32", "float32")),
    "map of a number": (lambda x, **at: G.map("x + y", x, 2, **at), (*INTEGERS[1:], *FLOATS)),
    "map from a number": (lambda x, **at: G.map("y - x", x, 100, **at), INTEGERS[1:]),
    "map to one truth": (lambda x, **at: G.map("x < 3", x, **at), REAL),
    "map of a choice": (lambda x, **at: G.map("where(c, x, y)", x > 1, x, x[::1], **at), REAL),
    "map of a choice of a number": (lambda x, **at: G.map("where(c, x, y)", x > 1, x, 0, **at), REAL),
    "map of one of two": (lambda x, **at: G.map(lambda p, q: q + 1, x, x, **at), INTEGERS[1:]),
    "largest": (lambda x, **at: G.map("maximum(x, y)", x, 0, **at), INTEGERS[1:]),
    "map between numbers": (lambda x, **at: G.map("minimum(maximum(x, y), z)", x, 2, 5, **at), INTEGERS[1:]),
    "map between arrays": (lambda x, **at: G.map("minimum(maximum(y, x), z)", x[:1], x, x[:1] + 1, **at), INTEGERS[1:]),
    "map between ends": (lambda x, **at: G.map("minimum(maximum(x, y), z)", x[:1], x, 3, **at), INTEGERS[1:]),
    "sum": (G.reduce, INTEGERS),
    "sum, rows": (lambda x, **at: G.reduce(x, axis=-1, keepdims=True, **at), INTEGERS),
    "prod": (lambda x, **at: G.reduce(x, op="prod", axis=0, **at), INTEGERS),
    "min": (lambda x, **at: G.reduce(x, op="min", **at), REAL),
    "max": (lambda x, **at: G.reduce(x, op="max", axis=0, **at), REAL),
    "nanmax": (lambda x, **at: G.reduce(x, op="nanmax", **at), REAL),
    "nansum": (lambda x, **at: G.reduce(x, op="nansum", **at), INTEGERS),
    "nanargmin": (lambda x, **at: G.reduce(x, op="nanargmin", **at), INTEGERS),
    "nanprod along": (lambda x, **at: G.reduce(x, op="nanprod", axis=0, **at), INTEGERS),
    "argmax": (lambda x, **at: G.reduce(x, op="argmax", **at), REAL),
    "argmin": (lambda x, **at: G.reduce(x, op="argmin", axis=-1, **at), REAL),
    "any": (lambda x, **at: G.reduce(x, op="any", axis=0, **at), REAL),
    "all": (lambda x, **at: G.reduce(x, op="all", **at), REAL),
    "count_nonzero, floats": (lambda x, **at: G.reduce(x, op="count_nonzero", **at), REAL),
    "minmax, first axis": (lambda x, **at: G.reduce(x, op="minmax", axis=0, **at), REAL),
    "ptp, rows": (lambda x, **at: G.reduce(x, op="ptp", axis=-1, **at), REAL[1:]),
    "xor": (lambda x, **at: G.reduce(x, op="bitwise_xor", **at), INTEGERS),
    "scan": (G.scan, INTEGERS),
    "scan, axis": (lambda x, **at: G.scan(x, op="max", axis=-1, **at), INTEGERS),
    "minima of segments": (_in_segments("min"), REAL),
    "maxima of segments": (_in_segments("max"), REAL),
    "sums in segments": (lambda x, **at: G.scan(x.ravel(), segments=_offsets(x, empty=True), **at), INTEGERS[1:]),
    "sums before, in segments": (
        lambda x, **at: G.scan(x.ravel(), segments=_offsets(x).astype(np.uint64), inclusive=False, **at),
        INTEGERS[1:],
    ),
    "scan, exclusive": (lambda x, **at: G.scan(x, inclusive=False, **at), INTEGERS),
}


@pytest.fixture
def host(device: gpuprims.Device) -> Iterator[gpuprims.Device]:
    """A device whose short calls NumPy may compute."""
    if getattr(device.driver, "wakes_threads", None) is None or not device.driver.shares_host_memory:
        pytest.skip("kernels work in the host's memory on CPUs, by OpenCL")
    yield device
    Switch.on = False
    forget_calls()


def elements(dtype: np.dtype[Any], rng: np.random.Generator, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return distinct elements without zeros ("plain"), elements of the whole range, or few different ones.

    Floats of the kind "few" have NaN and zeros of both signs, of the kind "zeros" no NaN.
    """
    n = int(np.prod(shape))
    if kind == "plain":
        return (rng.permutation(n) % 250 % 120 + 1).astype(dtype).reshape(shape)
    if dtype.kind == "b":
        return rng.random(shape) > 0.5
    if dtype.kind in "fc":
        many = rng.standard_normal(shape) * 100
        special = SPECIAL if kind == "few" else SPECIAL[:5]  # without infinities and NaN, which functions decline
        return (many if kind == "whole" else rng.choice(special, shape)).astype(dtype)
    info = np.iinfo(dtype)
    low, high = (info.min, info.max) if kind == "whole" else (max(info.min, -3), 3)
    return rng.integers(low, high, shape, dtype, endpoint=True)


def _steps(array: Any) -> list[int]:
    """Return the strides along axes of several elements."""
    return [stride for stride, n in zip(array.strides, array.shape, strict=True) if n > 1 and array.size]


def assert_same_bits(found: Any, expected: Any) -> None:
    """Compare results, arrays or tuples of them, and how they lie in memory."""
    several = isinstance(expected, tuple)
    for one, other in zip(found if several else [found], expected if several else [expected], strict=True):
        assert type(one) is type(other)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert _steps(one) == _steps(other)
        assert one.tobytes() == other.tobytes()


def check(host: gpuprims.Device, name: str, dtype: str, rng: np.random.Generator, *, few: bool) -> None:
    need(host, "float64")
    call, computed = {**CALLS, **WOKEN}[name]
    for kind in ("plain", "whole", "few", "zeros"):
        for shape in ((8,), (301,), (12, 25)):
            x = elements(np.dtype(dtype), rng, kind, shape)
            x = np.asfortranarray(x) if kind == "few" else x
            if name == "bincount" and x.dtype.itemsize > 1:
                x %= 1000
            Switch.on = False
            forget_calls()
            expected = call(x, device=host)
            Switch.on = True
            forget_calls()
            with pytest.MonkeyPatch.context() as patch:
                if few and dtype in computed and kind == "plain":
                    patch.setattr(LaunchPlan, "compiled", lambda self: pytest.fail("a kernel was compiled"))
                for _ in range(3):
                    assert_same_bits(call(x, device=host), expected)


@pytest.mark.parametrize("dtype", [*REAL, "float16", "complex64"])
@pytest.mark.parametrize("name", CALLS)
def test_numpy_gives_the_bits_of_kernels(
    host: gpuprims.Device, rng: np.random.Generator, name: str, dtype: str
) -> None:
    if dtype not in (*CALLS[name][1], *(REAL[1:] if name == "quantile" else ())):
        pytest.skip("a kernel computes it")
    check(host, name, dtype, rng, few=True)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("name", WOKEN)
def test_numpy_gives_the_bits_of_kernels_whose_launches_wake_threads(
    host: gpuprims.Device, rng: np.random.Generator, name: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if dtype not in WOKEN[name][1]:
        pytest.skip("a kernel computes it")
    monkeypatch.setattr(Few, "most", lambda self, driver: self.woken if Switch.on else 0)
    check(host, name, dtype, rng, few=True)


def test_numpy_looks_at_the_first_bools(device: gpuprims.Device, numpy_computes: None) -> None:
    for size in (5, 2**14, 2**20 + 5):
        for place in (None, 0, min(size, 2**14) - 1, min(size, 2**14 + 1) - 1, size - 1):
            x = np.zeros((1, size), bool)
            x[:, slice(place, None if place is None else place + 1)] = place is not None
            for op, given in (("any", x), ("all", ~x), ("max", x), ("min", ~x), ("argmax", x), ("argmin", ~x)):
                expected = getattr(np, op)(given)
                assert gpuprims.reduce(given, op=op, device=device) == expected
                if not op.startswith("arg"):
                    strided = np.stack([given, ~given if op in ("any", "max") else given], -1)
                    assert gpuprims.reduce(strided[..., 0], op=op, device=device) == expected
                    assert gpuprims.reduce(strided.T[0], op=op, device=device) == expected
                kept = gpuprims.reduce(given, op=op, keepdims=True, device=device)
                assert kept.shape == (1, 1)
                assert kept[0, 0] == expected


@pytest.mark.parametrize("vectors", [set(), {2}])
def test_words_are_sorted_with_and_without_vectors(
    host: gpuprims.Device, rng: np.random.Generator, vectors: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_numpy, "_BY_VECTORS", vectors)
    monkeypatch.setattr(Switch, "on", True)
    forget_calls()
    for dtype in ("int16", "uint16"):
        for shape in ((300,), (40, 7), (3, 2000)):
            x = elements(np.dtype(dtype), rng, "whole", shape)
            np.testing.assert_array_equal(gpuprims.sort(x, axis=0, device=host), np.sort(x, axis=0))
            found = gpuprims.sort(x, descending=True, device=host)
            np.testing.assert_array_equal(found, np.sort(x)[..., ::-1])


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_numpy_writes_to_out(
    host: gpuprims.Device, rng: np.random.Generator, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Few, "most", lambda self, driver: self.woken if Switch.on else 0)
    forget_calls()
    x = elements(np.dtype(dtype), rng, "plain", (7, 30))
    room, place, expected = np.empty_like(x), np.empty((), np.int64), x + x
    monkeypatch.setattr(Switch, "on", True)
    for _ in range(3):
        room[:] = 0
        assert gpuprims.map("x + x", x, out=room, device=host) is room
        assert np.array_equal(room, expected)
        assert gpuprims.reduce(x, op="argmax", out=place, device=host) is place
        assert place == x.argmax()
    for k in range(1, 4):  # in place, where the elements change each time
        assert gpuprims.map("x + y", room, x, out=room, device=host) is room
        assert np.array_equal(room, expected + k * x)
    x[0, 0] = 0 if dtype == "int32" else np.nan  # which a kernel computes
    least, most = np.empty((), dtype), np.empty((), dtype)
    for _ in range(2):
        found = gpuprims.reduce(x, op="minmax", out=(least, most), device=host)
        assert found[0] is least
        assert found[1] is most
        assert np.array_equal([least, most], [x.min(), x.max()], equal_nan=True)
