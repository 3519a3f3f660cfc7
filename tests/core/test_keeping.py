"""Constants are arguments of kernels, and unused kernels are released."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from kernel_cases import assert_equal, need

import gpuprims
from gpuprims.core import notices
from gpuprims.core import program_cache as keeping
from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.core.program_cache import Kernels
from gpuprims.core.variant import Variant
from gpuprims.errors import GpuprimsWarning
from gpuprims.expressions import bind, expression, lift, lifting, typed

X = np.arange(-5, 6).astype(np.float32)


@pytest.fixture
def built(device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Weak references to the kernels that a device builds, beginning with none."""
    kernels: list[Any] = []
    build = device.driver.build

    def counted(variant: Variant, spec: KernelSpec) -> Any:
        kernel = build(variant, spec)
        kernels.append(weakref.ref(kernel))
        return kernel

    forget()
    monkeypatch.setattr(device, "_kernels", Kernels())
    monkeypatch.setattr(device.driver, "build", counted)
    yield kernels
    forget()


def forget() -> None:
    for forget in keeping._forgets:
        forget()


def test_a_thousand_constants_are_one_kernel(device: gpuprims.Device, built: list[Any]) -> None:
    for c in np.linspace(0.3, 77, 500).tolist():
        assert_equal(gpuprims.map(f"x*{c}", X, device=device), X * c)
        assert_equal(gpuprims.map(lambda v, c=c: v * c, X, device=device), X * c)
    assert len(built) == 1


def test_what_lies_beyond_is_compared_by_its_bits(device: gpuprims.Device, built: list[Any]) -> None:
    def beside(cval: float) -> Any:
        return gpuprims.stencil(X, lambda n: n[1], mode="constant", cval=cval, device=device)[-1]

    assert [bool(np.signbit(beside(cval))) for cval in (0.0, -0.0, 0.0)] == [False, True, False]
    assert np.isnan([beside(float("nan")) for _ in range(5)]).all()
    assert len(built) == 3


def test_identities_are_compared_by_their_bits(device: gpuprims.Device, built: list[Any]) -> None:
    sums = [gpuprims.Op(lambda a, b: a + b, identity=zero) for zero in (0.0, -0.0)]
    nothing = np.zeros(0, np.float32)
    assert [bool(np.signbit(gpuprims.reduce(nothing, op=op, device=device))) for op in sums] == [False, True]


CALLS: dict[str, tuple[Callable[..., Any], Callable[[float], Any]]] = {
    "reduce": (
        lambda c, **how: gpuprims.reduce(X, op="max", map=lambda v: v * c, **how),
        lambda c: (X * np.float32(c)).max(),
    ),
    "scan": (
        lambda c, **how: gpuprims.scan(X, op="max", map=lambda v: v - c, **how),
        lambda c: np.maximum.accumulate(X - np.float32(c)),
    ),
    "compact": (lambda c, **how: gpuprims.compact(X, lambda v: v > c, **how), lambda c: X[c < X]),
    "vectors": (
        lambda c, **how: gpuprims.map(lambda v: (v[0] + c, v[1]), X[:10].reshape(5, 2), vector_axis=1, **how),
        lambda c: X[:10].reshape(5, 2) + np.float32([c, 0]),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_primitive_that_maps_passes_constants(device: gpuprims.Device, built: list[Any], name: str) -> None:
    call, expected = CALLS[name]
    call(0.75, device=device)
    first = len(built)
    for c in (1.25, -3.5, 0.1):
        assert_equal(call(c, device=device), expected(c))
    assert len(built) == first


EXTREMES: dict[str, list[Any]] = {
    "int8": [-128, 127, 3], "uint8": [255, 0, 3], "int64": [-(2**63), 2**63 - 1, 3], "uint64": [2**64 - 1, 2**63, 3],
    "float16": [65504.0, 6e-8, -0.0, np.inf, np.nan, 0.1], "float32": [3.4e38, 1e-45, -0.0, -np.inf, np.nan, 0.1],
    "float64": [1.7e308, 5e-324, -0.0, np.inf, np.nan, 0.1],
}  # fmt: skip


def bits(x: np.ndarray) -> bytes:
    """Return an array's bytes with one kind of NaN, because compilers that fold constants choose their own."""
    return np.where(x == x, x, np.nan).astype(x.dtype).tobytes() if x.dtype.kind == "f" else x.tobytes()


@pytest.mark.parametrize("dtype", EXTREMES)
def test_constants_arrive_to_the_bit(device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch, dtype: str) -> None:
    need(device, dtype)
    x = np.array([0, 1, 2, 100]).astype(dtype)
    for c in (np.dtype(dtype).type(value) for value in EXTREMES[dtype]):
        function = expression(lambda v, c=c: (v * c, v + c, np.where(v > 1, c, v), v < c))
        passed = gpuprims.map(function, x, device=device)
        with monkeypatch.context() as patch:
            patch.setattr(lifting, "_MOST", 0)  # constants stay in the text
            lift.cache_clear()
            forget()
            spelled = gpuprims.map(function, x, device=device)
        lift.cache_clear()
        forget()
        assert [bits(one) for one in passed] == [bits(one) for one in spelled]
        assert_equal(passed[2], np.where(x > 1, c, x))


@pytest.mark.parametrize("text", ["x*3 + 0.25", "clip(x, 1, 3)", "where(x > 2, 7, x) % 4.5"])
def test_what_is_lifted_comes_back(text: str) -> None:
    for dtype in ("int16", "uint8", "float16", "float32", "float64"):
        function = typed(expression(text), (np.dtype(dtype),))
        (lifted,), dtypes, words = lift(function)
        assert lifted is not None
        assert len(dtypes) == words.size > 0
        assert lifted != function
        assert bind(lifted, words) == function


def test_exponents_divisors_and_shifts_stay() -> None:
    for text in ("x**3", "x // 7", "x % 7", "x << 2", "x >> 2"):
        assert lift(typed(expression(text), (np.dtype(np.int32),)))[1] == ()


def test_more_constants_than_parameters_stay_in_the_text(device: gpuprims.Device) -> None:
    text = " + ".join(f"x*{k}.5" for k in range(40))
    assert lift(typed(expression(text), (X.dtype,)))[1] == ()
    assert_equal(gpuprims.map(text, X, device=device), sum(X * np.float32(k + 0.5) for k in range(40)))


def test_least_recently_used_kernels_are_let_go(
    device: gpuprims.Device, built: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUPRIMS_KERNELS", "8")
    plan = gpuprims.plan("map", "x + x", X, device=device)
    for k in range(1, 30):
        assert_equal(gpuprims.map("-x", X, device=device), -X)  # is in use all the time
        text = " - ".join("x" * k) + " - x*x"
        gpuprims.map(text, X, device=device)
        assert len(device._kernels) <= 8
    gc.collect()
    assert len([kernel for kernel in built if kernel() is not None]) <= 9  # with the plan's
    assert len(built) == 31  # the one in use was never built again
    assert_equal(plan(X), X + X)


def test_a_limit_that_is_no_number_is_warned_of(
    device: gpuprims.Device, built: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "_given", set())
    monkeypatch.setenv("GPUPRIMS_KERNELS", "none")
    with pytest.warns(GpuprimsWarning, match="a number of kernels, at least 1; got 'none'"):
        gpuprims.map("-x", X, device=device)
