"""Few elements of NumPy arrays, which NumPy computes with the bits of the kernels."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_cases import need

import gpuprims
from gpuprims.core.by_numpy import ByNumPy, Few, Switch
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.program_cache import forget_calls
from gpuprims.core.variant import Explanation
from gpuprims.errors import IndicesError, NoVariantError
from gpuprims.profiling import profile

X = np.random.default_rng(7).integers(-50, 50, 300, dtype=np.int32)


@pytest.fixture
def host(device: gpuprims.Device) -> gpuprims.Device:
    """A device whose short calls NumPy may compute."""
    if not device.driver.shares_host_memory or getattr(device.driver, "wakes_threads", None) is None:
        pytest.skip("kernels work in the host's memory on CPUs, by OpenCL")
    return device


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """What NumPy is asked to compute: True for what it does, False for what it leaves to a kernel."""
    found, takes = list[bool](), ByNumPy.takes

    def told(self: ByNumPy, *given: Any) -> bool:
        found.append(takes(self, *given))
        return found[-1]

    monkeypatch.setattr(ByNumPy, "takes", told)
    return found


def test_no_kernel_is_compiled(
    host: gpuprims.Device, numpy_computes: None, monkeypatch: pytest.MonkeyPatch, computed: list[bool]
) -> None:
    monkeypatch.setattr(LaunchPlan, "compiled", lambda self: pytest.fail("a kernel was compiled"))
    for _ in range(3):
        np.testing.assert_array_equal(gpuprims.sort(X, device=host), np.sort(X))
    assert computed == [True, True]  # the first call, and the one that is kept


def test_arrays_of_other_libraries_come_back(host: gpuprims.Device, numpy_computes: None) -> None:
    strict = pytest.importorskip("array_api_strict")
    x = strict.asarray(X)
    calls: list[Callable[[], Any]] = [
        lambda: gpuprims.reduce(x, device=host),  # NumPy returns a scalar, which has no __dlpack__
        lambda: gpuprims.reduce(x, op="minmax", device=host),
        lambda: gpuprims.sort(x, device=host),
    ]
    for call, expected in zip(calls, [X.sum(), (X.min(), X.max()), np.sort(X)], strict=True):
        for _ in range(3):
            found = call()
            assert type(found) is tuple or type(found) is type(x)
            for one, right in zip(found, expected, strict=True) if type(found) is tuple else [(found, expected)]:
                assert type(one) is type(x)
                np.testing.assert_array_equal(np.from_dlpack(one), right)


def test_variants_asked_for_and_other_memory_are_obeyed(
    host: gpuprims.Device, numpy_computes: None, computed: list[bool]
) -> None:
    (chosen,) = [gpuprims.explain("sort", host, dtype="int32", size=X.size).chosen]
    assert chosen is not None
    calls: list[Callable[[], Any]] = [
        lambda: gpuprims.sort(X, device=host, variant=chosen.name),
        lambda: host.to_host(gpuprims.sort(host.asarray(X))),
        lambda: gpuprims.sort(X, device="reference"),
    ]
    for call in calls:
        for _ in range(2):
            np.testing.assert_array_equal(call(), np.sort(X))
    assert True not in computed


def test_many_elements_are_a_kernels(host: gpuprims.Device, numpy_computes: None, computed: list[bool]) -> None:
    most = gpuprims.explain("sort", host, dtype="int32").by_numpy
    for size in (most, most + 1):
        x = np.resize(X, size)
        np.testing.assert_array_equal(gpuprims.sort(x, device=host), np.sort(x))
        assert computed.pop() == (size == most)
        computed.clear()


def test_few_elements_are_taken_from_many(host: gpuprims.Device, numpy_computes: None, computed: list[bool]) -> None:
    x, few = np.arange(2**22).reshape(2048, 2048), np.array([5, -1, 7])
    for given, by_numpy in ((x, True), (x[:, ::2], False)):  # NumPy would copy all of this one
        np.testing.assert_array_equal(gpuprims.take(given, few, device=host), np.take(given, few))
        assert computed[-1] == by_numpy


def test_arrays_that_numpy_declines_are_a_kernels(host: gpuprims.Device, numpy_computes: None) -> None:
    x = np.float32([2, np.nan, -0.0, 0.0, 1])
    rows = np.stack([x, x])  # of one row, NumPy writes NaN and zeros anew
    for one in (rows, rows[:, 2:], rows[:, 4:], rows, x):
        found = gpuprims.sort(one, device=host)
        assert found.tobytes() == np.sort(one, kind="stable").tobytes()


def test_what_kernels_refuse_is_refused(
    host: gpuprims.Device, numpy_computes: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = Explanation("sort", repr(host), ())
    monkeypatch.setattr(gpuprims.Device, "explain", lambda self, *given: nothing)
    with pytest.raises(NoVariantError, match="sort: a variant able to run the call"):
        gpuprims.sort(X, device=host)


def test_explain_tells_what_numpy_computes(host: gpuprims.Device, numpy_computes: None) -> None:
    explained = gpuprims.explain("take", host)
    assert f"NumPy computes NumPy arrays of at most {explained.by_numpy} elements, with the same bits" in str(explained)
    assert explained.chosen is not None  # of larger arrays, and of the device's
    assert "NumPy computes" not in str(gpuprims.explain("take", "reference"))
    assert "NumPy computes" not in str(gpuprims.explain("logistic", host))


def test_plans_let_numpy_compute(host: gpuprims.Device, numpy_computes: None, computed: list[bool]) -> None:
    plan = gpuprims.plan("sort", X, device=host)
    for _ in range(2):
        np.testing.assert_array_equal(plan(X[::-1].copy()), np.sort(X))
    assert computed[0]
    total = gpuprims.plan("reduce", X, device=host)
    assert total.item(X) == X.sum()


def test_plans_compile_when_a_kernel_is_needed(
    host: gpuprims.Device, numpy_computes: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled, compile_it = list[str](), LaunchPlan.compiled

    def told(self: LaunchPlan) -> Any:
        compiled.append(self.primitive)
        return compile_it(self)

    monkeypatch.setattr(LaunchPlan, "compiled", told)
    x = np.float32([[3, 1, 2]])
    plan = gpuprims.plan("sort", x, device=host)
    np.testing.assert_array_equal(plan(x), np.sort(x))
    assert compiled == []
    np.testing.assert_array_equal(plan(np.float32([[np.nan, 1, 2]])), np.float32([[1, 2, np.nan]]))
    assert "sort" in compiled
    compiled.clear()
    gpuprims.plan("sort", x, out=np.empty_like(x), device=host)
    assert "sort" in compiled


def test_numbers_beside_arrays_take_the_arrays_dtype(host: gpuprims.Device, numpy_computes: None) -> None:
    for _ in range(3):
        found = gpuprims.map("a * x + b", 3, X, 2, device=host)
        assert found.dtype == X.dtype
        np.testing.assert_array_equal(found, 3 * X + 2)


def test_indices_outside_raise_as_from_a_kernel(host: gpuprims.Device, numpy_computes: None) -> None:
    at = np.array([0, 300])
    for _ in range(2):
        with pytest.raises(IndicesError, match=r"take: indices from -300 to 299; got indices\[1\] = 300"):
            gpuprims.take(X, at, device=host)
    np.testing.assert_array_equal(gpuprims.take(X, at - 1, device=host), X[[-1, 299]])


def test_results_are_new_arrays(host: gpuprims.Device, numpy_computes: None) -> None:
    need(host, "float64")
    for call in (
        lambda x: gpuprims.map("x", x, device=host),
        lambda x: gpuprims.take(x, np.arange(x.size), device=host),
        lambda x: gpuprims.sort(x, device=host),
        lambda x: gpuprims.compact(x, "x == x", device=host),
        lambda x: gpuprims.partition(x, 3, device=host),
    ):
        x, given = np.arange(9.0), np.arange(9.0)
        for _ in range(3):
            found = call(x)
            found += 1
        np.testing.assert_array_equal(x, given)


def test_only_drivers_that_tell_how_they_launch_are_passed_over() -> None:
    few = Few(near=1, woken=2)
    drivers = [type("Driver", (), {"wakes_threads": wakes})() for wakes in (True, False)]
    was, Switch.on = Switch.on, True
    try:
        assert [few.most(driver) for driver in drivers] == [2, 1]
        assert few.most(gpuprims.Device("reference").driver) == 0
        Switch.on = False
        assert few.most(drivers[0]) == 0
    finally:
        Switch.on = was


def _in_child(device: gpuprims.Device, x: np.ndarray, queue: Any) -> None:
    try:
        queue.put(repr(gpuprims.sort(x, device=device)))
    except gpuprims.errors.GpuprimsError as error:
        queue.put(type(error).__name__)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_is_refused_as_by_kernels(host: gpuprims.Device, numpy_computes: None) -> None:
    gpuprims.sort(X, device=host)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(host, X, queue))
    child.start()
    told = queue.get(timeout=60)
    child.join()
    assert told == "DeviceError"


def test_profiles_name_numpy(host: gpuprims.Device, numpy_computes: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile, "copy_rate", lambda device: 1e9)
    for call in (gpuprims.sort, gpuprims.unique, lambda x, **at: gpuprims.bincount(abs(x), **at)):
        with gpuprims.profile() as seen:
            for _ in range(2):
                call(X, device=host)
        assert [launch.kernel.partition("/")[2] for launch in seen.launches] == ["NumPy", "NumPy"]
        assert seen.launches[0].nbytes > X.nbytes


def test_the_switch_is_off_in_tests() -> None:
    assert not Switch.on
    forget_calls()
