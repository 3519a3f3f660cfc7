"""Maps of complex numbers in C and by NumPy, and of floats that are rounded in C, have the bits of the kernels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from c_cases import PLAIN, functions_of, need_host_memory, use
from kernel_cases import need

import gpuprims
from gpuprims.core.by_numpy import Switch
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.program_cache import forget_calls
from gpuprims.primitives.floats_by_numpy import FLOATS

FUNCTIONS = (
    *("x + y", "x - y", "x * y", "x * x - square(y)", "2 * x + 1 - y * (3 - 2j)", "2.5 * x", "x * conj(y)", "-x"),
    *("x + square(x * 0.5)", "+x"),
)
SHAPES = [*((n,) for n in range(1, 10)), (33,), (255,), (256,), (257,), (1027,), (7, 30)]  # on both sides of a block


def complex_numbers(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return numbers of many exponents, and zeros of both signs."""
    made = np.empty(shape, dtype)
    for part in (made.real, made.imag):
        part[...] = rng.standard_normal(shape) * 10.0 ** rng.integers(-8, 9, shape)
        part[rng.random(shape) < 0.1] = rng.choice([0.0, -0.0])
    return made


def by_kernel(device: gpuprims.Device, function: str, arrays: list[Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    with monkeypatch.context() as patch:
        patch.setattr(Switch, "on", False)
        forget_calls()
        found = gpuprims.map(function, *arrays, device=device)
    forget_calls()
    return found


@pytest.fixture(scope="module", params=[(), (PLAIN,)], ids=["vectors", "plain"])
def module(request: pytest.FixtureRequest) -> Any:
    """The module in C, with AVX2 and without."""
    return functions_of(FLOATS, *request.param)


def used(function: str, arrays: dict[str, Any]) -> list[Any]:
    """Return the arrays of the names in a function, in their order."""
    names = dict.fromkeys(re.findall(r"\b[xyrn]\b", function))
    return [arrays[name] for name in names]


@pytest.fixture
def host(
    device: gpuprims.Device, numpy_computes: None, module: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[gpuprims.Device]:
    """A device whose calls run in C."""
    need_host_memory(device)
    need(device, "float64")
    use(monkeypatch, FLOATS, module)
    forget_calls()
    yield device
    forget_calls()


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_maps_have_the_bits_of_kernels(
    host: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, function: str, dtype: str
) -> None:
    for shape in SHAPES:
        x, y = complex_numbers(rng, dtype, shape), complex_numbers(rng, dtype, shape)
        given = {"x": x, "y": y, "r": x.real.copy(), "n": rng.integers(-(2**62), 2**62, shape)}
        arrays = used(function, given)
        for order in ("C", "F"):
            arrays = [np.asarray(array, order=order) for array in arrays]
            expected = by_kernel(host, function, arrays, monkeypatch)
            with monkeypatch.context() as patch:
                patch.setattr(LaunchPlan, "compiled", lambda self: pytest.fail("a kernel was compiled"))
                found = [gpuprims.map(function, *arrays, device=host) for _ in range(3)]
            for one in found:
                assert (one.dtype, one.shape, one.strides) == (expected.dtype, expected.shape, expected.strides)
                assert one.tobytes("A") == expected.tobytes("A")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "function", ["floor(x)", "ceil(x)", "trunc(x)", "rint(x)", "sign(x)", "sign(x - floor(x / 2))"]
)
def test_floats_are_rounded_as_by_kernels(
    host: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, function: str, dtype: str
) -> None:
    special = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 2.0**23 + 1, 2.0**52 + 1, -1e300, np.inf, -np.inf]
    for size in (3, 512, 1100):
        with np.errstate(over="ignore"):
            x = np.append(rng.standard_normal(size) * 10.0 ** rng.integers(-3, 18, size), special).astype(dtype)
        x = x[np.isfinite(x)] if "/" in function else x
        expected = by_kernel(host, function, [x], monkeypatch)
        with monkeypatch.context() as patch:
            patch.setattr(LaunchPlan, "compiled", lambda self: pytest.fail("a kernel was compiled"))
            found = gpuprims.map(function, x, device=host)
        assert found.tobytes() == expected.tobytes()
        if "/" not in function:
            np.testing.assert_array_equal(found, getattr(np, function[:-3])(x))


@pytest.mark.parametrize("function", ["x * y", "x + y"])
def test_kernels_compute_what_is_not_a_number(
    host: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    x, y = complex_numbers(rng, "complex64", (100,)), complex_numbers(rng, "complex64", (100,))
    x.real[[3, 99]], y.imag[3], x.imag[50] = np.inf, -np.inf, np.nan
    arrays = [x, y]
    expected = by_kernel(host, function, arrays, monkeypatch)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(expected, x * y if "*" in function else x + y)
    for _ in range(3):
        assert gpuprims.map(function, *arrays, device=host).tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_real_numbers_become_complex(
    host: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, dtype: str
) -> None:
    for real in ("bool", "int8", "uint16", "int32", "int64", "uint64", "float32", "float64"):
        for shape in ((1,), (300,), (20, 30)):
            with np.errstate(invalid="ignore"):  # integers of any value
                x = (rng.standard_normal(shape) * 2.0 ** rng.integers(0, 63, shape)).astype(real)
            function = f"{dtype}(x)"
            expected = by_kernel(host, function, [x], monkeypatch)
            found = [gpuprims.map(function, x, device=host) for _ in range(3)]
            for one in found:
                assert one.dtype == np.dtype(dtype)
                np.testing.assert_array_equal(one, x.astype(dtype))
                assert one.tobytes() == expected.tobytes()


@pytest.mark.parametrize(("given", "dtype"), [("float32", "float64"), ("float64", "float32")])
def test_floats_are_cast_as_by_kernels(
    host: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, given: str, dtype: str
) -> None:
    for shape in ((1,), (512,), (513,), (31, 50)):
        x = (rng.standard_normal(shape) * 10.0 ** rng.integers(-38, 38, shape)).astype(given)
        x.ravel()[-1:] = -0.0
        expected = by_kernel(host, f"{dtype}(x)", [x], monkeypatch)
        with monkeypatch.context() as patch:
            patch.setattr(LaunchPlan, "compiled", lambda self: pytest.fail("a kernel was compiled"))
            found = gpuprims.map(f"{dtype}(x)", x, device=host)
        np.testing.assert_array_equal(found, x.astype(dtype))
        assert found.tobytes() == expected.tobytes()
        x.ravel()[0] = -np.nan
        expected = by_kernel(host, f"{dtype}(x)", [x], monkeypatch)
        assert gpuprims.map(f"{dtype}(x)", x, device=host).tobytes() == expected.tobytes()


def test_other_casts_are_refused(module: Any) -> None:
    number, x = np.dtype(np.float64).num, np.float32([1, 1e-45, np.inf])
    np.testing.assert_array_equal(module.cast(number, x), x.astype(np.float64))
    with np.errstate(over="ignore"):
        large = np.array([1e300, -1e-300, 1 + 2.0**-25])
        found = module.cast(np.dtype(np.float32).num, large)
        assert found.tobytes() == large.astype(np.float32).tobytes()
    assert module.cast(number, np.float32([0, np.nan])) is NotImplemented
    for wrong in (
        (np.dtype(np.int64).num, x),
        (np.dtype(np.float32).num, x),
        (number, x[::2]),
        (number, 1.0),
        (number,),
    ):
        with pytest.raises(TypeError, match=r"cast: another|contiguous"):
            module.cast(*wrong)


def test_a_program_of_other_operations_is_refused(module: Any) -> None:
    x = np.ones(3, np.complex64)
    np.testing.assert_array_equal(module.apply(bytes([2, 0, 1]), np.array([3j]).tobytes(), x), 3j * x)
    for operation in (
        3,
        4,
        6,
        8,
        9,
        *range(11, 17),
    ):  # quotients, roots, sizes and selections are those of real numbers
        with pytest.raises(ValueError, match="a program with few steps"):
            module.apply(bytes([operation, 0, 0]), b"", x)
    assert not module.has_nan(x)
    x[2] = complex(0, np.nan)
    assert module.has_nan(x)
    assert module.has_nan(x.astype(np.complex128))
    with pytest.raises(TypeError, match="contiguous"):
        module.has_nan(x[::2])
