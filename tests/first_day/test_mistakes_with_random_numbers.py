"""Mistakes of a first day: random numbers, histograms of several axes, differences and bins."""

from __future__ import annotations

import numpy as np
import pytest
from mistakes import Mistake, check

import gpuprims
from gpuprims import errors

X, V = np.arange(12.0).reshape(3, 4), np.arange(6.0)

MISTAKES: dict[str, Mistake] = {
    "size of numpy": (
        lambda: gpuprims.random(7, size=5), errors.UnknownKeywordError,
        ("random: keywords among key, shape,", "size", "did you mean 'shape'?"),
    ),
    "loc and scale of numpy": (
        lambda: gpuprims.random(7, 5, "normal", loc=1, scale=2), errors.UnknownKeywordError,
        ("random: keywords among key,", "loc, scale", "write loc + scale * random(...)"),
    ),
    "distribution of others": (
        lambda: gpuprims.random(7, 5, distribution="normal"), errors.UnknownKeywordError,
        ("random: keywords among key,", "distribution", "write kind="),
    ),
    "a kind in place of the key": (
        lambda: gpuprims.random("normal", (5,)), errors.ArgumentError,
        ("random: a key from 0 to 2**64 - 1", "'normal'", "the key comes first: random(7, (5,), 'normal')"),
    ),
    "a shape in place of the key": (
        lambda: gpuprims.random((3, 4, 5)), errors.ArgumentError,
        ("random: a key from 0 to 2**64 - 1", "(3, 4, 5)", "the key comes first: random(7, (3, 4, 5))"),
    ),
    "endpoint of numpy": (
        lambda: gpuprims.random(7, 5, "integers", high=6, endpoint=True), errors.UnknownKeywordError,
        ("random: keywords among key,", "endpoint", "high= is never drawn: write high + 1"),
    ),
    "no key": (lambda: gpuprims.random(None, 5), errors.ArgumentError, ("random: a key from 0 to 2**64 - 1", "None")),
    "a generator as a key": (
        lambda: gpuprims.random(np.random.default_rng(0), 5), errors.ArgumentError,
        ("random: a key from 0", "Generator(PCG64)"),
    ),
    "no shape": (lambda: gpuprims.random(7), errors.ArgumentError, ("random: a shape, or out=", "neither")),
    "a shape in powers of ten": (
        lambda: gpuprims.random(7, 1e6), errors.ShapeError,
        ("random: a shape of integers from 0 on", "1000000.0", "write 1000000"),
    ),
    "two lengths": (
        lambda: gpuprims.random(7, 3, 4), errors.ArgumentError,
        ("random: kind= 'uniform', 'normal',", "4", "a shape of several axes is a tuple: (3, 4)"),
    ),
    "gaussian": (
        lambda: gpuprims.random(7, 5, "gaussian"), errors.ArgumentError,
        ("random: kind= 'uniform',", "'gaussian'", "did you mean 'normal'?"),
    ),
    "integers without an end": (
        lambda: gpuprims.random(7, 5, "integers"), errors.ArgumentError,
        ("random: high= an integer, and low= an integer or 0, for kind='integers'", "high=None and low=None"),
    ),
    "integers up to a float": (
        lambda: gpuprims.random(7, 5, "integers", high=6.5), errors.ArgumentError, ("random: high= an integer", "6.5"),
    ),
    "more numbers than any memory holds": (
        lambda: gpuprims.random(7, (2**40, 2**40)), errors.ShapeError,
        ("random: a shape of fewer than 2^60 elements", "(1099511627776, 1099511627776)"),
    ),
    "a class for a key": (
        lambda: gpuprims.random(np.uint64, 5), errors.ArgumentError, ("random: a key from 0 to 2**64 - 1", "uint64"),
    ),
    "a range exchanged": (
        lambda: gpuprims.random(7, 5, "integers", low=7, high=1), errors.ArgumentError,
        ("random: low= less than high=", "7 and 1"),
    ),
    "a range of uniform numbers": (
        lambda: gpuprims.random(7, 5, low=1, high=2), errors.ArgumentError,
        ("random: low= and high= for kind='integers' only", "kind='uniform'", "scale the numbers"),
    ),
    "uniform integers": (
        lambda: gpuprims.random(7, 5, dtype=int), errors.DtypeError,
        ("random: dtype= of uniform one of float64, float32", "int64"),
    ),
    "one range for two axes": (
        lambda: gpuprims.histogram2d(V, V, range=(0, 1)), errors.ArgumentError,
        ("histogram2d: range= a pair (low, high), or None, for each axis", "(0, 1)"),
    ),
    "density a word": (
        lambda: gpuprims.histogram2d(V, V, density="yes"), errors.ArgumentError,
        ("histogram2d: density= True or False", "'yes'"),
    ),
    "density of a histogram a word": (
        lambda: gpuprims.histogram(V, density="no"), errors.ArgumentError,
        ("histogram: density= True or False", "'no'"),
    ),
    "deterministic a word": (
        lambda: gpuprims.histogram(V, weights=V, deterministic="no"), errors.ArgumentError,
        ("histogram: deterministic= True or False", "'no'"),
    ),
    "deterministic points by a word": (
        lambda: gpuprims.histogramdd([V, V], deterministic="no"), errors.ArgumentError,
        ("histogramdd: deterministic= True or False", "'no'"),
    ),
    "deterministic counts by an array": (
        lambda: gpuprims.bincount([1, 2], deterministic=V), errors.ArgumentError,
        ("bincount: deterministic= True or False",),
    ),
    "a list of variants": (
        lambda: gpuprims.bincount([1, 2], variant=["packed"]), errors.UnknownVariantError,
        ("bincount: variant= a name", "['packed']"),
    ),
    "coordinates of unlike lengths": (
        lambda: gpuprims.histogram2d(V, V[:3]), errors.ShapeError,
        ("histogram2d: coordinates and weights of one dimension and of one length", "(6,) and (3,)"),
    ),
    "bins for two of four axes": (
        lambda: gpuprims.histogramdd(X, bins=(2, 2)), errors.ArgumentError,
        ("histogramdd: bins for 4 axes", "(2, 2) for 2"),
    ),
    "bins by a rule": (
        lambda: gpuprims.histogram2d(V, V, bins="auto"), errors.ArgumentError,
        ("histogram2d: a number of bins, or their edges", "'auto'", "histogram alone has them"),
    ),
    "too many bins along one axis": (
        lambda: gpuprims.histogram2d(V, V, bins=10**30), errors.ArgumentError,
        ("histogram2d: at most 2^30 bins in all", "count in fewer bins"),
    ),
    "too many bins": (
        lambda: gpuprims.histogramdd([V] * 8, bins=100), errors.ArgumentError,
        ("histogramdd: at most 2^30 bins in all", "count in fewer bins"),
    ),
    "bins out of order": (
        lambda: gpuprims.digitize(V, [1, 3, 2]), errors.ArgumentError,
        ("digitize: bins in ascending or descending order", "3 before 2, at indices 1 and 2", "sort them"),
    ),
    "bins with NaN": (
        lambda: gpuprims.digitize(V, [1, np.nan, 2]), errors.ArgumentError,
        ("digitize: bins in ascending or descending order, without NaN", "1.0 before nan"),
    ),
    "side of searchsorted": (
        lambda: gpuprims.digitize(V, [1, 2], side="left"), errors.UnknownKeywordError,
        ("digitize: keywords among x, bins,", "side", "write right=True for side='left'"),
    ),
    "right a word": (
        lambda: gpuprims.digitize(V, [1, 2], "left"), errors.ArgumentError,
        ("digitize: right= True or False", "'left'"),
    ),
    "a difference of order minus one": (
        lambda: gpuprims.diff(V, -1), errors.ArgumentError, ("diff: n= an integer from 0 on", "-1"),
    ),
    "an axis of nonzero": (
        lambda: gpuprims.nonzero(V, axis=0), errors.UnknownKeywordError, ("nonzero: keywords among a,", "axis"),
    ),
    "an index for the array's name": (
        lambda: gpuprims.map("x + x", V, index="x"), errors.ArgumentError,
        ("map: one array for each parameter of the function, which has none left", "1", "index= names a"),
    ),
    "an index that the function lacks": (
        lambda: gpuprims.map("x + 1", V, index="i"), errors.ArgumentError,
        ("map: index= parameters of the function", "'i'"),
    ),
    "a number for a stream": (
        lambda: gpuprims.use_stream(5), errors.ArgumentError,
        ("use_stream: an object with __cuda_stream__, such as cupy.cuda.Stream()", "5"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_message_says_the_rule_what_was_got_and_what_to_do(name: str) -> None:
    check(MISTAKES[name])
