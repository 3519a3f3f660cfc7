"""Plans of every function: what the function returns, on arrays of the host and of the device, new or given."""

from __future__ import annotations

import gc
import re
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from kernel_cases import assert_equal, need, on_device, on_host, placer

import gpuprims
from gpuprims.core import program_cache
from gpuprims.core.capture import Captured, captured_now, keep
from gpuprims.core.plans import bind_call, planned_names
from gpuprims.errors import ArgumentError, CaptureError, EmptyReductionError, ShapeError

WEIGHTS = np.array([[1, 2, 1], [2, 3, 2], [1, 1, 2]]) / np.float32(16)
OFFSETS = np.array([0, 0, 500, 5000])


class Case(NamedTuple):
    """A function, its arguments behind the arrays, and its keywords."""

    function: str
    arguments: tuple[Any, ...] = ()
    keywords: dict[str, Any] = {}  # noqa: RUF012 - nobody writes to it
    dtype: str = "float32"
    shape: tuple[int, ...] = (5000,)
    before: tuple[Any, ...] = ()
    varies: bool = False  # in length: test_plans_of_lengths.py has ``out=``

    def random(self, rng: np.random.Generator) -> np.ndarray:
        """Return random elements of the case's dtype."""
        if self.dtype == "float32":
            return rng.random(self.shape, dtype=np.float32)
        return rng.integers(0, 100, self.shape).astype(self.dtype)

    def call(self, x: Any, **more: Any) -> Any:
        """Call the function; of a histogram take the counts."""
        result = getattr(gpuprims, self.function)(*self.before, x, *self.arguments, **self.keywords, **more)
        return result[0] if self.function == "histogram" else result

    def plan(self, x: Any, **more: Any) -> gpuprims.Plan:
        """Plan the call."""
        return gpuprims.plan(self.function, *self.before, x, *self.arguments, **self.keywords, **more)


CASES = {
    "map": Case("map", before=("2*x + 1",)),
    "map of a function": Case("map", before=(lambda x: np.sqrt(x) * 3,)),
    "reduce": Case("reduce"),
    "reduce along an axis": Case("reduce", (), {"axis": 0, "op": "max"}, shape=(70, 80)),
    "scan": Case("scan"),
    "compact": Case("compact", ("x > 0.5",), varies=True),
    "histogram": Case("histogram", (50, (0, 1))),
    "histogram of edges": Case("histogram", ([0, 0.25, 0.5, 2],)),
    "bincount": Case("bincount", dtype="int32", varies=True),
    "bincount of bytes": Case("bincount", (), {"minlength": 256}, dtype="uint8", varies=True),
    "stencil": Case("stencil", (WEIGHTS,), shape=(60, 70)),
    "stencil, several passes": Case("stencil", (WEIGHTS,), {"iterations": 3, "mode": "wrap"}, shape=(60, 70)),
    "blur": Case("blur", shape=(60, 70)),
    "blur, Gaussian": Case("blur", ("gaussian",), {"sigma": 3}, shape=(60, 70)),
    "segments": Case("reduce", (), {"segments": OFFSETS}),
    "segments, by a scan": Case("reduce", (), {"segments": OFFSETS, "variant": "blelloch"}),
    "scan of segments": Case("scan", (), {"segments": OFFSETS, "inclusive": False}),
    "scan of segments, by marks": Case("scan", (), {"segments": OFFSETS, "variant": "blelloch"}),
}


def read(device: gpuprims.Device, result: Any) -> Any:
    """Return a result on the host."""
    return result if isinstance(result, np.ndarray | np.generic) else on_host(device, result)


def skip_unless_able(device: gpuprims.Device, case: Case) -> None:
    need(device, "float64")
    if "variant" in case.keywords and device.backend == "reference":
        pytest.skip("the reference has one variant")


@pytest.mark.parametrize("where", ["host", "gaps", "device"])
@pytest.mark.parametrize("name", CASES)
def test_a_plan_returns_what_the_function_does(
    device: gpuprims.Device, rng: np.random.Generator, name: str, where: str
) -> None:
    case = CASES[name]
    skip_unless_able(device, case)
    place = placer(device, where)
    how = {} if where == "device" else {"device": device}
    plan = case.plan(place(case.random(rng)), **how)
    for _ in range(4):  # the first call checks its arrays, later ones are found by their facts
        x = case.random(rng)
        result = plan(place(x))
        assert type(result) is type(case.call(place(x), **how))
        assert_equal(read(device, result), read(device, case.call(place(x), **how)))


@pytest.mark.parametrize("there", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.varies])
def test_a_plan_writes_where_it_is_told_to(
    device: gpuprims.Device, rng: np.random.Generator, name: str, there: bool
) -> None:
    case = CASES[name]
    skip_unless_able(device, case)
    place: Callable[[Any], Any] = (lambda x: on_device(device, x)) if there else (lambda x: x)
    how = {} if there else {"device": device}
    first = case.random(rng)
    plan, expected = case.plan(place(first), **how), np.asarray(read(device, case.call(place(first), **how)))
    out = place(np.zeros(expected.shape, expected.dtype))
    for _ in range(3):
        x = case.random(rng)
        assert plan(place(x), out=out) is out
        assert_equal(read(device, out), read(device, case.call(place(x), **how)))
    with pytest.raises(ShapeError, match="out= of the result's shape"):
        plan(place(first), out=place(np.zeros((3, 3, 3), expected.dtype)))
    if expected.shape == first.shape and case.function != "scan":
        both = place(first.astype(expected.dtype))
        with pytest.raises(ArgumentError, match="overlaps an input"):
            plan(both, out=both)


def test_a_plan_scans_in_place(device: gpuprims.Device) -> None:
    x = on_device(device, np.ones(1000, np.float32))
    plan = gpuprims.plan("scan", x)
    for _ in range(2):
        plan(x, out=x)
    assert_equal(on_host(device, x), np.cumsum(np.cumsum(np.ones(1000, np.float32))))


def test_a_plan_keeps_the_offsets_that_it_checked(device: gpuprims.Device) -> None:
    x, offsets = np.ones(10, np.float32), np.array([0, 4, 10])
    for given in (offsets, on_device(device, offsets)):
        plan = gpuprims.plan("reduce", on_device(device, x), segments=given)
        offsets[:] = 0, 99, 10
        assert_equal(on_host(device, plan(on_device(device, x))), np.float32([4, 6]))
        offsets[:] = 0, 4, 10
    for wrong in ([0, 4, 9], [0, 11, 10], [1, 10]):
        with pytest.raises(ArgumentError, match=r"reduce: segments= "):
            gpuprims.plan("reduce", x, segments=wrong, device=device)
    with pytest.raises(EmptyReductionError, match="at least one element a segment"):
        gpuprims.plan("reduce", x, segments=[0, 0, 10], op="max", device=device)
    for name, how in (("reduce", {"keepdims": True}), ("scan", {"reverse": True})):
        with pytest.raises(ArgumentError, match=f"{name}: .*segments"):
            gpuprims.plan(name, x, segments=[0, 10], device=device, **how)


def test_arrays_unlike_the_planned_are_refused_after_warm_calls(device: gpuprims.Device) -> None:
    x = on_device(device, np.zeros(1000, np.float32))
    plan = gpuprims.plan("blur", on_device(device, np.zeros((30, 40), np.float32)))
    for _ in range(2):
        with pytest.raises(ArgumentError, match="plan of blur: arrays laid out as planned"):
            plan(x)
        plan(on_device(device, np.zeros((30, 40), np.float32)))


def test_unused_plans_are_freed(device: gpuprims.Device) -> None:
    x, forgets = on_device(device, np.zeros(1000, np.float32)), len(program_cache._forgets)
    plan = gpuprims.plan("map", "x + 1", x)
    plan(x)
    assert len(program_cache._forgets) == forgets  # who is there stays there for ever
    kept = weakref.ref(plan)
    program_cache.forget_calls()
    plan(x)
    del plan
    gc.collect()
    assert kept() is None


def test_a_plan_uses_modules_that_are_ready_later(device: gpuprims.Device) -> None:
    x = on_device(device, np.ones(1000, np.float32))
    plan = gpuprims.plan("reduce", x)
    before = plan._launch_plan.compiled()
    assert [int(on_host(device, plan(x))) for _ in range(2)] == [1000, 1000]
    assert plan._launch_plan.compiled() is before
    program_cache.prepare_anew()
    assert int(on_host(device, plan(x))) == 1000
    assert plan._launch_plan.compiled() is not before


@pytest.mark.parametrize("name", CASES)
def test_a_captured_call_has_launches_and_memory_of_its_own(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """On a device that says that a graph captures its stream, as CUDA's does."""
    case, forgotten, kept = CASES[name], list[Any](), list[Any]()
    skip_unless_able(device, case)
    if not hasattr(device.driver, "stream_memory"):
        pytest.skip("memory that stays with a stream")
    x, empty = on_device(device, case.random(rng)), device.driver.empty

    def watched(*described: Any) -> Any:
        kept.append(captured_now())
        return keep(empty(*described))

    monkeypatch.setattr(device.driver, "is_capturing", lambda: True, raising=False)
    monkeypatch.setitem(vars(device.driver), "empty", watched)  # gone afterwards, as setattr would leave the method
    monkeypatch.setattr(device.driver.stream_memory, "forget", forgotten.append)
    plan = case.plan(x)
    kept.clear()
    result = plan(x)
    ((launch_plan, memory),) = plan._captured
    assert isinstance(memory, Captured)
    assert launch_plan.compiled() is not plan._launch_plan.compiled()
    assert all(one is memory for one in kept)
    assert forgotten == [memory]
    assert captured_now() is None
    if case.function not in ("compact", "bincount", "histogram"):  # which cut their results
        assert any(one is result for one in memory)
    assert_equal(on_host(device, result), on_host(device, case.call(x)))
    with pytest.raises(CaptureError, match=r"plan of \w+: item\(\) outside"):
        plan.item(x)


def test_memory_of_a_captured_call_is_kept_after_an_error(
    device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not hasattr(device.driver, "stream_memory"):
        pytest.skip("memory that stays with a stream")
    x = on_device(device, np.zeros(10, np.float32))
    monkeypatch.setattr(device.driver, "is_capturing", lambda: True, raising=False)
    plan = gpuprims.plan("map", "x", x)
    with pytest.raises(ArgumentError):
        plan(on_device(device, np.zeros(11, np.float32)))
    assert len(plan._captured) == 1
    assert captured_now() is None


def test_the_guide_that_the_error_names_lists_every_function_with_a_plan() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guide" / "plans.md").read_text()
    assert set(planned_names()) <= {word.strip("`") for word in re.findall("`[a-z_0-9]+`", guide)}
    with pytest.raises(ArgumentError, match=r"and \d+ others, which the guide on plans lists; got 'turn'"):
        gpuprims.plan("turn", np.zeros(3))
    with pytest.raises(ArgumentError, match="a function among"):
        bind_call("blur", (np.zeros((3, 3)),), {})
