"""histogram with a rule in place of a number of bins, against NumPy's."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
from kernel_cases import assert_equal, need, on_device, on_host

import gpuprims
from gpuprims.errors import ArgumentError
from gpuprims.primitives.histogram.rules import RULES

# The rule "auto" of earlier versions finds other numbers.
OLD = np.lib.NumpyVersion(np.__version__) < "2.4.0"
KNOWN = [rule for rule in RULES if not (OLD and rule == "auto")]
SIZES = [0, 1, 2, 3, 50, 5003]


def drawn(rng: np.random.Generator, dtype: str, size: int, data: str) -> np.ndarray:
    values = {
        "normal": 20 * rng.standard_normal(size),
        "skewed": rng.exponential(20, size),
        "constant": np.full(size, 3.0),
    }[data]
    return (np.abs(values) if dtype[0] in "ub" else values).astype(dtype)


def assert_same(got: Any, expected: Any) -> None:
    for own, wanted in zip(got, expected, strict=True):
        assert_equal(own, wanted)


@pytest.mark.filterwarnings("ignore")  # NumPy's, and those of a rule that finds no least loss
@pytest.mark.parametrize("rule", KNOWN)
@pytest.mark.parametrize("data", ["normal", "skewed", "constant"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "uint64", "float32", "float64"])
def test_every_rule(device: gpuprims.Device, rng: np.random.Generator, dtype: str, data: str, rule: str) -> None:
    need(device, dtype, "float64")
    for size in SIZES:
        x = drawn(rng, dtype, size, data)
        for limits in (None, (5, 30), (-2.5, 7.25), (3, 3)):
            assert_same(gpuprims.histogram(x, rule, limits, device=device), np.histogram(x, rule, limits))


def test_floats_of_16_bits_do_not_overflow(device: gpuprims.Device, rng: np.random.Generator) -> None:
    need(device, "float16")
    x = drawn(rng, "float16", 5003, "skewed")
    for rule in ("scott", "doane"):  # NumPy adds in float16
        got = gpuprims.histogram(x, rule, device=device)[0]
        assert abs(len(got) - len(np.histogram(x.astype(np.float32), rule)[0])) <= 1
        assert got.sum() == x.size


def test_arrays_with_axes_gaps_and_nan(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = drawn(rng, "float32", 6000, "skewed").reshape(60, 100)
    for given in (x.T, x[::-1, ::3]):
        assert_same(gpuprims.histogram(given, "scott", device=device), np.histogram(given, "scott"))
        rows, edges = gpuprims.histogram(given, "fd", axis=1, device=device)
        assert_equal(edges, np.histogram(given, "fd")[1])
        assert_equal(rows, np.array([np.histogram(row, edges)[0] for row in given]))
    x[::7, 3] = np.nan
    assert_same(gpuprims.histogram(x, "sqrt", (0, 30), device=device), np.histogram(x, "sqrt", (0, 30)))


def test_arrays_of_a_device(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = drawn(rng, "float32", 9001, "normal")
    there = on_device(device, x)
    for rule, limits in (("sturges", None), ("scott", (0, 10))):
        got, expected = gpuprims.histogram(there, rule, limits), np.histogram(x, rule, limits)
        assert all(type(one) is type(there) for one in got)
        assert_same([on_host(device, one) for one in got], expected)


def test_a_plan_has_the_bins_of_its_first_array(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x, y = drawn(rng, "float32", 5003, "normal"), drawn(rng, "float32", 5003, "skewed")
    plan = gpuprims.plan("histogram", x, "scott", device=device)
    assert_equal(plan(x), np.histogram(x, "scott")[0])
    assert_equal(plan(y), np.histogram(y, np.histogram(x, "scott")[1])[0])


def test_outliers_make_few_bins(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.standard_normal(5003).astype(np.float32)
    x[:3] = 1e4, -1e4, 3e3
    for rule in KNOWN:
        if rule not in ("fd", "stone"):  # one asks for a million bins, the other is tried above
            assert_same(gpuprims.histogram(x, rule, device=device), np.histogram(x, rule))


def test_more_bins_than_a_rule_tries(device: gpuprims.Device, rng: np.random.Generator) -> None:
    spikes = np.repeat(rng.random(40), 5)
    with pytest.warns(RuntimeWarning, match="found no least loss in up to 100 bins"):
        got = gpuprims.histogram(spikes, "stone", device=device)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same(got, np.histogram(spikes, "stone"))


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a misspelt rule": ({"bins": "atuo"}, "among auto, doane, fd, rice, scott, sqrt, stone, sturges; got 'atuo'"),
    "weights": ({"bins": "auto", "weights": np.ones(3)}, "without weights; got 'auto' and weights (pass a number)"),
    "a range": ({"bins": "auto", "range": (2, 1)}, "finite numbers with low <= high; got (2, 1)"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_refused(device: gpuprims.Device, case: str) -> None:
    keywords, message = WRONG[case]
    with pytest.raises(ArgumentError, match=re.escape(message)):
        gpuprims.histogram(np.float32([1, 2, 3]), **keywords, device=device)


def test_nan_without_a_range_is_refused(device: gpuprims.Device) -> None:
    with pytest.raises(ArgumentError, match="finite elements where range= is not given"):
        gpuprims.histogram(np.float32([1, np.nan]), "auto", device=device)


def test_rules_of_several_axes_are_refused(device: gpuprims.Device) -> None:
    with pytest.raises(ArgumentError, match=r"histogram2d: a number of bins, or their edges; got 'auto' \(rules by"):
        gpuprims.histogram2d([1.0, 2], [1.0, 2], "auto", device=device)
