"""Functions that PoCL's library computes for one element at a time are portable functions there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from kernel_cases import need

import gpuprims
from gpuprims.expressions import expression, in_vectors, typed

ONE = (
    *("exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan"),
    *("sinh", "cosh", "arcsinh", "arccosh", "arctanh", "cbrt"),
)
SPECIAL = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-45, 3e38, -3e38)


@pytest.fixture
def pocl(device: gpuprims.Device) -> gpuprims.Device:
    """A device of PoCL."""
    if not device.capabilities.calls_by_element:
        pytest.skip("for PoCL's library")
    need(device, "float64")
    return device


def elements(rng: np.random.Generator, dtype: str) -> np.ndarray:
    """Return numbers of many sizes and both signs, and those that are special."""
    x = rng.standard_normal(2000) * 10.0 ** rng.integers(-6, 7, 2000)
    with np.errstate(all="ignore"):
        return np.concatenate([x, SPECIAL, rng.uniform(-1, 1, 300)]).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function", ["log(x)", "sin(x)", "arctanh(x)", "arctan2(x, y)", "abs(x) ** y"])
def test_maps_and_folds_of_pocl_compute_portable_functions(
    pocl: gpuprims.Device, rng: np.random.Generator, function: str, dtype: str
) -> None:
    given = [elements(rng, dtype), elements(rng, dtype)[::-1].copy()][: 1 + ("y" in function)]
    found = gpuprims.map(function, *given, device=pocl)
    same = gpuprims.map(function, *given, device=pocl, determinism="device")
    np.testing.assert_array_equal(found, same)  # also the signs of zeros
    np.testing.assert_array_equal(np.signbit(found[found == 0]), np.signbit(same[same == 0]))
    finite = np.isfinite(same)
    rows = [one[finite].reshape(-1, 1) for one in given]
    np.testing.assert_array_equal(gpuprims.reduce(*rows, map=function, axis=1, device=pocl), same[finite])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_results_are_numpys_within_two_units(pocl: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    x = elements(rng, dtype)
    for name in ONE:
        with np.errstate(all="ignore"):
            expected = getattr(np, name)(x.astype(np.longdouble))
            rounded = expected.astype(dtype)
            near = 2 * np.spacing(np.abs(rounded))
        found, finite = gpuprims.map(f"{name}(x)", x, device=pocl), np.isfinite(rounded)
        np.testing.assert_array_equal(found[~finite], rounded[~finite])
        assert (np.abs(found[finite] - expected[finite]) <= near[finite]).all(), name


def test_only_cpus_of_pocl_call_by_element(device: gpuprims.Device) -> None:
    able = device.capabilities
    for vendor, kind, expected in (
        ("Portable Computing Language", "cpu", True),
        ("Portable Computing Language", "gpu", False),
    ):
        assert replace(able, vendor=vendor, kind=kind).calls_by_element is expected
    assert not replace(able, vendor="Intel(R) OpenCL", kind="cpu").calls_by_element


def test_functions_that_have_vectors_stay() -> None:
    single, double = np.dtype(np.float32), np.dtype(np.float64)
    for source, dtype, names in (
        ("exp(x) + log(x)", single, ["argument", "exp", "portable_log", "add"]),
        ("tanh(x)", single, ["argument", "tanh"]),
        ("tanh(x)", double, ["argument", "portable_tanh"]),
        ("maximum(x, hypot(x, x**3))", double, ["argument", "cube", "hypot", "maximum"]),
        ("log(x)", np.dtype(np.complex64), ["argument", "log"]),
    ):
        assert [node.name for node in in_vectors(typed(expression(source), (dtype,))).nodes] == names
