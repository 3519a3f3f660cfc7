"""Functions on Dask arrays: lazy, NumPy's results, the right metadata, and as few tasks as Dask's own."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest

import gpuprims
from gpuprims.core.determinism import asked_level
from gpuprims.errors import ArgumentError, EmptyReductionError, LazyArrayError, NoVariantError

da = pytest.importorskip("dask.array", reason="Dask is not installed: make test-dask")
import dask  # noqa: E402

from gpuprims.distributed.dask_levels import at_this_level  # noqa: E402

HERE = "reference"
MODES = ["nearest", "reflect", "mirror", "wrap", "constant"]


@pytest.fixture(autouse=True)
def in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def cut(x: np.ndarray, *chunks: int):
    return da.from_array(x, chunks=chunks)


def check(lazy, wanted, rtol: float = 1e-11) -> None:
    """Compare metadata before anything is computed, then values."""
    assert isinstance(lazy, da.Array)
    assert lazy.dtype == wanted.dtype
    assert lazy.ndim == wanted.ndim
    assert all(np.isnan(n) or n == m for n, m in zip(lazy.shape, np.shape(wanted), strict=True))
    assert lazy.name.startswith(("gpuprims", "_trim"))  # Dask cuts the rows beside chunks off
    found = lazy.compute()
    assert type(found) is type(wanted)
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=1e-11)


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
@pytest.mark.parametrize("name", ["sum", "mean", "max", "std", "any", "nanmean", "nanmin", "count_nonzero"])
def test_reduce_is_numpys(name, axis, rng) -> None:
    x = rng.standard_normal((103, 57))
    if name.startswith("nan"):
        x[rng.random(x.shape) < 0.1] = np.nan
    x = x > 2 if name == "any" else x
    wanted = np.asarray(getattr(np, name)(x, axis=axis))[()]
    check(gpuprims.reduce(cut(x, 20, 30), op=name, axis=axis, device=HERE), wanted)
    kept = gpuprims.reduce(cut(x, 20, 30), op=name, axis=axis, keepdims=True, device=HERE)
    assert kept.shape == np.sum(x, axis=axis, keepdims=True).shape == kept.compute().shape


@pytest.mark.parametrize("name", ["argmin", "argmax", "nanargmax"])
def test_places_count_along_the_axis(name, rng) -> None:
    x = rng.standard_normal((103, 57))
    for axis in (0, 1):
        check(gpuprims.reduce(cut(x, 20, 30), op=name, axis=axis, device=HERE), getattr(np, name)(x, axis=axis))
    check(gpuprims.reduce(cut(x[0], 11), op=name, device=HERE), getattr(np, name)(x[0]))
    with pytest.raises(ArgumentError, match=r"not in index order along several.*reshape\(-1\)"):
        gpuprims.reduce(cut(x, 20, 30), op=name, device=HERE)


def test_arguments_of_reduce(rng) -> None:
    x, y = rng.standard_normal((2, 103, 57))
    a, b = cut(x, 20, 30), cut(y, 50, 57)  # other chunks
    check(gpuprims.reduce(a, b, map="x*y", device=HERE), (x * y).sum())
    check(gpuprims.reduce(a, y[0], map="x*y", axis=1, device=HERE), x @ y[0])
    check(gpuprims.reduce(a, op="mean", where=a > 0, axis=0, device=HERE), x.mean(axis=0, where=x > 0))
    check(gpuprims.reduce(a, op="var", ddof=1, device=HERE), x.var(ddof=1))
    check(gpuprims.reduce(a, op="max", initial=9.0, device=HERE), np.float64(9))
    check(gpuprims.reduce(a, dtype="float32", device=HERE), x.astype("f4").sum(), rtol=1e-4)
    check(gpuprims.reduce(cut(np.float32([1e8, 1, 1, -1e8]), 1), compensated=True, device=HERE), np.float32(2))


@pytest.mark.parametrize("op", ["sum", "mean", "norm", "max"])
def test_exact_sums_have_the_same_bits_for_any_chunks(op, rng) -> None:
    x = (rng.standard_normal((210, 9)) * 2.0 ** rng.integers(-40, 40, (210, 9))).astype(np.float32)
    for axis in (None, 0, 1):
        wanted = gpuprims.reduce(x, op=op, axis=axis, device=HERE, determinism="order")
        for chunks in ((210, 9), (64, 3), (1, 9)):
            lazy = gpuprims.reduce(cut(x, *chunks), op=op, axis=axis, device=HERE, determinism="order")
            check(lazy, wanted, rtol=0)  # computed where no level is asked for


def test_tasks_know_the_level_and_rounded_joins_are_refused(rng) -> None:
    x = cut(rng.standard_normal(100), 30)
    with gpuprims.use_determinism("order"):
        asked = pickle.loads(pickle.dumps(at_this_level("map", asked_level)))  # noqa: S301 - just made
        for call in (
            lambda: gpuprims.scan(x, device=HERE),
            lambda: gpuprims.histogram(x, 4, (-1, 1), weights=x, device=HERE),
            lambda: gpuprims.reduce(x, op="var", device=HERE),
        ):
            with pytest.raises(NoVariantError):
                call()
        lazy = gpuprims.map("sin(v)", x, device=HERE)
    assert (asked(), at_this_level("map", asked_level)()) == ("order", None)
    wanted = gpuprims.map("sin(v)", x.compute(), device=HERE, determinism="order")
    np.testing.assert_array_equal(lazy.compute(), wanted)


def test_weights_at_level_device_are_added_exactly_in_each_chunk(rng) -> None:
    x, numbers = rng.random(1_000), rng.integers(0, 4, 1_000)
    weights = rng.permutation(np.float32([1e8, 1, -1e8, 3] * 250))
    how = {"weights": weights, "device": HERE, "determinism": "device"}
    for given in (weights, cut(weights, 500)):
        with gpuprims.use_determinism("device"):
            sums = gpuprims.histogram(cut(x, 500), 4, (0, 1), weights=given, device=HERE)[0]
            many = gpuprims.bincount(cut(numbers, 500), given, device=HERE)
        halves = [{**how, "weights": part} for part in np.split(weights, 2)]
        own = [gpuprims.histogram(part, 4, (0, 1), **its)[0] for part, its in zip(np.split(x, 2), halves, strict=True)]
        np.testing.assert_array_equal(sums.compute(), own[0] + own[1])
        np.testing.assert_array_equal(many.compute(), np.bincount(numbers, weights))


def test_chunks_join_in_order(rng) -> None:
    last = gpuprims.Op(lambda a, b: b, 0, name="last")  # no identity on the left, and does not commute
    x = np.arange(1, 101)
    check(gpuprims.reduce(cut(x, 7), op=last, device=HERE), np.int64(100))


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("name", ["sum", "max", "prod"])
def test_scan_is_numpys(name, axis, rng) -> None:
    x = rng.uniform(0.9, 1.1, (103, 57))
    accumulate = {"sum": np.cumsum, "prod": np.cumprod}.get(name)
    wanted = (
        accumulate(x, axis) if accumulate else np.maximum.accumulate(x.reshape(-1) if axis is None else x, axis or 0)
    )
    check(gpuprims.scan(cut(x, 20, 30), op=name, axis=axis, device=HERE), wanted, rtol=1e-9)
    check(
        gpuprims.scan(cut(x, 20, 30), axis=1, map="2*x", dtype="float32", device=HERE),
        (2 * x.astype("f4")).cumsum(1),
        1e-4,
    )


def test_histogram_and_bincount(rng) -> None:
    x, weights = rng.standard_normal((2, 103, 57))
    for how in ({"bins": 10, "range": (-2, 2)}, {"bins": [-1, 0, 0.5, 3]}):
        counts, edges = gpuprims.histogram(cut(x, 20, 30), device=HERE, **how)
        wanted, at = np.histogram(x, **how)
        check(counts, wanted)
        np.testing.assert_array_equal(edges, at)
        summed, _ = gpuprims.histogram(cut(x, 20, 30), weights=cut(weights, 103, 57), device=HERE, **how)
        check(summed, np.histogram(x, weights=weights, **how)[0])
    density, _ = gpuprims.histogram(cut(x, 20, 30), 5, (-2, 2), density=True, device=HERE)
    np.testing.assert_allclose(density.compute(), np.histogram(x, 5, (-2, 2), density=True)[0])
    numbers = np.sort(rng.integers(0, 50, 1000))
    lazy = gpuprims.bincount(cut(numbers, 99), device=HERE)
    np.testing.assert_array_equal(lazy.compute(), np.bincount(numbers))
    assert np.isnan(lazy.shape[0])
    weighted = gpuprims.bincount(cut(numbers, 99), weights=cut(x.reshape(-1)[:1000], 99), minlength=60, device=HERE)
    np.testing.assert_allclose(weighted.compute(), np.bincount(numbers, x.reshape(-1)[:1000], 60))


def test_map_and_compact(rng) -> None:
    x = rng.standard_normal((103, 57))
    a = cut(x, 20, 30)
    check(gpuprims.map("2*x + y", a, cut(x[0], 30), device=HERE), 2 * x + x[0])
    check(gpuprims.map("2*x + a", x=a, a=3, device=HERE), 2 * x + 3)
    check(gpuprims.map(lambda v: v.astype(np.float32), a, device=HERE), x.astype(np.float32))
    low, positive = gpuprims.map(lambda v: (np.floor(v), v > 0), a, device=HERE)
    check(low, np.floor(x))
    assert positive.dtype == np.bool_
    np.testing.assert_array_equal(positive.compute(), x > 0)
    kept = gpuprims.compact(a, "x > 1", device=HERE)
    check(kept, x[x > 1])
    check(gpuprims.compact(a, a > 1, device=HERE), x[x > 1])
    check(gpuprims.reduce(kept, device=HERE), x[x > 1].sum())  # chunks of unknown length
    check(gpuprims.reduce(kept, op="mean", device=HERE), x[x > 1].mean())


@pytest.mark.parametrize("mode", MODES)
def test_stencils_reach_across_chunks(mode, rng) -> None:
    x, weights = rng.random((53, 37)), rng.random((5, 3))
    for chunks in ((20, 37), (10, 9)):
        a = cut(x, *chunks)
        how = {"mode": mode, "cval": 2, "iterations": 2, "device": HERE}
        check(gpuprims.stencil(a, weights, **how), gpuprims.stencil(x, weights, **how))
        check(
            gpuprims.blur(a, "gaussian", mode=mode, device=HERE), gpuprims.blur(x, "gaussian", mode=mode, device=HERE)
        )
    stack = rng.random((4, 9, 8))
    check(gpuprims.stencil(cut(stack, 1, 4, 8), weights, device=HERE), gpuprims.stencil(stack, weights, device=HERE))


def test_graphs_are_as_small_as_dasks_own() -> None:
    x = da.ones(640, chunks=10)

    def tasks(lazy) -> int:
        return len(dask.optimize(lazy)[0].__dask_graph__())

    assert tasks(gpuprims.reduce(x, device=HERE)) == tasks(x.sum()) == 64 + 16 + 4 + 1
    assert tasks(gpuprims.reduce(x, x, map="x*y", device=HERE)) <= 64 + 85
    assert tasks(gpuprims.map("2*x + 1", x, device=HERE)) == 64
    assert tasks(gpuprims.histogram(x, 4, (0, 2), device=HERE)[0]) <= 64 + 16 + 4 + 2
    own = da.reductions.cumreduction(np.cumsum, np.add, 0, x, axis=0, method="blelloch", preop=np.sum)
    assert tasks(gpuprims.scan(x, device=HERE)) <= tasks(own)


def test_the_same_call_has_the_same_name(rng) -> None:
    x = cut(rng.random(100), 10)
    for call in (
        lambda: gpuprims.reduce(x, op="std", device=HERE),
        lambda: gpuprims.blur(x.reshape(10, 10), device=HERE),
        lambda: gpuprims.histogram(x, 4, (0, 1), device=HERE)[0],
        lambda: gpuprims.scan(x, device=HERE),
    ):
        assert call().name == call().name
    assert gpuprims.reduce(x, op="std", device=HERE).name != gpuprims.reduce(x, op="var", device=HERE).name


def test_nothing_is_computed_before_it_is_asked_for() -> None:
    def fails(block: np.ndarray) -> np.ndarray:
        if block.size:
            raise AssertionError("computed")
        return block

    x = da.ones((40, 40), chunks=10).map_blocks(fails, dtype=float, meta=np.empty((0, 0)))
    gpuprims.reduce(x, device=HERE)
    gpuprims.scan(x, axis=0, device=HERE)
    gpuprims.histogram(x, 3, (0, 1), device=HERE)
    gpuprims.blur(x, device=HERE)
    gpuprims.compact(x, "x > 0", device=HERE)
    with pytest.raises(AssertionError, match="computed"):
        gpuprims.map("x + 1", x, device=HERE).compute()


def test_what_has_no_form_for_chunks_is_refused(rng) -> None:
    x = cut(rng.random((20, 10)), 5, 10)
    for call, words in (
        (lambda: gpuprims.reduce(x, out=np.empty(())), "no out="),
        (lambda: gpuprims.compact(x, "x > 3", out=np.empty(9)), "no out="),
        (lambda: gpuprims.bincount(x, out=np.empty(9, np.int64)), "no out= for lazy arrays"),
        (lambda: gpuprims.map("x + i", x, index="i"), "no index="),
        (lambda: gpuprims.reduce(x, op="minmax"), "an operator of one result"),
        (lambda: gpuprims.scan(x, inclusive=False), "inclusive"),
        (lambda: gpuprims.scan(x, op="mean"), "results are the folded values"),
        (lambda: gpuprims.histogram(x, 4), r"range=\(low, high\)"),
        (lambda: gpuprims.histogram(x, 4, (0, 1), axis=0), "one histogram of all elements"),
        (lambda: gpuprims.map("x + y", x), "one array for each"),
    ):
        with pytest.raises(ArgumentError, match=words):
            call()
    with pytest.raises(LazyArrayError, match=r"arrays in memory; got an array of dask.*compute"):
        gpuprims.plan("reduce", x)
    with pytest.raises(EmptyReductionError):
        gpuprims.reduce(x[:0], op="max")
    np.testing.assert_array_equal(gpuprims.sort(x[:, 0], device=HERE), np.sort(x[:, 0].compute()))  # as before


def test_dask_is_imported_for_its_arrays_only() -> None:
    code = (
        "import sys, numpy as np, gpuprims; x = np.arange(9.0).reshape(3, 3); how = {'device': 'reference'};"
        "gpuprims.reduce(x, **how); gpuprims.reduce([1, 2], **how); gpuprims.blur(x, **how);"
        "gpuprims.DeviceGroup(['reference']).scatter(x); print('dask' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
