"""Warm calls: what an earlier call left must not answer a call that differs from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_cases import assert_equal, need
from kernel_cases import on_host as copied

import gpuprims
from gpuprims.core.memory import cut_array
from gpuprims.core.warm_calls import WarmCalls
from gpuprims.errors import (
    ArgumentError,
    AxisError,
    DtypeError,
    GpuprimsError,
    UnknownOperatorError,
    UnknownVariantError,
)


def on_host(device: gpuprims.Device, result: Any) -> np.ndarray:
    """Return a result on the host."""
    return np.asarray(result) if isinstance(result, np.ndarray | np.generic) else copied(device, result)


CALLS: dict[str, Callable[[Any], Any]] = {
    "map": lambda x: gpuprims.map("x * x", x),
    "map of a function": lambda x: gpuprims.map(lambda element: element * element, x),
    "reduce": lambda x: gpuprims.reduce(x, op="max", axis=0),
    "scan": lambda x: gpuprims.scan(x, axis=1),
    "compact": lambda x: gpuprims.compact(x, "x > 0"),
    "stencil": lambda x: gpuprims.stencil(x, np.array([1, 2, 1])),
    "blur": lambda x: gpuprims.blur(x, "box", size=3),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_second_call_finds_the_first(
    device: gpuprims.Device, there: Any, found: list[bool], rng: np.random.Generator, name: str
) -> None:
    hosts = [rng.integers(-9, 9, (5, 7)).astype(np.int32) for _ in range(2)]
    results = [on_host(device, CALLS[name](there(host))) for host in (*hosts, hosts[0])]
    assert found[-1]
    for host, result in zip((*hosts, hosts[0]), results, strict=True):
        assert_equal(result, CALLS[name](host) if name != "reduce" else host.max(axis=0))


LAST = gpuprims.Op(lambda a, b: b, 0)


def _turned(x: Any) -> Any:
    return x.reshape(10, 13, 150).transpose((1, 0, 2))


SUM = gpuprims.Op(lambda a, b: a + b, 0)
# From an array and one for the results, of the same shape, to the call and NumPy's result.
MORE: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "numbers": (lambda x, k: gpuprims.map("a * x + b", 2.5, x, k), lambda x, k: np.float32(2.5) * x + np.float32(k)),
    "numbers of NumPy's": (lambda x, k: gpuprims.map("x + b", x, np.float64(k)), lambda x, k: x + np.float64(k)),
    "an array without axes": (lambda x, k: gpuprims.map("x + b", x, np.array(k)), lambda x, k: x + np.float64(k)),
    "a tuple of axes": (lambda x, k: gpuprims.reduce(x, op="max", axis=(0, 1)), lambda x, k: x.max()),
    "kept axes": (lambda x, k: gpuprims.reduce(x, op="max", axis=(1,), keepdims=True), lambda x, k: x.max(1)[:, None]),
    "a function on the way": (lambda x, k: gpuprims.reduce(x, op="max", map=lambda v: -v), lambda x, k: (-x).max()),
    "an operator": (lambda x, k: gpuprims.reduce(x, op=SUM, axis=0), lambda x, k: x.sum(axis=0)),
    "a stencil of a function": (
        lambda x, k: gpuprims.stencil(x, lambda n: n[0, 0] + k),
        lambda x, k: x + np.float32(k),
    ),
    "weights in a list": (lambda x, k: gpuprims.stencil(x, [0, 2, 0]), lambda x, k: 2 * x),
    "a border": (lambda x, k: gpuprims.stencil(x, [0, 2, 0], mode="constant", cval=k), lambda x, k: 2 * x),
    "axes in another order": (
        lambda x, k: gpuprims.map("a - x", k, _turned(x)),
        lambda x, k: np.float32(k) - _turned(x),
    ),
    "transposed, scanned": (lambda x, k: gpuprims.scan(x.T, op="max"), lambda x, k: np.maximum.accumulate(x.T.ravel())),
    "transposed, compacted": (lambda x, k: gpuprims.compact(x.T, lambda v: v > 0), lambda x, k: x.T[x.T > 0]),
    "transposed, by a stencil": (lambda x, k: gpuprims.stencil(x.T, [0, 2, 0]), lambda x, k: 2 * x.T),
}


@pytest.mark.parametrize("name", MORE)
def test_calls_of_other_kinds_find_the_first(
    device: gpuprims.Device, there: Any, found: list[bool], rng: np.random.Generator, name: str
) -> None:
    need(device, np.float64)
    call, right = MORE[name]
    for k, _ in zip((3.0, 3.0, 4.0, 5.0), range(4), strict=True):
        host = rng.integers(-99, 99, (130, 150)).astype(np.float32)
        assert_equal(on_host(device, call(there(host), k)), right(host, k))
    assert any(found)


INTO: dict[str, Callable[..., Any]] = {
    "map": lambda x, y: gpuprims.map("2*x", x, out=y),
    "map of several results": lambda x, y: gpuprims.map("2*x", x, out=(y,))[0],
    "reduce": lambda x, y: gpuprims.reduce(x, x, map="a + b", op="max", axis=(), out=y),
    "scan": lambda x, y: gpuprims.scan(gpuprims.map("2*x", x), axis=1, op=LAST, out=y),
    "stencil": lambda x, y: gpuprims.stencil(x, [0, 2, 0], out=y),
}


@pytest.mark.parametrize("name", INTO)
def test_results_in_arrays_of_the_caller(
    device: gpuprims.Device, there: Any, found: list[bool], rng: np.random.Generator, name: str
) -> None:
    y = there(np.zeros((7, 9), np.float32))
    for _ in range(3):
        host = rng.integers(-9, 9, (7, 9)).astype(np.float32)
        x = there(host)
        assert INTO[name](x, y) is y
        assert_equal(on_host(device, y), 2 * host)
    assert found[-1]
    for _ in range(2):
        with pytest.raises(ArgumentError, match="overlaps an input"):
            gpuprims.stencil(x, [0, 2, 0], out=x)
        with pytest.raises(ArgumentError, match="out= of the result's shape"):
            gpuprims.map("2*x", x, out=y[:5])


def test_results_in_other_parts_of_the_same_memory(
    device: gpuprims.Device, there: Any, found: list[bool], rng: np.random.Generator
) -> None:
    host = rng.integers(-9, 9, 1024).astype(np.float32)
    memory, cut = there(host), cut_array if isinstance(there(host), np.ndarray) else device.driver.cut
    for start, result, other in [(0, 512, 256), (512, 0, 256), (0, 256, 512), (256, 512, 768), (256, 512, 768)]:
        before = on_host(device, memory).copy()
        x, y, out = (cut(memory, k, (256,)) for k in (start, other, result))
        assert gpuprims.map("2*x - y", x, y, out=out) is out
        right = 2 * before[start : start + 256] - before[other : other + 256]
        before[result : result + 256] = right
        assert_equal(on_host(device, memory), before)
    assert found[-1]
    for start, result, other in [(0, 252, 512), (512, 508, 0), (512, 0, 252), (0, 508, 512)]:
        x, y, out = (cut(memory, k, (256,)) for k in (start, other, result))
        with pytest.raises(ArgumentError, match="overlaps an input"):
            gpuprims.map("2*x - y", x, y, out=out)
    pairs = [(cut(memory, 256, (256,)), cut(memory, 512, (256,))), (cut(memory, 256, (256,)), cut(memory, 508, (256,)))]
    x = cut(memory, 0, (256,))
    for _ in range(2):
        assert gpuprims.map("x, 2*x", x, out=pairs[0])[1] is pairs[0][1]
        with pytest.raises(ArgumentError, match="arrays that do not overlap each other"):
            gpuprims.map("x, 2*x", x, out=pairs[1])


def test_equal_numbers_are_told_apart(device: gpuprims.Device, there: Any) -> None:
    x = there(np.ones(5, np.float32))
    for number in (0.0, -0.0, 0.0, 2, 2.0, True, 1.0, np.nan, 2, 0.0):
        result = on_host(device, gpuprims.map("x * a", x, number))
        expected = np.ones(5, np.float32) * number
        assert_equal(result, expected)
        assert np.signbit(result).tolist() == np.signbit(expected).tolist()


def test_numbers_that_a_dtype_cannot_hold(device: gpuprims.Device, there: Any) -> None:
    x = there(np.arange(5, dtype=np.uint8))
    for number in (3, 3, 300, 4):
        if number < 256:
            assert_equal(
                on_host(device, gpuprims.map("x + a", x, number)), np.arange(5, dtype=np.uint8) + np.uint8(number)
            )
        else:
            with pytest.raises(DtypeError, match="a number that uint8 can hold"):
                gpuprims.map("x + a", x, number)


def test_calls_that_name_their_device_and_variant(device: gpuprims.Device, there: Any, found: list[bool]) -> None:
    host = np.arange(6, dtype=np.float32)
    for spec in (device, device, device.spec, device.spec):
        assert_equal(on_host(device, gpuprims.map("2*x", there(host), device=spec)), 2 * host)
    assert found[1::2] == [True, True]
    for _ in range(2):
        with pytest.raises(UnknownVariantError):
            gpuprims.map("2*x", there(host), variant="no such")


def test_other_dtypes_shapes_strides_and_places_are_other_calls(
    device: gpuprims.Device, there: Any, rng: np.random.Generator
) -> None:
    flat = rng.integers(-9, 9, 64).astype(np.int32)
    on = there(flat)
    for view in (lambda x: x, lambda x: x[3:], lambda x: x[:61], lambda x: x[::3], lambda x: x.view(np.uint32)):
        for _ in range(2):
            assert_equal(on_host(device, gpuprims.map("x + x", view(on))), view(flat) + view(flat))
            assert_equal(on_host(device, gpuprims.reduce(view(on), op="min")), view(flat).min())
    square = there(flat.reshape(8, 8))
    for axis in (0, 1, None, 0):
        assert_equal(on_host(device, gpuprims.reduce(square, axis=axis)), flat.reshape(8, 8).sum(axis=axis))


@pytest.mark.parametrize("name", CALLS)
def test_arrays_of_another_byte_order(device: gpuprims.Device, name: str) -> None:
    if not device.driver.shares_host_memory:
        pytest.skip("gets a copy in its own order")
    host = np.arange(35, dtype=np.int32).reshape(5, 7) - 9
    with gpuprims.use_device(device):
        expected = CALLS[name](host)
        for _ in range(3):
            assert_equal(CALLS[name](host.astype(">i4")), expected)


def test_keywords_that_are_equal_but_of_another_class(device: gpuprims.Device, there: Any) -> None:
    need(device, np.float64)
    x = there(np.arange(12.0).reshape(3, 4))
    for _ in range(2):
        gpuprims.reduce(x, op="var", axis=1, ddof=1)
        with pytest.raises(AxisError):
            gpuprims.reduce(x, axis=True)
        with pytest.raises(ArgumentError):
            gpuprims.reduce(x, op="var", axis=1, ddof=True)
        with pytest.raises(UnknownOperatorError):
            gpuprims.reduce(x, op=["sum"])
        gpuprims.blur(x, "box", size=1)
        with pytest.raises(ArgumentError):
            gpuprims.blur(x, "box", size=True)


def test_borders_that_differ(device: gpuprims.Device, there: Any) -> None:
    host = np.ones((3, 3), np.float32)
    for cval in (1, 2, 2.5, 1):
        got = on_host(device, gpuprims.blur(there(host), "box", size=3, mode="constant", cval=cval))
        assert got[0, 0] == pytest.approx((4 + 5 * cval) / 9)


def test_functions_and_weights_that_change(device: gpuprims.Device, there: Any) -> None:
    def times(factor: float) -> Callable[[Any], Any]:
        return lambda element: element * factor

    host, weights = np.arange(9, dtype=np.float32), np.array([0.0, 1.0, 0.0], np.float32)
    for factor in (2.0, 3.0, 2.0):
        assert_equal(on_host(device, gpuprims.map(times(factor), there(host))), np.float32(factor) * host)
        weights[1] = factor
        assert_equal(on_host(device, gpuprims.stencil(there(host), weights)), np.float32(factor) * host)


def test_offsets_that_become_wrong_are_refused(device: gpuprims.Device, there: Any) -> None:
    x, good = there(np.arange(5000, dtype=np.float32)), np.array([0, 10, 3000, 5000])
    offsets = there(good)
    for call, op in ((gpuprims.reduce, "sum"), (gpuprims.scan, "sum"), (gpuprims.reduce, "max")):
        for _ in range(2):
            right = on_host(device, call(x, op=op, segments=offsets))
        for wrong in ([0, 3000, 10, 5000], [0, 10, 3000, 4999], [1, 10, 3000, 5000]):
            offsets = there(np.array(wrong))
            with pytest.raises(ArgumentError, match="segments="):
                call(x, op=op, segments=offsets)
        offsets = there(good)
        assert_equal(on_host(device, call(x, op=op, segments=offsets)), right)
    with pytest.raises(GpuprimsError, match="at least one element"):
        gpuprims.reduce(x, op="max", segments=there(np.array([0, 10, 10, 5000])))


def test_bins_edges_and_weights_that_change(
    device: gpuprims.Device, there: Any, found: list[bool], rng: np.random.Generator
) -> None:
    need(device, np.float64)
    host, weights, edges = rng.random((30, 20)), rng.random((30, 20)).astype(np.float32), np.array([0, 0.25, 0.5, 1])
    x, w = there(host), there(weights)
    calls: list[tuple[Any, ...]] = [
        (4, (0, 1)),
        (4, (0.0, 1.0)),
        (4, (0, 2)),
        (5, (0, 1)),
        (edges,),
        (np.float32(edges),),
    ]
    for _ in range(2):
        for call in calls:
            for weighing, of_host in ((None, None), (w, weights.astype(np.float64))):
                counts, got = gpuprims.histogram(x, *call, weights=weighing)
                expected = np.histogram(host, *call, weights=of_host)
                np.testing.assert_allclose(on_host(device, counts), expected[0], rtol=1e-6)
                assert_equal(on_host(device, got), expected[1])
        assert_equal(on_host(device, gpuprims.histogram(x, 4, (0, 1), axis=1)[0]).sum(axis=1), np.full(30, 20))
    assert found[-1]
    for middle in (0.3, 0.4, 0.3):  # the caller's array changes
        edges[1] = middle
        assert_equal(on_host(device, gpuprims.histogram(x, edges)[0]), np.histogram(host, edges)[0])


def test_a_registered_variant_is_seen_at_once(device: gpuprims.Device, there: Any, found: list[bool]) -> None:
    from gpuprims.core.registry import REGISTRY

    x = there(np.arange(9))
    for _ in range(2):
        gpuprims.scan(x)
    assert found[-1]
    REGISTRY.generation += 1
    gpuprims.scan(x)
    assert not found[-1]


def test_few_calls_are_kept(there: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpuprims.core import warm_calls

    monkeypatch.setattr(warm_calls, "_MOST", 3)
    calls = WarmCalls()
    monkeypatch.setattr(gpuprims.map.__globals__["_WARM"], "_runs", calls._runs)
    for n in range(1, 9):
        gpuprims.map("x + 1", there(np.arange(n)))
        assert 1 <= len(calls._runs) <= 3


GAPS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "reversed": lambda x: x[::-1],
    "rows reversed": lambda x: x[:, ::-1],
    "every second": lambda x: x[::2, ::2],
    "cut": lambda x: x[3:, 5:],
    "transposed": lambda x: x.T[::-1],
}


@pytest.mark.parametrize("gaps", GAPS)
def test_host_arrays_with_gaps_are_read_alike_again(
    device: gpuprims.Device, rng: np.random.Generator, gaps: str
) -> None:
    view = GAPS[gaps](rng.integers(-99, 99, (30, 40)).astype(np.int32))
    out = np.empty(view.shape, np.int32)
    for _ in range(3):  # the first call decides, the others find its plan
        assert_equal(gpuprims.map("2*x", view, device=device), 2 * view)
        assert_equal(gpuprims.map("x + y", view, np.int32(3), device=device), view + 3)
        gpuprims.map("-x", view, out=out, device=device)
        assert_equal(out, -view)
        assert_equal(gpuprims.reduce(view, axis=0, device=device), view.sum(0))
        assert_equal(gpuprims.reduce(view, op="argmax", device=device), np.argmax(view))
        assert_equal(gpuprims.scan(view, op="max", axis=1, device=device), np.maximum.accumulate(view, 1))
        assert_equal(gpuprims.compact(view, "x > 0", device=device), view[view > 0])


@pytest.mark.parametrize("gaps", [*GAPS, "read-only"])
def test_the_range_of_host_arrays_with_gaps_is_found_again(
    device: gpuprims.Device, rng: np.random.Generator, gaps: str
) -> None:
    need(device, "float64")
    x, weights = rng.random((30, 40)), rng.random((30, 40))
    view, beside = (GAPS[gaps](one) if gaps in GAPS else one for one in (x, weights))
    for k in range(3):
        x += k
        view.flags.writeable = gaps != "read-only"
        with gpuprims.use_device(device):
            for given in ({}, {"weights": beside}):
                for got, expected in zip(
                    gpuprims.histogram(view, 7, **given), np.histogram(view, 7, **given), strict=True
                ):
                    np.testing.assert_allclose(got, expected, rtol=1e-12)
        view.flags.writeable = True


def test_isin_finds_calls_by_the_values_that_it_looks_among(
    device: gpuprims.Device, there: Callable[[np.ndarray], Any], found: list[bool]
) -> None:
    need(device, "float64")
    x = np.arange(1000, dtype=np.float64) / 4
    given = there(x)
    several: list[Any] = [[1, 2.5], [1, 7.25], np.array([[3.25], [np.nan]]), (2.5, 7)]
    for among in (*several, *several):
        assert_equal(on_host(device, gpuprims.isin(given, among)), np.isin(x, among))
    if not isinstance(given, np.ndarray):
        del found[:]
        gpuprims.isin(given, [1, 2.5])
        assert found == [True]


def test_distinct_elements_of_few_are_one_plan(
    device: gpuprims.Device, there: Callable[[np.ndarray], Any], found: list[bool]
) -> None:
    x, other = np.float32([np.nan, 1, np.nan, 1, 0]), np.zeros(5, np.float32)
    for equal_nan in (True, False, True):
        got = gpuprims.unique(there(x), equal_nan=equal_nan)
        assert_equal(on_host(device, got), np.unique(x, equal_nan=equal_nan))
    del found[:]
    assert_equal(on_host(device, gpuprims.unique(there(other))), other[:1])
    assert found == [True]
