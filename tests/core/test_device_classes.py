"""Classes of devices that nobody here owns: each computes a call, or refuses it in a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import device_page
import numpy as np
import pytest
from device_doubles import CLASSES, DeviceClass, Double, double_of, guard, in_use, of_class, runtimes
from device_matrix import ATOMICS, FLOAT64, WORKS, Work
from kernel_cases import as_it_stands
from kernel_text import DOUBLE_LITERAL, active_text

import gpuprims
from gpuprims.core import operands as arrays
from gpuprims.errors import GpuprimsError, NoVariantError

PAIRS = [(kind, work) for kind in CLASSES for work in WORKS]
NAMES = [f"{kind.name}-{work.name}".replace(" ", "_") for kind, work in PAIRS]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test each class with each work; by default each work with every sixth class, the next work with others."""
    if "pair" in metafunc.fixturenames:
        whole = metafunc.config.getoption("whole")
        chosen = {
            name: pair
            for name, pair in zip(NAMES, PAIRS, strict=True)
            if whole or (CLASSES.index(pair[0]) + WORKS.index(pair[1])) % 6 == 0
        }
        metafunc.parametrize("pair", list(chosen.values()), ids=list(chosen))


_SMALL = 4  # bytes of the widest dtype of a call that may have no doubles


@pytest.fixture(autouse=True)
def unoptimised(monkeypatch: pytest.MonkeyPatch) -> None:
    as_it_stands(monkeypatch)


# The devices that doubles are made of.
on_runtimes = pytest.mark.parametrize("device", runtimes(), indirect=True)


def double(device: gpuprims.Device, kind: DeviceClass) -> gpuprims.Device:
    """Return the double of a class on a real device, or skip if the device cannot act as it."""
    if kind.width and kind.width not in device.capabilities.subgroup_sizes:
        pytest.skip(f"{device.capabilities.name} has no sub-groups of {kind.width}")
    return of_class(device, kind)


def chosen_dtypes(work: Work, number: int, *, whole: bool) -> list[str]:
    """Return all dtypes, or one class's share of them."""
    return [name for k, name in enumerate(work.dtypes) if whole or k % len(CLASSES) == number]


@pytest.fixture
def dtypes(request: pytest.FixtureRequest) -> list[str]:
    kind, work = request.node.callspec.params["pair"]
    whole = bool(request.config.getoption("whole", default=False))
    return chosen_dtypes(work, CLASSES.index(kind), whole=whole)


@pytest.mark.whole
@on_runtimes
def test_each_class_computes_or_says_what_it_lacks(
    device: gpuprims.Device, pair: tuple[DeviceClass, Work], dtypes: list[str]
) -> None:
    kind, work = pair
    with in_use(double(device, kind)) as double_:
        for name in dtypes or work.dtypes[:1]:
            lacking = work.lacks(kind, name)
            if lacking is None:
                computes_without_doubles(double_, kind, work, name)
            else:
                refuses(double_, work, name, lacking)


def computes_without_doubles(double_: gpuprims.Device, kind: DeviceClass, work: Work, name: str) -> None:
    """Compare a call with NumPy, and check its kernels' texts for doubles."""
    driver = double_.driver
    assert isinstance(driver, Double)
    driver.texts.clear()
    work.run(double_, np.dtype(name), np.random.default_rng(20261122))
    if not work.float64(name) and np.dtype(name).itemsize <= _SMALL:
        for text in driver.texts:
            assert doubles_in(text) == set()


def doubles_in(text: str) -> set[str]:
    """Return the words about doubles in a kernel's text, as a device without float64 compiles it."""
    active = active_text(text, {"__OPENCL_VERSION__": "120", "__OPENCL_C_VERSION__": "120"})
    single = re.sub(r"GP_CONSTANT\([\d.]+\)", "1.0f", active)  # which where there are no doubles adds the f
    return set(re.findall(r"\w*(?:double|f64)\w*", single)) | set(DOUBLE_LITERAL.findall(single))


def refuses(double_: gpuprims.Device, work: Work, name: str, lacking: str) -> None:
    """Check a refusal: one sentence that names the device and what it lacks."""
    with pytest.raises(NoVariantError) as caught:
        work.run(double_, np.dtype(name), np.random.default_rng(20261122))
    sentence, _, table = str(caught.value).partition("\n")
    needed = f"needs ({lacking}|complex128)" if lacking == FLOAT64 else f"needs {lacking}"
    assert re.search(rf"got a refusal: {needed}.*{re.escape(double_.capabilities.name)}", sentence)
    assert "refused" in table


# The tests' own helpers


WRONG = {
    "double": (FLOAT64, "double one = 1; x[0] = one;"),
    "as_double": (FLOAT64, "x[0] = as_double((ulong)1) > 0;"),
    "atom_add": (ATOMICS, "__local ulong sum; atom_add(&sum, (ulong)1); x[0] = sum;"),
    "shuffles": ("shuffles", "x[0] = intel_sub_group_shuffle(x[0], 0u);"),
}


@on_runtimes
@pytest.mark.parametrize("name", WRONG)
def test_a_double_does_not_compile_what_its_device_lacks(device: gpuprims.Device, name: str) -> None:
    import pyopencl as cl

    able = double(device, CLASSES[0]).capabilities
    text = f"{guard(able)}\n__kernel void wrong(__global float *x) {{ {WRONG[name][1]} }}"
    with pytest.raises(cl.RuntimeError, match=r"(?s)BUILD_PROGRAM_FAILURE"):
        cl.Program(device.driver.context, text).build(["-cl-std=CL1.2", "-w"])


def test_inactive_text_is_left_out() -> None:
    text = """
#define WIDE 0
#define NUMBER double /* of which nothing is made */
#define OTHER(x) ((float)1.5 * x)
#if WIDE && defined(HAS_F64) // double
double a;
#elif !WIDE
float b = OTHER(2.5f);
#else
double c = 1.5;
#endif
"""
    assert doubles_in(text) == {"1.5"}
    assert doubles_in("#define HAS_F64\n" + text.replace("WIDE 0", "WIDE 1")) == {"double"}
    assert doubles_in("float a = 1.5f + 2.f + 1e3f + 3 + 0x1e5 + b.x;") == set()
    assert doubles_in("float a = 1.5; float b = 1e3; float c = .5;") == {"1.5", "1e3", ".5"}


# Arrays larger than a device allows


@pytest.fixture
def tiny(device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch) -> Iterator[gpuprims.Device]:
    """A double of 2 MiB that allows arrays of a quarter of it."""
    able = double(device, CLASSES[0]).capabilities
    monkeypatch.setattr(arrays, "_ALWAYS_ROOM", 0)
    with in_use(double_of(device, replace(able, memory=2 << 20, largest_allocation=512 << 10))) as small:
        yield small


@on_runtimes
def test_large_maps_and_folds_are_done_in_slabs(tiny: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.integers(-100, 100, (700, 701)).astype(np.float32)
    np.testing.assert_array_equal(gpuprims.map("x + 1", x, device=tiny), x + 1)
    np.testing.assert_array_equal(gpuprims.reduce(x, axis=0, device=tiny), x.sum(0))
    assert gpuprims.reduce(x, op="argmax", device=tiny) == x.argmax()


LARGE = {
    "segments": lambda x, where: gpuprims.scan(x, segments=[0, x.size], device=where),
    "array": lambda x, where: where.asarray(x),
    "result": lambda x, where: gpuprims.map("x * float32(1)", x[:200_000].astype(np.int8), device=where),
}


@on_runtimes
@pytest.mark.parametrize("name", LARGE)
def test_other_large_calls_say_how_much_the_device_allows(tiny: gpuprims.Device, name: str) -> None:
    message = r"arrays of 524,288 bytes at most, the device's limit; got one of [\d,]+ \(call on its parts\)"
    with pytest.raises(gpuprims.errors.DeviceMemoryError, match=message) as caught:
        LARGE[name](np.ones(250_000, np.float32), tiny)
    assert isinstance(caught.value, GpuprimsError)
    assert caught.value.wanted > 512 << 10


@on_runtimes
def test_an_array_of_exactly_the_limit_is_allowed(tiny: gpuprims.Device) -> None:
    x = tiny.asarray(np.arange(128 << 10, dtype=np.float32))
    assert x.base_data.size == 512 << 10  # pyopencl's pool would ask for a sixteenth more
    assert tiny.asarray(np.zeros(100, np.uint8)).base_data.size >= 100


@on_runtimes
def test_host_arrays_that_a_cpu_does_not_take_whole_are_done_in_slabs(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "_ALWAYS_ROOM", 0)
    x = rng.integers(-100, 100, (500, 501)).astype(np.float32)
    with in_use(double_of(device, replace(device.capabilities, largest_allocation=256 << 10))) as small:
        assert gpuprims.reduce(x, device=small) == x.sum()
        np.testing.assert_array_equal(gpuprims.map("x * 3", x, device=small), x * 3)
        np.testing.assert_array_equal(gpuprims.cumsum(x.ravel(), device=small), x.cumsum())
        np.testing.assert_array_equal(gpuprims.cumsum(x, axis=0, device=small), x.cumsum(axis=0))
        np.testing.assert_array_equal(gpuprims.compact(x, "x > 0", device=small), x[x > 0])
        summed = gpuprims.stencil(x, [[1], [1], [1]], mode="wrap", device=small)
        np.testing.assert_array_equal(summed, x + np.roll(x, 1, 0) + np.roll(x, -1, 0))


# Local memory at its limit


@on_runtimes
@pytest.mark.parametrize("op", ["reduce", "scan"])
def test_values_that_fill_local_memory_are_computed_or_refused(device: gpuprims.Device, op: str) -> None:
    """A double raises where a kernel declares more local memory than its rule counted."""
    with in_use(double(device, CLASSES[0])) as double_:
        for count, kinds in ((16, "i8"), (15, "i8"), (16, "i1 i8"), (11, "i8 i1"), (7, "i8 i1")):
            columns = [np.arange(300).astype(kinds.split()[k % len(kinds.split())]) for k in range(count)]
            many = gpuprims.Op(lambda p, q: tuple(a + b for a, b in zip(p, q, strict=True)), identity=(0,) * count)
            try:
                got = getattr(gpuprims, op)(*columns, op=many, device=double_)
            except NoVariantError as error:
                assert "bytes of local memory" in str(error).partition("\n")[0]  # noqa: PT017 - either is right
            else:
                for column, result in zip(columns, got, strict=True):
                    last = np.ravel(result)[-1]
                    assert last == column.sum(dtype=last.dtype)


# The page


def test_the_page_is_the_table() -> None:
    page = Path(__file__).parents[2] / "docs" / "devices.md"
    assert page.read_text() == device_page.page(), "python tests/device_page.py writes it anew"
