"""Every function an expression may call, for every dtype it has a kernel for, on every device, held against NumPy.

Functions of one dtype share a kernel, several results a call, since compiling is what takes time. Inputs are the ones
that C and NumPy disagree about unless care is taken: extremes, zeros of both signs, infinities, NaN, division by zero,
shifts beyond the width.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from kernel_cases import COMPLEX, DTYPES, FLOATS, INTEGERS, need

import gpuprims
from gpuprims.errors import DtypeError
from gpuprims.expressions import trace, typed
from gpuprims.expressions.functions import COMPARE, FLOATING, FUNCTIONS

# Units in the last place that float32 and float64 results may be away from the exact value: what OpenCL allows each
# function, and CUDA keeps well within; everything not listed rounds once, as NumPy does.
ULPS = {
    "exp": 3, "exp2": 3, "expm1": 3, "log": 3, "log2": 3, "log10": 3, "log1p": 2, "cbrt": 2, "sin": 4, "cos": 4, "tan":
    5, "arcsin": 4, "arccos": 4, "arctan": 5, "sinh": 4, "cosh": 4, "tanh": 5, "arcsinh": 4, "arccosh": 4,
    "arctanh": 5, "arctan2": 6, "angle": 6, "hypot": 4, "power": 16,
}  # fmt: skip
# Division and roots round correctly in float64 everywhere; in float32 OpenCL allows these, though drivers that can
# round correctly are asked to.
FLOAT32_ULPS = {"divide": 2.5, "reciprocal": 2.5, "sqrt": 3, "remainder": 1}
# float16 is computed in float32 and rounded: one unit covers the second rounding.
FLOAT16_ULPS = 1
# Which zero is the larger is nobody's promise, NumPy's least of all.
EITHER_ZERO = ("maximum", "minimum", "fmax", "fmin")
WIDER = {"float32": "float64", "float64": "longdouble"}
PER_KERNEL = 12


def hard_values(dtype: np.dtype[Any]) -> np.ndarray:
    """Values that a function is most likely to get wrong."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind == "f":
        limits = np.finfo(dtype)
        near = [0.0, 0.1, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 7.0, 10.0, 100.0, 1e-3]
        values = [*near, float(limits.max), float(limits.tiny), np.inf]
        return np.array([*values, *(-value for value in values), np.nan], dtype)
    info = np.iinfo(dtype)
    bits = info.bits
    near = [-100, -8, -7, -3, -2, -1, 0, 1, 2, 3, 7, 8, bits - 1, bits, bits + 1, 100]
    values = [info.min, info.min + 1, *near, info.max // 2, info.max - 1, info.max]
    return np.array(sorted({value for value in values if info.min <= value <= info.max}), dtype)


def operands(arity: int, dtype: np.dtype[Any]) -> list[np.ndarray]:
    """Every hard value with every other."""
    values = hard_values(dtype)
    if arity == 1:
        return [values]
    left, right = np.repeat(values, len(values)), np.tile(values, len(values))
    return [left, right] if arity == 2 else [np.arange(left.size) % 3 == 0, left, right]


@cache
def computes(name: str, dtype: np.dtype[Any]) -> bool:
    """Whether a function has a kernel in this very dtype, without a conversion of its operands."""
    function = FUNCTIONS[name]
    dtypes = [np.dtype(bool), dtype, dtype][-function.arity :] if name == "where" else [dtype] * function.arity
    try:
        nodes = typed(trace(function.numpy if name != "where" else np_where), dtypes).nodes
    except DtypeError:
        return False
    return all(node.name != "cast" for node in nodes)


def np_where(condition: Any, x: Any, y: Any) -> Any:
    return np.where(condition, x, y)


def batches() -> list[Any]:
    """Every function in every dtype it computes in, by dtype and number of operands."""
    found = []
    for dtype, arity in product(map(np.dtype, DTYPES), (1, 2, 3)):
        able = [name for name, function in FUNCTIONS.items() if function.arity == arity and computes(name, dtype)]
        for start in range(0, len(able), PER_KERNEL):
            found.append(pytest.param(dtype, able[start : start + PER_KERNEL], id=f"{dtype}-{arity}-{start}"))  # noqa: PERF401
    return found


def exact(name: str, values: Sequence[np.ndarray]) -> np.ndarray:
    """NumPy's result; for a function that drivers approximate, NumPy's in the next wider dtype."""
    dtype = values[-1].dtype
    with np.errstate(all="ignore"):
        if name in ULPS and dtype.name in WIDER:
            return np.asarray(FUNCTIONS[name].numpy(*(v.astype(WIDER[dtype.name]) for v in values))).astype(dtype)
        return np.asarray(FUNCTIONS[name].numpy(*values))


def ulps(name: str, dtype: np.dtype[Any]) -> float:
    """The bound of a function's error in a dtype."""
    if dtype == np.float16:
        return FLOAT16_ULPS
    return FLOAT32_ULPS.get(name, ULPS.get(name, 0)) if dtype == np.float32 else ULPS.get(name, 0)


def mistakes(name: str, got: np.ndarray, expected: np.ndarray, values: Sequence[np.ndarray]) -> list[str]:
    """The first few elements that are further from the expected than the function's bound."""
    assert got.dtype == expected.dtype, f"{name}: dtype {got.dtype} instead of {expected.dtype}"
    if expected.dtype.kind != "f":
        wrong = got != expected
    else:
        with np.errstate(all="ignore"):
            error = np.abs(got.astype(np.longdouble) - expected) / np.spacing(np.abs(expected)).astype(np.longdouble)
            close = error <= ulps(name, expected.dtype)
        if expected.dtype == np.float32:  # OpenCL lets a device take results below the smallest normal number for zero
            close |= (np.abs(expected) <= np.finfo(np.float32).tiny) & (np.abs(got) <= np.finfo(np.float32).tiny)
        largest = np.finfo(expected.dtype).max  # within the bound, it may round to infinity
        elsewhere = (got == expected) | (np.isnan(got) & np.isnan(expected))
        if ulps(name, expected.dtype):
            elsewhere |= (np.abs(expected) == largest) & (got == np.copysign(np.inf, expected))
        wrong = ~np.where(np.isfinite(expected) & np.isfinite(got), close, elsewhere)
        if name not in EITHER_ZERO:
            wrong |= (expected == 0) & (got == 0) & (np.signbit(got) != np.signbit(expected))
    return [_shown(name, [v[k] for v in values], got[k], expected[k]) for k in np.flatnonzero(wrong)[:4]]


def _shown(name: str, values: Sequence[Any], got: Any, expected: Any) -> str:
    return f"{name}({', '.join(map(repr, values))}) = {got!r}, not {expected!r}"


@pytest.mark.parametrize(("dtype", "names"), batches())
def test_functions_compute_what_numpy_computes(
    device: gpuprims.Device, dtype: np.dtype[Any], names: Sequence[str]
) -> None:
    need(device, dtype)
    arity = FUNCTIONS[names[0]].arity
    values = operands(arity, dtype)

    def function(*elements: Any) -> Any:
        return tuple(FUNCTIONS[name].numpy(*elements) for name in names)

    results = gpuprims.map(function, *values, device=device)
    found = [mistakes(n, got, exact(n, values), values) for n, got in zip(names, results, strict=True)]
    assert [text for texts in found for text in texts] == []


@pytest.mark.parametrize("dtype", [name for name in INTEGERS if np.dtype(name).kind == "i"])
def test_constant_powers_of_signed_integers_wrap_as_numpys_do(device: gpuprims.Device, dtype: str) -> None:
    values = hard_values(np.dtype(dtype))
    exponents = (0, 1, 2, 3, 5, 13, 64)
    results = gpuprims.map(lambda x: tuple(x**k for k in exponents), values, device=device)
    for exponent, got in zip(exponents, results, strict=True):
        np.testing.assert_array_equal(got, values**exponent, err_msg=f"{dtype}**{exponent}")


def test_every_template_is_met_by_a_test() -> None:
    kinds = [(np.dtype(dtype), np.dtype(dtype).kind) for dtype in (*DTYPES, *COMPLEX)]
    spelled = [name for name, function in FUNCTIONS.items() if function.templates]
    met = {(name, kind) for name in spelled for dtype, kind in kinds if computes(name, dtype)}
    met.add(("power", "i"))  # by a constant exponent alone
    written = {(name, kind) for name, function in FUNCTIONS.items() for kind in function.templates}
    assert written == met


def test_every_approximated_function_has_a_bound() -> None:
    rounded_once = {"sqrt", "copysign", "fabs", "rint"}
    assert {*FLOATING, "power", "angle"} - rounded_once == set(ULPS)


def test_integers_divide_to_floats(device: gpuprims.Device) -> None:
    need(device, np.float64)
    values = operands(2, np.dtype("int64"))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(gpuprims.map("x / y", *values, device=device), values[0] / values[1])


def test_small_integers_have_roots_in_small_floats(device: gpuprims.Device) -> None:
    for dtype in ("bool", "int8", "uint8", "int16", "uint16"):
        values = np.abs(hard_values(np.dtype(dtype)).astype("float32")).astype(dtype)
        values = values[values >= 0]
        got = gpuprims.map(np.sqrt, values, device=device)
        assert mistakes("sqrt", got, np.sqrt(values), [values]) == []


@pytest.mark.parametrize("source", DTYPES)
def test_every_dtype_converts_to_every_other(device: gpuprims.Device, source: str) -> None:
    need(device, source)
    targets = [name for name in DTYPES if name != "float64" or device.capabilities.fp64]
    values = hard_values(np.dtype(source))
    if values.dtype.kind == "f":  # out of an integer's range NumPy gives whatever the processor does
        values = np.array([0.0, -0.0, 0.25, 0.999, 1.0, 1.5, 42.9, 100.5], source)
    results = gpuprims.map(lambda x: tuple(x.astype(target) for target in targets), values, device=device)
    for target, got in zip(targets, results, strict=True):
        with np.errstate(all="ignore"):
            assert mistakes(f"{source} to {target}", got, values.astype(target), [values]) == []


@pytest.mark.parametrize("source", FLOATS)
def test_negative_and_special_floats_convert(device: gpuprims.Device, source: str) -> None:
    need(device, source)
    values = np.array([-100.9, -1.5, -0.5, -0.0, 100.9], source)
    results = gpuprims.map("int8(x), int16(x), int32(x), int64(x)", values, device=device)
    for got in results:
        np.testing.assert_array_equal(got, values.astype(got.dtype))
    special = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0], source)
    truth, small, single = gpuprims.map("bool(x), float16(x), float32(x)", special, device=device)
    np.testing.assert_array_equal(truth, special.astype(bool))
    np.testing.assert_array_equal(small, special.astype(np.float16))
    np.testing.assert_array_equal(np.signbit(single), np.signbit(special))


def comparable(name: str, left: str, right: str) -> bool:
    """Whether a comparison is computed; what no C type can hold both sides of may be refused."""
    try:
        typed(trace(FUNCTIONS[name].numpy), [np.dtype(left), np.dtype(right)])
    except DtypeError:
        assert "uint64" in (left, right)
        assert "int" in (left[:3], right[:3])
        return False
    return True


@pytest.mark.parametrize("name", COMPARE)
def test_integers_of_all_widths_compare_exactly(device: gpuprims.Device, name: str, rng: np.random.Generator) -> None:
    columns = [rng.choice(hard_values(np.dtype(dtype)), 500) for dtype in INTEGERS]
    pairs = [(i, j) for i, j in product(range(8), repeat=2) if comparable(name, INTEGERS[i], INTEGERS[j])]

    def packed(*elements: Any) -> Any:
        bits = [
            FUNCTIONS[name].numpy(elements[i], elements[j]).astype(np.uint64) << k for k, (i, j) in enumerate(pairs)
        ]
        return sum(bits[1:], bits[0])

    got = gpuprims.map(packed, *columns, device=device)
    for k, (i, j) in enumerate(pairs):
        expected = FUNCTIONS[name].numpy(columns[i], columns[j])
        np.testing.assert_array_equal(
            (got >> np.uint64(k)) & 1, expected, err_msg=f"{INTEGERS[i]} {name} {INTEGERS[j]}"
        )


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_compare_exactly_with_constants_out_of_their_range(device: gpuprims.Device, dtype: str) -> None:
    x = hard_values(np.dtype(dtype))
    results = gpuprims.map("x > -1, x == -1, x < 70000, x != 70000, x >= -70000", x, device=device)
    expected = (x > -1, x == -1, x < 70000, x != 70000, x >= -70000)
    for k, (got, wanted) in enumerate(zip(results, expected, strict=True)):
        np.testing.assert_array_equal(got, wanted, err_msg=f"comparison {k} of {dtype}")


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_extremes_of_a_dtype_are_constants(device: gpuprims.Device, dtype: str) -> None:
    need(device, dtype)
    for value in hard_values(np.dtype(dtype)):
        got = gpuprims.map(lambda x, value=value: np.where(x, value, value), np.array([True, False]), device=device)
        np.testing.assert_array_equal(got, [value, value])


def test_float16_rounds_after_each_step_as_numpy_does(device: gpuprims.Device) -> None:
    x = np.linspace(-3, 3, 1001).astype(np.float16)
    got = gpuprims.map("(x * x + x) * x - 1", x, device=device)
    np.testing.assert_array_equal(got, (x * x + x) * x - 1)
