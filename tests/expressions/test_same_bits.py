"""Expressions at the level "device": each device computes the reference's bits, those of NaN included."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_cases import need
from portable_errors import inputs

import gpuprims
from gpuprims.cli.text_driver import usual_device
from gpuprims.core.registry import REGISTRY
from gpuprims.core.traits import CallTraits
from gpuprims.errors import NoVariantError
from gpuprims.expressions import as_portable, expression, typed
from gpuprims.expressions.functions import FLOATING, UFUNCS
from gpuprims.expressions.portable import DEFINITIONS

# Functions that share a kernel, since compiling is what takes time. A default run takes the first ones alone.
USUAL = ("exp", "log", "tanh", "sin", "power")
OTHERS = [name for name in (*FLOATING, "maximum", "minimum", "fmax", "fmin", "signbit") if name not in USUAL]
ARITHMETIC = "a*b + c, c - a*b, a*a + b*b, a/b - c, sqrt(abs(a)), (a + b)*c - a*c, a**3, a**4, a**b, 1/(1 + exp(-a))"


def same_bits(function: Any, *arrays: np.ndarray, device: gpuprims.Device) -> None:
    """Compare the bits of results on a device with those on the reference."""
    results = [gpuprims.map(function, *arrays, device=one, determinism="device") for one in (device, "reference")]
    for k, (got, wanted) in enumerate(zip(*results, strict=True)):
        bits = f"u{got.itemsize}"
        np.testing.assert_array_equal(got.view(bits), wanted.view(bits), err_msg=f"result {k}")


def calls(names: Any) -> Any:
    """Return a function that calls several, with as many operands as each takes."""
    return lambda x, y: tuple(UFUNCS[name].numpy(*(x, y)[: UFUNCS[name].arity]) for name in names)


@pytest.mark.optimised
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_have_the_same_bits(device: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    need(device, dtype)
    x = inputs(rng, dtype, 5000)
    same_bits(calls(USUAL), x, rng.permutation(x), device=device)


@pytest.mark.optimised
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("first", range(0, len(OTHERS), 6))
def test_other_functions_have_the_same_bits(
    device: gpuprims.Device, rng: np.random.Generator, dtype: str, first: int
) -> None:
    need(device, dtype)
    x = inputs(rng, dtype, 5000)
    same_bits(calls(OTHERS[first : first + 6]), x, rng.permutation(x), device=device)


@pytest.mark.optimised
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_are_rounded_before_their_sums(device: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    need(device, dtype)
    x = inputs(rng, dtype, 5000)
    same_bits(f"({ARITHMETIC})", x, rng.permutation(x), rng.permutation(x), device=device)


def test_nan_has_the_bits_of_numpys(device: gpuprims.Device) -> None:
    x = np.array([np.nan, -np.nan, np.inf, -1.0], np.float32)
    source = "x - x, sqrt(x), log(x), maximum(x, x), copysign(1, x), signbit(x)"
    results = gpuprims.map(source, x, device=device, determinism="device")
    for got in results[:4]:
        assert set(got[np.isnan(got)].view("u4").tolist()) == {0x7FC00000}
    assert results[4].tolist() == [1, 1, 1, -1]
    assert results[5].tolist() == [False, False, False, True]
    halves = np.array([0xFE01, 0x7C01, 0x7FFF, 0x3C00], np.uint16).view(np.float16)
    same_bits("x, x - x, sqrt(-x)", halves, device=device)
    brains = x.astype(ml_dtypes.bfloat16)
    same_bits("x - x, sqrt(x)", brains, device=device)


def test_functions_of_complex_numbers_raise() -> None:
    for source in ("exp(x)", "x * x", "abs(x)"):
        with pytest.raises(NoVariantError, match="same bits on each device: real numbers; got complex64"):
            as_portable(typed(expression(source), [np.dtype(np.complex64)]))
    as_portable(typed(expression("x + conj(x)"), [np.dtype(np.complex64)]))


def test_integers_and_arguments_stay_as_they_are() -> None:
    function = typed(expression("x**3 + maximum(x, 2), x"), [np.dtype(np.int32)])
    assert as_portable(function) == function
    assert as_portable(typed(expression("x"), [np.dtype(np.float32)])).nodes[-1].name == "argument"


def test_folds_call_portable_functions(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = inputs(rng, "float32", 300)
    x = x[np.abs(x) < 50]
    for op, source in (("sum", "exp(x)"), ("min", "1 / maximum(x, 0)")):
        how: Any = {"op": op, "map": source, "determinism": "device"}
        got, wanted = (gpuprims.reduce(x, device=one, **how) for one in (device, "reference"))
        assert got.tobytes() == wanted.tobytes()
    exact = gpuprims.reduce(x, map="exp(x)", device=device, determinism="order")
    terms = gpuprims.map("exp(x)", x, device="reference", determinism="device")
    assert exact == np.float32(math.fsum(terms.tolist()))


def test_a_block_asks_for_the_level(rng: np.random.Generator) -> None:
    x = rng.standard_normal(1000, np.float32)
    wanted = DEFINITIONS["exp"](x)
    with gpuprims.use_determinism("device"):
        plan = gpuprims.plan("map", "exp(x)", x)
        np.testing.assert_array_equal(gpuprims.map(np.exp, x), wanted)
        np.testing.assert_array_equal(gpuprims.xp.exp(x), wanted)
    np.testing.assert_array_equal(plan(x), wanted)
    with pytest.raises(NoVariantError, match="multiply with the same bits on each device"):
        gpuprims.map("x * x", x * 1j, determinism="order")


def test_a_device_without_ieee_754_refuses() -> None:
    able = dataclasses.replace(usual_device("gpu", 32), exact_float32=False, name="Example GPU")
    (variant,) = (one for one in REGISTRY.variants("map", "opencl") if one.name == "grid")
    call = CallTraits((np.dtype(np.float32),), 1, rounds=False, portable=True, level="device")
    assert "as in IEEE 754 for the level 'device'; Example GPU has others" in str(variant.refuses(able, call))
    assert variant.refuses(able, dataclasses.replace(call, level="run")) is None
    assert variant.refuses(able, dataclasses.replace(call, dtypes=(np.dtype(np.float64), np.dtype(np.int32)))) is None
