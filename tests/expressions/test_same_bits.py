"""Expressions at the level "device": each device computes the reference's bits, those of NaN included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import need
from portable_errors import inputs

import gpuprims
from gpuprims.core.launch_plan import find_plan
from gpuprims.errors import DtypeError
from gpuprims.expressions import as_portable, expression, typed
from gpuprims.expressions.functions import FLOATING, UFUNCS
from gpuprims.primitives.map.plan import bind, plan_call

# Functions that share a kernel, since compiling is what takes time. A default run takes the first ones alone.
USUAL = ("exp", "log", "tanh", "sin", "power")
OTHERS = [name for name in (*FLOATING, "maximum", "minimum", "fmax", "fmin", "signbit") if name not in USUAL]
ARITHMETIC = "a*b + c, c - a*b, a*a + b*b, a/b - c, sqrt(abs(a)), (a + b)*c - a*c, a**3, a**4, a**b, 1/(1 + exp(-a))"


def portable_map(function: Any, *arrays: np.ndarray, device: gpuprims.Device | str) -> Any:
    """Return the results of a map with portable functions."""
    operands, request, out, variant = bind((function, *arrays), device=device)
    return find_plan(plan_call, operands, request._replace(portable=True), out, variant).run(operands, out)


def same_bits(function: Any, *arrays: np.ndarray, device: gpuprims.Device) -> None:
    """Compare the bits of results on a device with those on the reference."""
    results = [portable_map(function, *arrays, device=one) for one in (device, "reference")]
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
    results = portable_map("x - x, sqrt(x), log(x), maximum(x, x), copysign(1, x), signbit(x)", x, device=device)
    for got in results[:4]:
        assert set(got[np.isnan(got)].view("u4").tolist()) == {0x7FC00000}
    assert results[4].tolist() == [1, 1, 1, -1]
    assert results[5].tolist() == [False, False, False, True]


def test_functions_of_complex_numbers_raise() -> None:
    for source in ("exp(x)", "x * x", "abs(x)"):
        with pytest.raises(DtypeError, match="same bits on each device: real numbers; got complex64"):
            as_portable(typed(expression(source), [np.dtype(np.complex64)]))
    as_portable(typed(expression("x + conj(x)"), [np.dtype(np.complex64)]))


def test_integers_and_arguments_stay_as_they_are() -> None:
    function = typed(expression("x**3 + maximum(x, 2), x"), [np.dtype(np.int32)])
    assert as_portable(function) == function
    assert as_portable(typed(expression("x"), [np.dtype(np.float32)])).nodes[-1].name == "argument"
