"""take, searchsorted, isin and merge under Oclgrind and compute-sanitizer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import Kernel, assert_equal, on_device, on_host, random_values, two_groups
from sorted_cases import in_order, numbers
from watched_kernels import each, of, sizes

import gpuprims
from gpuprims.errors import IndicesError

pytestmark = pytest.mark.oclgrind


def where(kernel: Kernel) -> dict[str, Any]:
    return {"device": kernel.device, "variant": kernel.variant.name}


@each(of("take"))
def test_take(kernel: Kernel, rng: np.random.Generator) -> None:
    for size in sizes(kernel):
        for dtype, integer in (("f4", "i8"), ("c16", "i4"), ("u1", "u1")):
            x, indices = random_values(rng, dtype, (120, 4)), rng.integers(0, 120, size).astype(integer)
            assert_equal(gpuprims.take(x, indices, **where(kernel)), np.take(x, indices))
            assert_equal(gpuprims.take(x, indices[::2][:500], 0, **where(kernel)), np.take(x, indices[::2][:500], 0))
    x, wrong = on_device(kernel.device, np.arange(9)), on_device(kernel.device, np.int64([0] * 700 + [9]))
    with pytest.raises(IndicesError):
        gpuprims.take(x, wrong, **where(kernel))
    assert_equal(on_host(kernel.device, gpuprims.take(x, wrong, mode="wrap", **where(kernel))), np.zeros(701, int))


@each(of("take"))
def test_take_by_two_groups(kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    x, indices = random_values(rng, np.int32, 100), rng.integers(-100, 100, 3 * kernel.variant.tile + 3)
    with two_groups(kernel.device, monkeypatch):
        got = gpuprims.take(x, indices, **where(kernel))
    assert_equal(got, x[indices])


@each(of("searchsorted"))
def test_searches(kernel: Kernel, rng: np.random.Generator) -> None:
    by_words = kernel.variant.name == "words"  # of real numbers
    for size in (1, 4096, 5003) if by_words else (0, 1, 4096, 5003):
        for dtype, key in (("f4", "f4"), ("f8" if by_words else "c8", "i2"), ("u1", "f2")):
            a, keys = in_order(rng, dtype, size), numbers(rng, key, 161)
            assert_equal(gpuprims.searchsorted(a, keys, **where(kernel)), np.searchsorted(a, keys))
            got = gpuprims.isin(keys, a[:9], **where(kernel))
            assert_equal(got, np.isin(keys, a[:9]))


@each(of("searchsorted"))
def test_searches_by_two_groups(kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    a, keys = in_order(rng, np.float32, 18_000), numbers(rng, np.float32, min(3 * kernel.variant.tile + 3, 10_000))
    with two_groups(kernel.device, monkeypatch):
        got = gpuprims.searchsorted(a, keys, "right", **where(kernel))
    assert_equal(got, np.searchsorted(a, keys, "right"))


@each(of("merge"))
def test_merges(kernel: Kernel, rng: np.random.Generator) -> None:
    for size in sizes(kernel):
        for dtypes in (("f4", "f4"), ("i2", "f4")):
            a, b = in_order(rng, dtypes[0], size), in_order(rng, dtypes[1], size // 3 + 1)
            assert_equal(gpuprims.merge(a, b, **where(kernel)), np.sort(np.concatenate([a, b])))


@each(of("merge"))
def test_merges_by_two_groups(kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    size = 2 * kernel.variant.tile + 3
    a, b = in_order(rng, np.float32, size), in_order(rng, np.float32, size // 2)
    with two_groups(kernel.device, monkeypatch):
        got = gpuprims.merge(a, b, descending=False, **where(kernel))
    assert_equal(got, np.sort(np.concatenate([a, b])))
