"""Plans of functions whose results have a length that depends on the elements, or bins that the host finds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from kernel_cases import assert_equal, need, on_host, placer

import gpuprims
from gpuprims.errors import ArgumentError, ShapeError

Arrays = tuple[np.ndarray, ...]
N = 2000


class Case(NamedTuple):
    """A function, random arrays for it, and its arguments behind these."""

    function: str
    arrays: Callable[[np.random.Generator], Arrays]
    arguments: tuple[Any, ...] = ()
    keywords: dict[str, Any] = {}  # noqa: RUF012 - nobody writes to it
    axes: tuple[int | None, ...] = (0,)
    together: bool = False  # the arrays are one argument, a list
    edges: bool = False  # the function returns edges too, which the plan leaves out

    def call(self, arrays: tuple[Any, ...], **more: Any) -> tuple[Any, ...]:
        """Call the function, and return the results that a plan has too."""
        given, more = self._given(arrays, more)
        found = getattr(gpuprims, self.function)(*given, *self.arguments, **self.keywords, **more)
        results = found if isinstance(found, tuple) else (found,)
        return results[:1] if self.edges else results

    def _given(self, arrays: tuple[Any, ...], more: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments and the keywords: a mask goes to ``where=``."""
        if self.together:
            return (list(arrays),), more
        if self.function == "scan" and len(arrays) == 2:
            return arrays[:1], {"where": arrays[1], **more}
        return arrays, more

    def plan(self, arrays: tuple[Any, ...], **more: Any) -> gpuprims.Plan:
        """Plan the call."""
        given, more = self._given(arrays, more)
        return gpuprims.plan(self.function, *given, *self.arguments, **self.keywords, **more)


def sparse(rng: np.random.Generator) -> Arrays:
    return (rng.integers(0, 3, (N // 5, 5)).astype(np.float32),)


def masked(rng: np.random.Generator) -> Arrays:
    return (*sparse(rng), rng.random((N // 5, 5)) < 0.5)


def few(rng: np.random.Generator) -> Arrays:
    return (np.sort(rng.integers(0, 99, N)).astype(np.int32),)


def lengths(rng: np.random.Generator) -> Arrays:
    return rng.random(N, dtype=np.float32), rng.integers(0, 4, N)


def keyed(rng: np.random.Generator) -> Arrays:
    return rng.integers(0, 99, N), rng.integers(0, 99, N).astype(np.float64)


def points(rng: np.random.Generator) -> Arrays:
    return rng.random(N, dtype=np.float32), rng.random(N, dtype=np.float32)


CASES = {
    "compact": Case("compact", lambda rng: (*few(rng), rng.random(N) < 0.3)),
    "nonzero": Case("nonzero", sparse, axes=(0, 0)),
    "argwhere": Case("argwhere", sparse),
    "unique": Case("unique", sparse),
    "unique of integers": Case("unique", few, (False, False, True), axes=(0, 0)),
    "unique, and more": Case("unique", keyed, (True, True), axes=(0, 0, None))._replace(
        arrays=lambda rng: keyed(rng)[:1]
    ),
    "unique_consecutive": Case("unique_consecutive", few, (True,), axes=(0, None)),
    "run_length_encode": Case("run_length_encode", few, axes=(0, 0)),
    "run_length_decode": Case("run_length_decode", lengths),
    "group_by": Case("group_by", keyed, (), {"op": "max"}, (0, 0)),
    "bincount": Case("bincount", few),
    "bincount of few values": Case("bincount", lambda rng: (few(rng)[0].astype(np.uint8),), (), {"minlength": 300}),
    "histogram": Case("histogram", points, (9, (0, 1)), axes=(None,), edges=True)._replace(
        arrays=lambda rng: points(rng)[:1]
    ),
    "histogram2d": Case("histogram2d", points, ([3, 4], [(0, 1), (0, 1)]), axes=(None,), edges=True),
    "histogramdd": Case("histogramdd", points, ([[0, 0.5, 1], 3],), {"range": [None, (0, 1)]}, (None,), True, True),
    "reduce along an axis": Case("reduce", sparse, (), {"op": "max", "axis": 0, "segments": [0, 9, 400]}, (None,)),
    "scan along an axis": Case("scan", sparse, (), {"axis": 1, "segments": [0, 2, 5]}, (None,)),
    "scan with a mask": Case("scan", masked, (), {"axis": 0, "segments": [0, 9, 400]}, (None,)),
    "sort of segments": Case("sort", keyed, (), {"segments": [0, 70, N]}, (None,))._replace(
        arrays=lambda rng: keyed(rng)[:1]
    ),
    "argsort of segments": Case("argsort", sparse, (0,), {"segments": [0, 70, N // 5], "descending": True}, (None,)),
    "top_k of segments": Case("top_k", few, (3,), {"segments": [0, 70, N]}, (None, None)),
    "convolve": Case("convolve", points, ([1, 2, 5],), axes=(None,))._replace(arrays=lambda rng: points(rng)[:1]),
    "convolve, same": Case("convolve", few, ([1, 2, 5], "same"), axes=(None,)),
    "convolve, valid": Case("convolve", few, ([1, 2, 5],), {"mode": "valid"}, (None,)),
}


def read(device: gpuprims.Device, array: Any) -> np.ndarray:
    return array if isinstance(array, np.ndarray | np.generic) or not array.size else on_host(device, array)


def called(plan: gpuprims.Plan, *arrays: Any, **how: Any) -> tuple[Any, ...]:
    found = plan(*arrays, **how)
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("where", ["host", "gaps", "device"])
@pytest.mark.parametrize("name", CASES)
def test_a_plan_returns_and_writes_what_the_function_does(
    device: gpuprims.Device, rng: np.random.Generator, name: str, where: str
) -> None:
    need(device, "float64")
    agrees(device, rng, CASES[name], where)


@pytest.mark.parametrize("name", CASES)
def test_every_function_has_such_a_plan(rng: np.random.Generator, name: str) -> None:
    agrees(gpuprims.Device("reference"), rng, CASES[name], "host")


def agrees(device: gpuprims.Device, rng: np.random.Generator, case: Case, where: str) -> None:
    """Compare a plan's results, new ones and in arrays longer than these, with the function's."""
    place, beside = placer(device, where), placer(device, "host" if where == "gaps" else where)
    how = {} if where == "device" else {"device": device}
    plan = case.plan(tuple(map(place, case.arrays(rng))), **how)
    for _ in range(3):
        arrays = case.arrays(rng)
        given = tuple(map(place, arrays))
        expected = case.call(arrays, device=device)
        for got, wanted in zip(called(plan, *given), expected, strict=True):
            assert_equal(read(device, got), wanted)
        shapes = [
            [n + 7 * (k == axis) for k, n in enumerate(np.shape(one))]
            for one, axis in zip(expected, case.axes, strict=True)
        ]
        outs = [beside(np.full(shape, 77, one.dtype)) for shape, one in zip(shapes, expected, strict=True)]
        found = called(plan, *given, out=tuple(outs) if len(outs) > 1 else outs[0])
        for got, out, wanted, axis in zip(found, outs, expected, case.axes, strict=True):
            assert_equal(read(device, got), wanted)
            whole = read(device, out)
            assert (whole[np.shape(wanted)[0] :] == 77).all()
            assert (got is out) == (axis is None)


def test_a_plan_waits_for_each_length() -> None:
    x = np.zeros(500, np.float32)
    plan = gpuprims.plan("nonzero", x, device="reference")
    for count in (0, 1, 500, 3):
        x[:] = 0
        x[:count] = 1
        assert plan(x)[0].tolist() == list(range(count))


def test_out_of_a_plan_that_is_too_short_is_refused() -> None:
    x = np.arange(1, 500, dtype=np.int32)
    plan = gpuprims.plan("compact", x, "x > 3", device="reference")
    with pytest.raises(ShapeError, match=r"compact: out= of the result's shape, \(496,\), or longer; got \(9,\)"):
        plan(x, out=np.empty(9, np.int32))
    with pytest.raises(ArgumentError, match="overlaps an input"):
        plan(x, out=x)


def test_a_plan_keeps_weights_and_edges() -> None:
    x, v, edges = np.arange(9.0, dtype=np.float32), np.float32([1, 2]), np.float32([0, 4, 9])
    plan, grid = (
        gpuprims.plan("convolve", x, v, device="reference"),
        gpuprims.plan("histogram2d", x, x, edges, device="reference"),
    )
    v[:] = edges[:] = 0
    assert_equal(plan(x), np.convolve(x, np.float32([1, 2])))
    assert grid(x, x).tolist() == [[4, 0], [0, 5]]


def test_each_plan_of_a_call_says_what_it_is() -> None:
    plan = gpuprims.plan("unique", np.zeros((3, 4), np.float32), device="reference")
    assert repr(plan) == "<gpuprims.Plan unique/numpy of float32[3, 4] on reference:0>"
    with pytest.raises(ArgumentError, match=r"results of shape \(\) for item"):
        plan.item(np.zeros((3, 4), np.float32))


def test_calls_of_a_plan_have_the_level_that_it_was_made_at(rng: np.random.Generator) -> None:
    keys, x = np.zeros(3000, np.int32), rng.standard_normal(3000).astype(np.float32)
    plan = gpuprims.plan("group_by", keys, x, determinism="order", device="reference")
    assert plan(keys, x)[1][0] == np.float32(math.fsum(x.tolist()))
    assert plan(keys, x[::-1].copy())[1][0] == np.float32(math.fsum(x.tolist()))
