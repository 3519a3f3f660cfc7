"""Benchmarks of the primitives that order elements, and of the functions made of them."""

from __future__ import annotations

from functools import partial

import numpy as np

import gpuprims
from gpuprims.primitives.rle import encode_runs

from .. import ordered_oracles as right
from ..elements import SEED
from ..elements import Elements as Drawn
from .timed import Timed, kernels_of

same = np.testing.assert_array_equal


class Ordered:
    """Sorts, selections, groups and searches."""

    @kernels_of("sort")
    def test_sort(self, timed: Timed, variant: str | None) -> None:
        (x,) = Drawn().host(timed.size)
        same(timed(partial(gpuprims.sort, variant=variant), x, nbytes=2 * x.nbytes), np.sort(x))

    @kernels_of("sort")
    def test_sort_by_key(self, timed: Timed, variant: str | None) -> None:
        keys, numbers = Drawn("uint32", "every", beside="numbers").host(timed.size)
        found = timed(partial(gpuprims.sort_by_key, variant=variant), keys, numbers, nbytes=4 * keys.nbytes)
        same(found[0], np.sort(keys))
        same(keys[found[1]], found[0])

    @kernels_of("searchsorted")
    def test_searchsorted(self, timed: Timed, variant: str | None) -> None:
        x, keys = Drawn(spread="ascending", beside="elements").host(timed.size)
        same(timed(partial(gpuprims.searchsorted, variant=variant), x, keys), np.searchsorted(x, keys))

    @kernels_of("merge")
    def test_merge(self, timed: Timed, variant: str | None) -> None:
        one, other = np.sort(np.random.default_rng(SEED).random((2, timed.size // 2), np.float32))
        found = timed(partial(gpuprims.merge, variant=variant), one, other, nbytes=4 * one.nbytes)
        same(found, np.sort(np.concatenate([one, other])))

    @kernels_of("selection")
    def test_median(self, timed: Timed, variant: str | None) -> None:
        (x,) = Drawn().host(timed.size)
        same(timed(partial(gpuprims.median, variant=variant), x, nbytes=x.nbytes), np.median(x))

    @kernels_of("top_k")
    def test_top_k(self, timed: Timed, variant: str | None) -> None:
        (x,) = Drawn().host(timed.size)
        right.top(timed(partial(gpuprims.top_k, k=100, variant=variant), x, nbytes=x.nbytes), right.largest(100, x))

    @kernels_of("rle")
    def test_runs(self, timed: Timed, variant: str | None) -> None:
        (values,) = Drawn("int32", "distinct").host(-(-timed.size // 10))
        x = np.repeat(values, 10)[: timed.size]
        found = timed(partial(encode_runs, lengths=True, variant=variant), x, nbytes=x.nbytes + 12 * values.size)
        same(found[0], values)
        same(np.repeat(*found), x)

    def test_unique(self, timed: Timed) -> None:
        (x,) = Drawn("int32", "few").host(timed.size)
        same(timed(gpuprims.unique, x, nbytes=x.nbytes), np.unique(x))

    def test_reduce_by_key(self, timed: Timed) -> None:
        x, keys = Drawn(beside="thousand keys").host(timed.size)
        right.near_sums(timed(right.reduce_by_key, x, keys, nbytes=2 * x.nbytes), right.sums_by_key(x, keys))
