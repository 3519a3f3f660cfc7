"""Warm calls on CuPy's arrays in C: they do what Python does, here on a driver that only notes its launches."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpuprims.backends.cuda import compiled
from gpuprims.core import c_modules

SOURCE = Path(compiled.__file__).with_name("calls.c")
_I, _P = "unsigned int", "intptr_t"
_SHAPE = (_P, *[_I] * 7)
SIGNATURES = {
    "launchKernel": f"PyObject *({', '.join([*_SHAPE, _P, _P, _P])}, int __pyx_skip_dispatch)",
    "launchCooperativeKernel": f"PyObject *({', '.join([*_SHAPE, _P, _P])}, int __pyx_skip_dispatch)",
    "getDevice": "int (int __pyx_skip_dispatch)",
    "get_current_stream_ptr": "intptr_t (void)",
}
_SEVEN = [ctypes.c_ssize_t, *[ctypes.c_uint] * 7]
KINDS = {
    "launchKernel": ctypes.PYFUNCTYPE(ctypes.py_object, *_SEVEN, *[ctypes.c_ssize_t] * 3, ctypes.c_int),
    "launchCooperativeKernel": ctypes.PYFUNCTYPE(ctypes.py_object, *_SEVEN, *[ctypes.c_ssize_t] * 2, ctypes.c_int),
    "getDevice": ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int),
    "get_current_stream_ptr": ctypes.PYFUNCTYPE(ctypes.c_ssize_t),
}
PER_THREAD = 2


class Array:
    """What the functions in C read of a CuPy array."""

    def __init__(self, address: int = 4096, shape: tuple[int, ...] = (8,), strides: tuple[int, ...] = (4,)) -> None:
        self.dtype, self.shape, self.strides = np.dtype(np.float32), shape, strides
        self._c_contiguous = strides == (4,)
        self.data = SimpleNamespace(ptr=address, device_id=0)

    def _init(self, *described: Any) -> None:
        if described == ("too large",):
            raise MemoryError
        if described == ("interrupted",):
            raise KeyboardInterrupt
        self.described = described


class Driver:
    """CuPy's functions: they note launches, each with its first ``arguments`` 64-bit arguments."""

    def __init__(self) -> None:
        self.launches: list[tuple[Any, ...]] = []
        self.device, self.stream, self.arguments = 0, 0, 3
        self._alive: list[Any] = []

    def launch(self, *given: Any) -> None:
        table = ctypes.cast(given[9], ctypes.POINTER(ctypes.POINTER(ctypes.c_int64)))
        self.launches.append((*given[:9], *[table[k][0] for k in range(self.arguments)]))

    def module(self, **functions: Any) -> Any:
        """Return a module that exports functions as Cython does."""
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        exports = {}
        for name, function in functions.items():
            held = KINDS[name](function), SIGNATURES[name].encode()
            self._alive.append(held)
            exports[name] = new(ctypes.cast(held[0], ctypes.c_void_p), held[1], None)
        return SimpleNamespace(__pyx_capi__=exports, free=lambda address: None)


@pytest.fixture(scope="module")
def binary() -> bytes:
    if c_modules.why_not() is not None:
        pytest.skip(str(c_modules.why_not()))
    return c_modules.compiled(SOURCE)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    made = Driver()
    both = {"launchKernel": made.launch, "launchCooperativeKernel": lambda *given: made.launch(*given)}
    for name, module in {
        "cupy_backends": made.module(),
        "cupy_backends.cuda.api.driver": made.module(**both),
        "cupy_backends.cuda.api.runtime": made.module(getDevice=lambda _: made.device),
        "cupy_backends.cuda.stream": made.module(get_current_stream_ptr=lambda: made.stream),
    }.items():
        monkeypatch.setitem(sys.modules, name, module)
    return made


@pytest.fixture
def calls(binary: bytes, driver: Driver) -> Iterator[Any]:
    module = c_modules.loaded("calls", binary)
    assert isinstance(module, ModuleType)
    return module


def launch_of(calls: Any, *, together: bool = False, elsewhere: Any = None) -> Any:
    """Return a launch with two pointers, a layout of two words and a number."""
    return calls.Launch(object(), elsewhere, 77, 5, 64, 16, together, 0, 2, 2, (0, 0, 10, 20, 30))


@pytest.mark.parametrize("array", [Array(), Array(4100, (4, 2), (4, 16))], ids=["contiguous", "turned"])
def test_facts_are_those_of_python(calls: Any, array: Any) -> None:
    assert calls.facts_of(array) == compiled.facts_of(array)


@pytest.mark.parametrize("together", [False, True])
def test_a_launch_passes_pointers_layout_and_numbers(calls: Any, driver: Driver, together: bool) -> None:
    driver.stream, driver.arguments = 99, 4
    assert launch_of(calls, together=together)([Array(1000), Array(2000)]) is None
    assert driver.launches == [(77, 5, 1, 1, 64, 1, 1, 16, 99, 1000, 2000, 10, 30)]


def test_memories_beside_are_asked_for_once_in_a_stream(calls: Any, driver: Driver) -> None:
    asked = []

    def beside() -> tuple[Any, Any]:
        asked.append(driver.stream)
        return Array(100 + driver.stream), Array(200 + driver.stream)

    launch = calls.Launch(object(), None, 77, 5, 64, 16, False, 0, 3, 1, (0, 0, 0, 10)).with_beside(beside)
    for driver.stream in (7, 7, 8, PER_THREAD, PER_THREAD, 7):
        launch((Array(1),))
        assert driver.launches[-1][-3:] == (1, 100 + driver.stream, 200 + driver.stream)
    assert asked == [7, 8, PER_THREAD, PER_THREAD, 7]


def test_a_launch_of_another_device_goes_there(calls: Any, driver: Driver) -> None:
    driver.device, seen = 1, []
    launch = launch_of(calls, elsewhere=lambda *given: seen.append(given))
    launch(arrays := (Array(), Array()))
    assert (seen, driver.launches) == ([(launch, arrays)], [])


@pytest.mark.parametrize(
    ("given", "error"), [([Array()], ValueError), ([Array(), 3], AttributeError), (None, TypeError)]
)
def test_wrong_arrays_are_refused(calls: Any, driver: Driver, given: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        launch_of(calls)(given)
    assert driver.launches == []


def run_of(calls: Any, launch: Any, described: tuple[Any, ...] = ((8,), "f4")) -> tuple[Any, Any]:
    device = SimpleNamespace(driver=object())
    run = calls.Run(
        launch, device, device.driver, lambda given: ("slow", given), lambda kind: kind(), Array, described, 0
    )
    return run, device


def test_a_run_allocates_launches_and_returns(calls: Any, driver: Driver) -> None:
    driver.arguments = 2
    run, _ = run_of(calls, launch_of(calls))
    result = run((Array(1000),))
    assert (type(result), result.described) == (Array, ((8,), "f4"))
    assert driver.launches[-1][-2:] == (1000, 4096)
    seen: list[Any] = []
    result = run_of(calls, seen.append)[0]([array := Array()])
    assert seen == [(array, result)]


def test_a_run_leaves_the_rest_to_python(calls: Any, driver: Driver) -> None:
    given = (Array(),)
    run, device = run_of(calls, launch_of(calls))
    device.driver = object()  # as after a fork
    assert run(given) == ("slow", given)
    assert run_of(calls, launch_of(calls), ("too large",))[0](given) == ("slow", given)
    driver.device = 1
    assert run_of(calls, launch_of(calls))[0](given) == ("slow", given)
    assert driver.launches == []


def test_other_errors_than_no_memory_are_raised(calls: Any) -> None:
    run, _ = run_of(calls, launch_of(calls), ("interrupted",))
    with pytest.raises(KeyboardInterrupt):
        run((Array(),))


def test_errors_of_a_launch_free_the_result(calls: Any) -> None:
    def fail(arrays: Any) -> None:
        raise RuntimeError("no room in the queue")

    with pytest.raises(RuntimeError, match="queue"):
        run_of(calls, fail)[0]((Array(),))


def test_calls_keep_no_references(calls: Any, driver: Driver) -> None:
    driver.arguments = 0
    array, other, beside = Array(), Array(), (Array(), Array())
    launch = launch_of(calls)
    run, _ = run_of(calls, launch)
    more = calls.Launch(object(), None, 77, 5, 64, 16, False, 0, 3, 1, (0, 0, 0, 10)).with_beside(lambda: beside)
    driver.stream = PER_THREAD
    watched = [array, other, beside, beside[0], array.dtype, array.shape, launch, calls.facts_of]
    for _ in range(2):
        before = [sys.getrefcount(one) for one in watched]
        for _ in range(50):
            calls.facts_of(array)
            launch((array, other))
            run((array,))
            more([array])
    assert [sys.getrefcount(one) for one in watched] == before


def test_another_cupy_is_refused(binary: bytes, driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SIGNATURES, "getDevice", "long (void)")
    monkeypatch.setitem(sys.modules, "cupy_backends.cuda.api.runtime", driver.module(getDevice=lambda _: driver.device))
    with pytest.raises(ImportError, match="getDevice of signature int"):
        c_modules.loaded("calls", binary)
