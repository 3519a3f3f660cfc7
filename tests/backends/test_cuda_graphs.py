"""Plans in captured CUDA graphs: replays compute on what the arrays hold then. They need a GPU."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

import gpuprims
from gpuprims.errors import BackendUnavailableError, CaptureError, UnknownDeviceError

try:
    DEVICE = gpuprims.Device("cuda:0")
except (BackendUnavailableError, UnknownDeviceError) as error:
    pytest.skip(str(error), allow_module_level=True)

import cupy  # after the skip, because only machines with a GPU have it

WEIGHTS = np.array([[1, 2, 1], [2, 3, 2], [1, 1, 2]]) / np.float32(16)
OFFSETS = np.array([0, 0, 500, 70_000, 100_000])


class Case(NamedTuple):
    """A call of a function, and the same by NumPy or by the reference."""

    make: Callable[[Any], gpuprims.Plan]
    expected: Callable[[np.ndarray], Any]
    dtype: str = "float32"
    shape: tuple[int, ...] = (100_000,)

    def random(self, seed: int) -> np.ndarray:
        """Return whole numbers, so that sums are exact."""
        return np.random.default_rng(seed).integers(0, 50, self.shape).astype(self.dtype)


def by_reference(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Callable[..., Any]:
    return lambda *arrays: function(*arrays, *arguments, device="reference", **keywords)


PLAN, IMAGE = gpuprims.plan, (300, 400)
CASES = {
    "map": Case(lambda x: PLAN("map", "2*x + 1", x), lambda x: 2 * x + 1),
    "reduce": Case(lambda x: PLAN("reduce", x), lambda x: x.sum()),
    "reduce rows": Case(lambda x: PLAN("reduce", x, axis=1, op="max"), lambda x: x.max(axis=1), shape=IMAGE),
    "reduce columns": Case(lambda x: PLAN("reduce", x, axis=0), lambda x: x.sum(axis=0), shape=IMAGE),
    "scan": Case(lambda x: PLAN("scan", x), lambda x: np.cumsum(x, dtype=np.float64).astype(np.float32)),
    "scan columns": Case(lambda x: PLAN("scan", x, axis=0), lambda x: x.cumsum(axis=0), shape=IMAGE),
    "histogram": Case(lambda x: PLAN("histogram", x, 256, (0, 40)), lambda x: np.histogram(x, 256, (0, 40))[0]),
    "histogram of many bins": Case(
        lambda x: PLAN("histogram", x, 100_000, (0, 40)), lambda x: np.histogram(x, 100_000, (0, 40))[0]
    ),
    "bincount of bytes": Case(
        lambda x: PLAN("bincount", x, minlength=256), lambda x: np.bincount(x, minlength=256), "uint8"
    ),
    "stencil": Case(lambda x: PLAN("stencil", x, WEIGHTS), by_reference(gpuprims.stencil, WEIGHTS), shape=IMAGE),
    "stencil, several passes": Case(
        lambda x: PLAN("stencil", x, WEIGHTS, iterations=3),
        by_reference(gpuprims.stencil, WEIGHTS, iterations=3),
        shape=IMAGE,
    ),
    "blur": Case(
        lambda x: PLAN("blur", x, "gaussian", sigma=6),
        by_reference(gpuprims.blur, "gaussian", sigma=6),
        "uint8",
        IMAGE,
    ),
    "sort": Case(lambda x: PLAN("sort", x), np.sort),
    "sort rows": Case(lambda x: PLAN("sort", x, axis=1), lambda x: np.sort(x, axis=1), shape=IMAGE),
    "argsort": Case(lambda x: PLAN("argsort", x), lambda x: np.argsort(x, kind="stable"), "int32"),
    "lexsort": Case(lambda x: PLAN("lexsort", x), np.lexsort, "int32", (3, 50_000)),
    "top_k": Case(lambda x: PLAN("top_k", x, 20), by_reference(gpuprims.top_k, 20), "int32"),
    "top_k of rows": Case(
        lambda x: PLAN("top_k", x, 20, axis=1), by_reference(gpuprims.top_k, 20, axis=1), "int32", IMAGE
    ),
    "isin": Case(lambda x: PLAN("isin", x, [3, 7.5, 12]), lambda x: np.isin(x, [3, 7.5, 12])),
    "median": Case(lambda x: PLAN("median", x), np.median),
    "quantile of rows": Case(
        lambda x: PLAN("quantile", x, [0.25, 0.5], 1), by_reference(gpuprims.quantile, [0.25, 0.5], 1), shape=IMAGE
    ),
    "partition": Case(lambda x: PLAN("partition", x, 5000), by_reference(gpuprims.partition, 5000)),
    "segments": Case(
        lambda x: PLAN("reduce", x, segments=OFFSETS), by_reference(gpuprims.reduce, segments=OFFSETS), "int32"
    ),
    "scan of segments": Case(
        lambda x: PLAN("scan", x, segments=OFFSETS), by_reference(gpuprims.scan, segments=OFFSETS), "int32"
    ),
}


def captured(stream: Any, plans: list[gpuprims.Plan], *arrays: Any) -> tuple[Any, list[Any]]:
    """Return a graph of plans, each called once before, and their results."""
    with stream:
        for plan in plans:
            plan(*arrays)
        stream.begin_capture()
        try:
            results = [plan(*arrays) for plan in plans]
        finally:
            graph = stream.end_capture()
    return graph, results


def same(result: Any, expected: Any) -> None:
    if isinstance(result, tuple):
        for one, other in zip(result, expected, strict=True):
            same(one, other)
        return
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(result.get(), expected, rtol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_replays_compute_on_new_elements(name: str) -> None:
    case, stream, other = CASES[name], cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
    with stream:
        x = cupy.asarray(case.random(0))
        plan = case.make(x)
        graph, (result,) = captured(stream, [plan], x)
        for seed in range(1, 4):
            x.set(case.random(seed))
            for _ in range(2):  # counters and statuses are right for the next replay too
                graph.launch(stream)
            stream.synchronize()
            same(result, case.expected(case.random(seed)))
    with other:  # a graph may run in any stream
        graph.launch(other)
        other.synchronize()
        same(result, case.expected(case.random(3)))


@pytest.mark.parametrize("name", CASES)
def test_other_calls_leave_the_memory_of_a_graph_alone(name: str) -> None:
    case, stream, other = CASES[name], cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
    with stream:
        x = cupy.asarray(case.random(0))
        plan = case.make(x)
        graph, (result,) = captured(stream, [plan], x)
        expected = case.expected(case.random(0))
    gc.collect()
    for _ in range(20):  # calls of the same plan in both streams, beside replays, and others that take freed memory
        graph.launch(stream)
        with other:
            beside = plan(x)
            filled = cupy.full(200_000, 0xFFFF_FFFF, np.uint32)
        with stream:
            after = plan(x)
    for one in (stream, other):
        one.synchronize()
    for one in (result, beside, after):
        same(one, expected)
    assert (filled == 0xFFFF_FFFF).all()


def test_a_graph_chains_plans() -> None:
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        x = cupy.asarray(np.arange(100_000, dtype=np.float32) % 7)
        doubled, running = PLAN("map", "2*x", x), PLAN("scan", x)
        last = PLAN("reduce", x, op="max")
        last(running(doubled(x)))
        stream.begin_capture()
        top = last(running(doubled(x)))
        graph = stream.end_capture()
        x.fill(1)
        graph.launch(stream)
        stream.synchronize()
        assert float(top) == 200_000


def test_a_graph_writes_to_out() -> None:
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        x, out = cupy.arange(1000, dtype=np.float32), cupy.zeros(1000, np.float32)
        plan = PLAN("map", "x + 1", x, out=out)
        plan(x, out=out)
        stream.begin_capture()
        assert plan(x, out=out) is out
        graph = stream.end_capture()
        out.fill(0)
        graph.launch(stream)
        stream.synchronize()
        same(out, np.arange(1, 1001, dtype=np.float32))


SEVERAL: dict[str, tuple[Callable[..., gpuprims.Plan], Callable[..., Any]]] = {
    "searchsorted": (partial(PLAN, "searchsorted"), np.searchsorted),
    "searchsorted of every other": (
        lambda a, v: PLAN("searchsorted", a[::2], v),
        lambda a, v: np.searchsorted(a[::2], v),
    ),
    "merge": (partial(PLAN, "merge"), lambda a, v: np.sort(np.concatenate([a, v]))),
    "take": (lambda a, v: PLAN("take", a, v.astype(np.int64), mode="clip"), lambda a, v: a.take(v.astype(np.int64))),
    "sort_by_key": (partial(PLAN, "sort_by_key"), by_reference(gpuprims.sort_by_key)),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_replays_compute_on_several_arrays(name: str) -> None:
    (make, expected), stream = SEVERAL[name], cupy.cuda.Stream(non_blocking=True)

    def random(seed: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(seed)
        return np.sort(rng.random(5000)), np.sort(rng.integers(0, 5000, 5000)).astype(np.float64)

    with stream:
        a, v = map(cupy.asarray, random(0))
        plan = make(a, v)
        given = (a[::2] if "other" in name else a, v.astype(np.int64) if name == "take" else v)
        graph, (result,) = captured(stream, [plan], *given)
        for seed in range(1, 4):
            one, other = random(seed)
            a.set(one)
            given[1].set(other.astype(given[1].dtype))
            graph.launch(stream)
            stream.synchronize()
            same(result, expected(one, other))


REFUSED: dict[str, tuple[Callable[[Any], gpuprims.Plan], str]] = {
    "compact": (lambda x: PLAN("compact", x, "x > 3"), "waits for a number"),
    "bincount": (lambda x: PLAN("bincount", x.astype(np.int32)), "waits for a number"),
    "take": (lambda x: PLAN("take", x, x.astype(np.int64)), "waits for a number"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_waits_for_the_gpu_is_refused(name: str) -> None:
    make, match = REFUSED[name]
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        x = cupy.arange(1000, dtype=np.float32)
        plan, given = make(x), [x.astype(np.int32) if name == "bincount" else x]
        if name == "take":
            given.append(x.astype(np.int64))
        expected = plan(*given).get()
        stream.begin_capture()
        with pytest.raises(CaptureError, match=match):
            plan(*given)
        stream.end_capture()  # which the refusal did not invalidate
        np.testing.assert_array_equal(plan(*given).get(), expected)


def test_functions_that_wait_are_refused_too() -> None:
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        x, host = cupy.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
        offsets = cupy.asarray([0, 10, 1000])
        calls: list[Callable[[], Any]] = [
            lambda: gpuprims.compact(x, "x > 3"),
            lambda: gpuprims.histogram(x, 10),
            lambda: gpuprims.reduce(x, segments=offsets),
            lambda: gpuprims.map("x + 1", host, device=DEVICE),
            lambda: PLAN("reduce", x).item(x),
        ]
        for call in calls:
            call()
        stream.begin_capture()
        for call in calls:
            with pytest.raises(CaptureError, match="capture"):
                call()
        stream.end_capture()


def test_a_plan_without_a_warm_call_says_so() -> None:
    stream = cupy.cuda.Stream(non_blocking=True)
    x = cupy.arange(1000, dtype=np.float32)
    plan = PLAN("histogram", x, 77, (0, 40))
    with stream:
        stream.begin_capture()
        with pytest.raises(CaptureError, match=r"called once in the same stream.*copies from the host"):
            plan(x)
        stream.end_capture()


def test_memory_goes_with_the_plan() -> None:
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        x = cupy.arange(1_000_000, dtype=np.float32)
        plan = PLAN("map", "x + 1", x)
        graph, results = captured(stream, [plan], x)
        graph.launch(stream)
        stream.synchronize()
        held = cupy.get_default_memory_pool().used_bytes()
        del graph, results, plan
        gc.collect()
        assert cupy.get_default_memory_pool().used_bytes() <= held - x.nbytes
