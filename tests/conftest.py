"""The devices that tests run on: all of this machine; the summary has a line for each kind that is absent.

``GPUPRIMS_TEST_DEVICES`` restricts a run to the specs it lists, comma-separated; an absent one of those is a failure.
``--whole`` runs every combination of parameters; without it, `covering` chooses some.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest

import gpuprims
from gpuprims.core.device import absences
from gpuprims.errors import BackendUnavailableError, UnknownDeviceError
from gpuprims.profiling import limit

sys.path.insert(0, str(Path(__file__).parent))  # importlib mode leaves it out, and tests share kernel_cases
from covering import LEFT, covering, pytest_addoption, pytest_sessionfinish, pytest_testnodedown  # noqa: F401 - hooks
from kernel_cases import (
    AROUND,
    ASKED,
    BYTES,
    COUNTED,
    FLAT,
    GRIDS,
    LONG_ROW,
    MANY_BINS,
    ROWS,
    ROWS_OF_BYTES,
    SHORT_ROWS,
    Kernel,
    able_variants,
    as_it_stands,
    is_guest,
)

from gpuprims.core.by_numpy import Switch
from gpuprims.core.program_cache import forget_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant

if "OCLGRIND_LOG" in os.environ:  # which each worker of a run has of its own; see oclgrind.py
    os.environ["OCLGRIND_LOG"] += os.environ.get("PYTEST_XDIST_WORKER", "")

# The same examples in each run, so that a failure shows again. Compiling a kernel takes longer than any deadline.
hypothesis.settings.register_profile(
    "tests",
    derandomize=True,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture, hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("tests")

# Runtimes for CPUs by a spec that names their vendor.
RUNTIMES = ("opencl:intel", "opencl:portable")


def cpu_runtimes() -> list[str]:
    """Return a spec for every OpenCL device that is a CPU."""
    devices = [
        device for device in gpuprims.devices() if (device.backend, device.capabilities.kind) == ("opencl", "cpu")
    ]
    named = {find(spec): spec for spec in RUNTIMES}
    return [named.get(device, device.spec) for device in devices] or ["opencl:cpu"]


@cache
def find(spec: str) -> gpuprims.Device | str:
    """Return the device of a spec, or why there is none."""
    try:
        return gpuprims.Device(spec)
    except BackendUnavailableError:
        return next(str(error) for error in absences() if error.backend == spec.partition(":")[0])
    except UnknownDeviceError as error:
        return str(error)


EVERY = ASKED or ("cuda", "opencl:gpu", *cpu_runtimes(), "reference")
SPECS = [spec for spec in EVERY if ASKED or not isinstance(find(spec), str)]


def present(spec: str) -> gpuprims.Device:
    found = find(spec)
    if isinstance(found, str):
        pytest.fail(f"GPUPRIMS_TEST_DEVICES asks for it: {found}")
    return found


CACHES: list[Any] = []  # of the primitives' functions


def pytest_collection_finish() -> None:
    """Find the primitives' caches, and keep all that there is now out of garbage collections.

    With 20,000 tests in memory, a collection takes a second, and there is one after each file.
    """
    caches = (kept for kept in gc.get_objects() if type(kept) is type(find))  # proxies have no class
    CACHES.extend(kept for kept in caches if str(kept.__module__).startswith("gpuprims.primitives"))
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let the interpreter free what was kept: Intel's runtime aborts at exit if objects outlive it."""
    gc.unfreeze()


@pytest.fixture(scope="module", autouse=True)
def kernels_let_go() -> Iterator[None]:
    """Forget what a file has compiled: all the tests' kernels together take more memory than some machines have."""
    yield
    for kept in CACHES:
        kept.cache_clear()
    for spec in SPECS:
        found = find(spec)
        if not isinstance(found, str):
            found._kernels.clear()
    gc.collect()


@pytest.fixture(scope="session", params=SPECS)
def device(request: pytest.FixtureRequest) -> gpuprims.Device:
    """Each device of this machine in turn."""
    return present(request.param)


# What fixtures give every able variant of: primitives, and the calls that one is able to run; see `able_variants`.
KERNELS: dict[str, tuple[str, tuple[CallTraits, ...]]] = {
    "map_kernel": ("map", ()),
    "reduce_kernel": ("reduce", ()),
    "scan_kernel": ("scan", ()),
    "flat_scan_kernel": ("scan", (FLAT,)),
    "segments_kernel": ("scan segments", (FLAT,)),
    "histogram_kernel": ("histogram", (COUNTED, BYTES, *GRIDS)),
    "many_bins_kernel": ("histogram", (MANY_BINS,)),
    "stencil_kernel": ("stencil", (AROUND,)),
    "logistic_kernel": ("logistic", (ROWS,)),
    "integers_kernel": ("logistic", (ROWS_OF_BYTES,)),
    "descent_kernel": ("descent", ()),
    "newton_kernel": ("newton", ()),
    "csr_kernel": ("csr", ()),
    "top_k_kernel": ("top_k", (FLAT,)),
    "selection_kernel": ("selection", (FLAT,)),
    "sgd_kernel": ("sgd", ()),
    "hogwild_kernel": ("hogwild", ()),
    "sort_kernel": ("sort", (SHORT_ROWS, LONG_ROW)),
    "take_kernel": ("take", ()),
    "merge_kernel": ("merge", ()),
    "searchsorted_kernel": ("searchsorted", ()),
}


def _each_kernel(name: str, primitives: str) -> Any:
    """Return a fixture that gives each variant of a primitive on each device that it is meant for."""

    @pytest.fixture(scope="session", name=name)
    def kernel(request: pytest.FixtureRequest) -> Kernel:
        return _kernel(primitives, *request.param)

    return kernel


for _name, (_primitives, _) in KERNELS.items():
    globals()[_name] = _each_kernel(_name, _primitives)


def _kernel(primitives: str, spec: str, name: str) -> Kernel:
    device = present(spec)
    known = [variant for one in primitives.split() for variant in REGISTRY.variants(one, device.backend)]
    variant = next(variant for variant in known if variant.name == name)
    if variant.waits and not device.capabilities.forward_progress:
        pytest.skip(f"{name}: needs groups that run at the same time; {device!r}: {device.capabilities.progress}")
    return Kernel(device, variant)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give tests that take one of ``KERNELS`` every able variant of every device."""
    for fixture in KERNELS.keys() & set(metafunc.fixturenames):
        cases = [case for spec in SPECS for case in _variants(spec, *KERNELS[fixture])]
        metafunc.parametrize(fixture, cases, indirect=True, scope="session")


def _variants(spec: str, primitives: str, calls: tuple[CallTraits, ...]) -> list[Any]:
    found = find(spec)
    if isinstance(found, str):
        return [pytest.param((spec, ""), id=spec)]
    names = [variant.name for one in primitives.split() for variant in able_variants(found, one, *calls)]
    return [pytest.param((spec, name), id=f"{spec}-{name}") for name in names]


@pytest.fixture(scope="session", autouse=True)
def kernels_compute() -> Iterator[None]:
    """Launch kernels, which most tests are about, also where NumPy would compute few elements of NumPy arrays."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Switch, "on", False)
        yield


@pytest.fixture(scope="session", autouse=True)
def profiles_measure_short_copies() -> Iterator[None]:
    """Let the end of a process's first profile copy fewer elements: a kernel not optimised takes eight seconds else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limit, "_USUAL", 1 << 18)
        yield


@pytest.fixture
def numpy_computes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let NumPy compute such calls, as it does outside of tests."""
    forget_calls()
    monkeypatch.setattr(Switch, "on", True)
    yield
    forget_calls()


@pytest.fixture(params=["kernels", "numpy"])
def either_computes(request: pytest.FixtureRequest) -> None:
    """Let kernels compute few elements of host arrays, and then NumPy."""
    if request.param == "numpy":
        request.getfixturevalue("numpy_computes")


@pytest.fixture(scope="session", autouse=True)
def written_scratch() -> Iterator[None]:
    """Under Oclgrind, hand out scratch memory that has been written.

    Oclgrind 21.10 reports ``atomic_xchg(p, 5)`` on fresh memory as a write of something uninitialised, and that is how
    groups leave their values. That they do leave them is what the results show. It does not see that memory is filled;
    and it notices writes to a buffer as far as the first write of the host to that memory: so every array has a buffer
    of its own, which is kept.
    """
    if "OCLGRIND_LOG" not in os.environ:
        yield
        return
    import pyopencl as cl
    import pyopencl.array as cl_array

    from gpuprims.backends.opencl.arrays import Arrays
    from gpuprims.backends.opencl.device import OpenCLDriver

    kept = []

    class KeptBuffer(cl.Buffer):
        def __init__(self, *given: Any, **how: Any) -> None:
            super().__init__(*given, **how)
            kept.append(self)

    def scratch(self: OpenCLDriver, nbytes: int) -> Any:
        return self.asarray(np.zeros(nbytes, np.uint8))

    def zeros(self: OpenCLDriver, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        return self.asarray(np.zeros(shape, dtype))

    def empty(self: OpenCLDriver, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        return cl_array.empty(self.queue, shape, dtype)

    def kept_zeros(self: Arrays, count: int, dtype: np.dtype[Any]) -> Any:
        return self.make((count,), dtype, np.zeros(count, dtype)).base_data

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Arrays, "kept_zeros", kept_zeros)
        patch.setattr(OpenCLDriver, "scratch", scratch)
        patch.setattr(OpenCLDriver, "empty", empty)
        patch.setattr(OpenCLDriver, "zeros", zeros)
        patch.setattr(cl, "Buffer", KeptBuffer)
        yield


@pytest.fixture(autouse=True)
def kernels_stand_as_they_are(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile kernels for CPUs without optimisation, but for tests of a CPU's kernel by name, and those marked so.

    The marked ones, as ``optimised``, are what runs for longer than it compiles, and some sizes around boundaries in
    each file. Compiling as users do, the tests took 40 minutes of two cores, most of it in Intel's compiler
    (2026-11-26). A whole run compiles as users do, but for guests.
    """
    if not _is_optimised(request.node) and (_guests(request.node) or not request.config.getoption("whole")):
        as_it_stands(monkeypatch)


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator that starts alike in every test."""
    return np.random.default_rng(20261121)


# Dtypes that guests are spared: each has a neighbour of the same kind that they run; and those that `lookback` is
# spared too, whose groups wait for each other, which takes long where other work has the cores.
SPARED = frozenset({"int16", "int32", "int64", "uint8", "uint16", "uint32", "complex128"})
SPARED_WAITING = SPARED | {"float16", "uint64", "complex64", "bool"}


def _runs_on(item: pytest.Item) -> frozenset[tuple[str, str]]:
    """Return the devices of a test, and their kernels, "" where a test takes a device alone."""
    params = item.callspec.params if hasattr(item, "callspec") else {}
    devices = {(params["device"], "")} if "device" in params else set()
    watched = {(spec, params["kernel"].entry) for spec, _ in devices if isinstance(params.get("kernel"), Variant)}
    return frozenset(watched or devices.union(_kernels_named(item)))


def _chosen(items: list[pytest.Item]) -> set[pytest.Item]:
    """Return a covering part. The reference runs few tests, and so does PoCL beside another device: it is slow."""
    beside = not ASKED and len({*SPECS} - {"reference"}) > 1
    once, sampled = frozenset(() if ASKED else {"reference"}), frozenset({"opencl:portable"} if beside else ())
    places = {place for item in items for place in _runs_on(item) if place[1]}
    guests = frozenset(place for place in places if _is_cpu(place[0]) and is_guest("cpu", place[1]))
    return covering(items, _runs_on, once, sampled, guests)


def _named(config: pytest.Config, items: list[pytest.Item]) -> set[pytest.Item]:
    """Return the tests that the command line names one by one."""
    return {item for item in items if item.nodeid in config.args}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if left := terminalreporter.config.stash.get(LEFT, 0):
        terminalreporter.line(f"{left:,} further combinations: make test-all, or pytest --whole")
    for spec in EVERY:
        if isinstance(reason := find(spec), str) and not ASKED:
            terminalreporter.line(f"not tested: {spec}: {reason}")


@pytest.hookimpl(trylast=True)  # when pytest has put tests of one kernel together
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    spared = {item for item in items if _is_spared(item)}
    items[:] = [item for item in items if item not in spared]
    usual = [item for item in items if item.get_closest_marker("rarely") is None]
    left = set() if config.getoption("whole") else set(items) - _chosen(usual) - _named(config, items)
    items[:] = [item for item in items if item not in left]
    if spared or left:
        config.hook.pytest_deselected(items=[*spared, *left])
    config.stash[LEFT] = len(left)
    # A file after the other, whose tests share kernels: as those that come first have compiled them.
    items.sort(key=lambda item: (str(item.path), not _is_optimised(item)))


def _is_optimised(item: pytest.Item) -> bool:
    kernels = _kernels_named(item)
    own = bool(kernels) and not _guests(item) and all(_is_cpu(spec) for spec, _ in kernels)
    return own or item.get_closest_marker("optimised") is not None


def _kernels_named(item: pytest.Item) -> list[tuple[str, str]]:
    """Return the devices and names of the kernels that a test is given."""
    params = item.callspec.params if hasattr(item, "callspec") else {}
    named = [params[name] for name in KERNELS.keys() & params.keys()]
    return [kernel for kernel in named if isinstance(kernel, tuple)]  # pytest gives a mark if no device has a kernel


def _guests(item: pytest.Item) -> set[str]:
    """Return the names of a test's kernels that are guests on their devices."""
    return {name for spec, name in _kernels_named(item) if _is_cpu(spec) and is_guest("cpu", name)}


def _is_cpu(spec: str) -> bool:
    found = find(spec)
    return not isinstance(found, str) and found.capabilities.kind == "cpu"


def _is_spared(item: pytest.Item) -> bool:
    names = _guests(item)
    spared = SPARED_WAITING if "lookback" in names else SPARED if names else frozenset()
    params = item.callspec.params.items() if spared else ()
    return any(str(value) in spared for name, value in params if name not in KERNELS)
