"""Plans of functions that put elements in order, search or select: what the functions return."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
import pytest
from kernel_cases import assert_equal, need, on_device, on_host, placer

import gpuprims
from gpuprims.core.plans import planned_names
from gpuprims.errors import ArgumentError, GpuprimsError, IndicesError, UnknownKeywordError

Arrays = tuple[np.ndarray, ...]
N = 3000


class Case(NamedTuple):
    """A function, random arrays for it, and its arguments behind these."""

    function: str
    arrays: Callable[[np.random.Generator], Arrays]
    arguments: tuple[Any, ...] = ()
    keywords: dict[str, Any] = {}  # noqa: RUF012 - nobody writes to it
    together: bool = False  # the arrays are one argument, a sequence

    def call(self, function: Callable[..., Any], arrays: tuple[Any, ...], **more: Any) -> Any:
        """Call a function with its arguments."""
        given = (arrays,) if self.together else arrays
        return function(*given, *self.arguments, **self.keywords, **more)

    def plan(self, arrays: tuple[Any, ...], **more: Any) -> gpuprims.Plan:
        """Plan the call."""
        plan: gpuprims.Plan = self.call(partial(gpuprims.plan, self.function), arrays, **more)
        return plan


def floats(rng: np.random.Generator) -> Arrays:
    return (rng.integers(0, 500, N).astype(np.float32),)


def with_nan(rng: np.random.Generator) -> Arrays:
    (x,) = floats(rng)
    x[rng.integers(0, N, 5)] = np.nan
    return (x,)


def rows(rng: np.random.Generator) -> Arrays:
    return (rng.random((40, 75), dtype=np.float32),)


def ints(rng: np.random.Generator) -> Arrays:
    return (rng.integers(-50, 50, N),)


def complexes(rng: np.random.Generator) -> Arrays:
    return ((rng.integers(0, 9, N) + 1j * rng.integers(0, 9, N)).astype(np.complex64),)


def complex_rows(rng: np.random.Generator) -> Arrays:
    return ((rng.integers(0, 3, (20, 30)) + 1j * rng.integers(0, 9, (20, 30))).astype(np.complex64),)


def wide_rows(rng: np.random.Generator) -> Arrays:
    return rng.integers(0, 9, (30, 20)), rng.random((30, 20)) + 1j


def keyed(rng: np.random.Generator) -> Arrays:
    return rng.integers(0, 99, N).astype(np.int16), rng.random(N, dtype=np.float32)


def ordered(rng: np.random.Generator) -> Arrays:
    return np.sort(floats(rng)[0]), np.sort(floats(rng)[0])


def indexed(rng: np.random.Generator) -> Arrays:
    return (*floats(rng), rng.integers(0, N, 700))


CASES = {
    "sort": Case("sort", floats),
    "sort columns": Case("sort", rows, (), {"axis": 0, "descending": True}),
    "sort complex elements": Case("sort", complexes),
    "sort complex rows": Case("sort", complex_rows, (), {"axis": 1, "descending": True}),
    "sort complex rows together": Case("sort", complex_rows, (), {"axis": None}),
    "argsort": Case("argsort", floats),
    "argsort complex columns": Case("argsort", complex_rows, (), {"axis": 0}),
    "argsort rows": Case("argsort", rows, (), {"stable": False}),
    "sort_by_key": Case("sort_by_key", keyed, (), {"descending": True}),
    "sort_by_key, several values": Case("sort_by_key", lambda rng: (*keyed(rng), *complexes(rng))),
    "sort_by_key, wide values of columns": Case("sort_by_key", wide_rows, (), {"axis": 0}),
    "lexsort": Case("lexsort", keyed, together=True),
    "lexsort of one": Case("lexsort", floats, together=True),
    "take": Case("take", indexed),
    "take, clipped": Case("take", indexed, (0,), {"mode": "clip"}),
    "searchsorted": Case("searchsorted", ordered, ("right",)),
    "isin, by a search": Case("isin", floats, ([1.0, 7.0, 480.0],)),
    "isin, by a table": Case("isin", ints, ([3, 40, -7, 3],), {"invert": True}),
    "merge": Case("merge", ordered),
    "top_k": Case("top_k", floats, (7,)),
    "top_k of rows": Case("top_k", rows, (3,), {"axis": 1, "largest": False}),
    "median": Case("median", floats),
    "median with NaN": Case("median", with_nan),
    "median of rows": Case("median", rows, (1,), {"keepdims": True}),
    "median of integers": Case("median", ints),
    "quantile": Case("quantile", rows, ([0.1, 0.5], 0)),
    "quantile, elements": Case("quantile", floats, (0.3,), {"method": "higher"}),
    "percentile": Case("percentile", ints, (37.0,)),
    "percentiles in two axes": Case("percentile", rows, ([[5.0, 70.0]], 1), {"keepdims": True, "method": "hazen"}),
    "partition": Case("partition", floats, (100,)),
    "partition by several": Case("partition", rows, ([10, 50], 1)),
    "partition of all": Case("partition", rows, (700, None)),
    "argpartition": Case("argpartition", floats, ([5, 900],)),
    "cumsum": Case("cumsum", ints),
    "cumprod": Case("cumprod", rows, (), {"axis": 1}),
}


def results_of(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def same(device: gpuprims.Device, got: Any, expected: Any) -> None:
    """Compare results with those of the function, of the same kinds."""
    assert type(got) is type(expected)
    for one, other in zip(results_of(got), results_of(expected), strict=True):
        assert type(one) is type(other)
        on_hosts = (
            read if isinstance(read, np.ndarray | np.generic) else on_host(device, read) for read in (one, other)
        )
        assert_equal(*on_hosts)


@pytest.mark.parametrize("where", ["host", "gaps", "device"])
@pytest.mark.parametrize("name", CASES)
def test_a_plan_returns_what_the_function_does(
    device: gpuprims.Device, rng: np.random.Generator, name: str, where: str
) -> None:
    need(device, "float64")
    case = CASES[name]
    place = placer(device, where)
    how = {} if where == "device" else {"device": device}
    function = getattr(gpuprims, case.function)
    plan = case.plan(tuple(map(place, case.arrays(rng))), **how)
    for _ in range(3):
        arrays = tuple(map(place, case.arrays(rng)))
        expected = case.call(function, arrays, **how)
        same(device, plan(*arrays), expected)
        same(device, case.call(function, arrays, **how), expected)  # found by the arrays' facts


@pytest.mark.parametrize("there", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("name", CASES)
def test_a_plan_writes_where_it_is_told_to(
    device: gpuprims.Device, rng: np.random.Generator, name: str, there: bool
) -> None:
    need(device, "float64")
    case = CASES[name]
    arrays = case.arrays(rng)
    expected = case.call(getattr(gpuprims, case.function), arrays, device=device)
    outs = tuple(np.zeros(np.shape(one), one.dtype) for one in results_of(expected))
    if there:
        arrays, outs = (tuple(on_device(device, one) for one in some) for some in (arrays, outs))
    plan = case.plan(arrays, device=device)
    out: Any = outs if isinstance(expected, tuple) else outs[0]
    for _ in range(2):
        plan(*arrays, out=out)
    for one, wanted in zip(outs, results_of(expected), strict=True):
        assert_equal(on_host(device, one) if there else one, wanted)


@pytest.mark.parametrize("name", CASES)
def test_captured_calls_share_no_memory(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """On a device that says that a graph captures its stream, as CUDA's does: counters would be shared otherwise."""
    need(device, "float64")
    if not hasattr(device.driver, "stream_memory"):
        pytest.skip("memory that stays with a stream")
    case = CASES[name]
    arrays = tuple(on_device(device, array) for array in case.arrays(rng))
    expected = case.call(getattr(gpuprims, case.function), arrays)
    monkeypatch.setattr(device.driver, "is_capturing", lambda: True, raising=False)
    plan = case.plan(arrays)
    same(device, plan(*arrays), expected)
    ((launch_plan, _),) = plan._captured
    assert launch_plan.compiled() is not plan._launch_plan.compiled()


def test_a_plan_keeps_the_elements_to_look_among(device: gpuprims.Device) -> None:
    among = np.int64([3, 5])
    plan = gpuprims.plan("isin", np.arange(10), among, device=device)
    among[:] = 0
    assert np.flatnonzero(plan(np.arange(10))).tolist() == [3, 5]


def test_plans_of_diff_digitize_and_count_nonzero(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x, y = rng.integers(0, 9, (2, 300, 40)).astype(np.float32)
    for n, axis in ((1, -1), (3, 0), (1, 0)):
        plan = gpuprims.plan("diff", x, n, axis, device=device)
        for one in (x, y):
            assert_equal(plan(one), np.diff(one, n, axis))
        there = gpuprims.plan("diff", on_device(device, x), n, axis)
        assert_equal(on_host(device, there(on_device(device, y))), np.diff(y, n, axis))
    edges = np.float32([1, 2, 5, 5, 7])
    for right in (False, True):
        plan = gpuprims.plan("digitize", x, edges, right, device=device)
        out = np.empty(x.shape, np.int64)
        assert plan(y, out=out) is out
        assert_equal(out, np.digitize(y, edges, right))
        there = gpuprims.plan("digitize", on_device(device, x), edges, right=right)
        assert_equal(on_host(device, there(on_device(device, y))), np.digitize(y, edges, right))
    plan = gpuprims.plan("count_nonzero", x, 1, keepdims=True, device=device)
    assert_equal(plan(y), np.count_nonzero(y, 1, keepdims=True))
    assert gpuprims.plan("count_nonzero", x, device=device).item(y) == np.count_nonzero(y)


def test_a_plan_of_take_says_what_is_outside(device: gpuprims.Device) -> None:
    x, indices = np.arange(5.0, dtype=np.float32), np.array([0, 4])
    plan = gpuprims.plan("take", x, indices, device=device)
    with pytest.raises(IndicesError, match="indices from -5 to 4"):
        plan(x, np.array([0, 5]))


X = np.arange(6, dtype=np.float32)
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "diff of no order": (lambda: gpuprims.plan("diff", X, 0), "plan of diff: n from 1 to 8"),
    "diff of two": (lambda: gpuprims.plan("diff", X, 1, 0, X), "diff: one array; got 4"),
    "diff joined": (
        lambda: gpuprims.plan("diff", X, append=0),
        "plan of diff: no append=, because plans read one array",
    ),
    "digitize of none": (lambda: gpuprims.plan("digitize", X), "digitize: an array and bins; got 1"),
    "digitize down": (lambda: gpuprims.plan("digitize", X, [2, 1]), "plan of digitize: bins in ascending order; got 2"),
    "convolve of one": (
        lambda: gpuprims.plan("convolve", X),
        r"convolve: two arrays; got one \(the plan keeps the second\)",
    ),
    "convolve of few": (lambda: gpuprims.plan("convolve", X[:2], X), "at least as long as the second, which has 6"),
    "columns of an array": (
        lambda: gpuprims.plan("histogramdd", X[:, None]),
        "a list of arrays, the coordinates along",
    ),
    "one coordinate": (lambda: gpuprims.plan("histogram2d", X), "two arrays, coordinates of the points; got 1"),
    "density": (lambda: gpuprims.plan("histogram2d", X, X, density=True), "no density=, because plans return counts"),
    "keys alone": (
        lambda: gpuprims.plan("group_by", X),
        "group_by: keys and at least one array of values; got no",
    ),
    "unique along an axis": (lambda: gpuprims.plan("unique", X, axis=0), "unique: axis=None only; got 0"),
    "nonzero of two": (lambda: gpuprims.plan("nonzero", X, X), "nonzero: one array; got 2"),
    "out of a length": (lambda: gpuprims.plan("unique", X, out=X), "no out=, because calls of the plan take it: plan"),
    "reduce": (
        lambda: gpuprims.plan("reduce", X, by=X),
        "plan of reduce: no by=, because the keys of each call decide",
    ),
    "scan": (lambda: gpuprims.plan("scan", X, by=X), "plan of scan: no by=, because each call waits"),
    "out of segments": (
        lambda: gpuprims.plan("sort", X, segments=[0, 6], out=X.copy()),
        "no out= with segments=, because calls of",
    ),
    "key": (lambda: gpuprims.plan("sort", X, key="-x"), "plan of sort: no key=, because a plan of map makes the keys"),
    "histogram": (lambda: gpuprims.plan("histogram", X, density=True), "plan of histogram: no density=, because plans"),
    "merge": (lambda: gpuprims.plan("merge", X, X, check=True), "plan of merge: no check=, because"),
    "searchsorted": (lambda: gpuprims.plan("searchsorted", X, X, sorter=[0]), "plan of searchsorted: no sorter="),
    "sort of two": (lambda: gpuprims.plan("sort", X, 0, X), "sort: one array; got 3"),
    "median of two": (lambda: gpuprims.plan("median", X, 0, X), "median: one array; got 3"),
    "quantile of none": (lambda: gpuprims.plan("quantile", X), "quantile: an array and q; got 1"),
    "partition of none": (lambda: gpuprims.plan("partition", X), "partition: an array and kth; got 1"),
    "isin of none": (lambda: gpuprims.plan("isin", X), "isin: elements, and those to look among; got 1"),
    "axis twice": (lambda: gpuprims.plan("sort", X, 0, axis=0), "plan of sort: each argument once; got axis twice"),
    "lexsort of two": (lambda: gpuprims.plan("lexsort", X, X), r"lexsort: one sequence of keys; got 2"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_plan_can_have_is_refused(name: str) -> None:
    call, said = REFUSED[name]
    with pytest.raises(ArgumentError, match=said):
        call()


NO_CALLS = {
    *("explain", "plan", "profile", "devices", "register", "unregister", "hash_counts"),
    *("use_determinism", "use_device", "use_stream", "current_stream", "stream"),
}
MODULES = {"datasets", "distributed", "errors", "models", "ndimage", "xp"}
FUNCTIONS = {name for name in gpuprims.__all__ if name.islower()} - NO_CALLS - MODULES


def test_every_function_has_a_plan() -> None:
    assert set(planned_names()) >= FUNCTIONS


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_keyword_of_a_function_is_one_of_its_plan_or_refused_with_a_reason(name: str) -> None:
    parameters = signature(getattr(gpuprims, name)).parameters.values()
    optional = [one.name for one in parameters if one.default is not one.empty]
    assert "device" in optional
    assert [keyword for keyword in optional if not is_known(name, keyword)] == []


def is_known(name: str, keyword: str) -> bool:
    """Return False if a plan of a function tells nothing of a keyword but those that it knows."""
    given: dict[str, Any] = {"device": "reference"} | {keyword: object()}
    try:
        gpuprims.plan(name, X, **given)
    except UnknownKeywordError:
        return False
    except (GpuprimsError, TypeError):
        return True  # the value is wrong
    return True
