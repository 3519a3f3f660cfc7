"""Calls on few floats by NumPy and in C: the bits are those of the kernels whose order they follow."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from c_cases import PLAIN, functions_of, use
from kernel_cases import need
from tricky_data import tricky

import gpuprims
from gpuprims.core.by_numpy import ByNumPy, Few
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.program_cache import forget_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.expressions import expression, typed
from gpuprims.expressions.exact import prepared
from gpuprims.primitives.floats_by_numpy import FLOATS, folded_by_numpy, scanned_by_numpy
from gpuprims.primitives.map.by_numpy import _program

# On both sides of what is folded one by one, of four elements a lane, of a run and of several.
FEW, SIZES = (1, 5, 128), (129, 160, 255, 256, 257, 1000, 2047, 2048, 2049, 4096, 6177, 14_336, 32_768)
WHOLE = pytest.mark.whole
CALLS = [
    pytest.param("sum", "float32"),
    pytest.param("mean", "float64"),
    pytest.param("scan", "float32"),
    pytest.param("dot", "float32"),
    pytest.param("dot", "float64"),
    *[pytest.param(op, dtype, marks=WHOLE) for op, dtype in (("sum", "float64"), ("mean", "float32"))],
    *[pytest.param(op, dtype, marks=WHOLE) for op in ("prod",) for dtype in ("float32", "float64")],
    pytest.param("scan", "float64", marks=WHOLE),
]


@pytest.fixture(scope="module")
def module() -> Any:
    """The module in C."""
    return functions_of(FLOATS)


@pytest.fixture(scope="module", params=[(), (PLAIN,)], ids=["vectors", "plain"])
def maps(request: pytest.FixtureRequest) -> Any:
    """The module in C, with AVX2 and without."""
    return functions_of(FLOATS, *request.param)


@pytest.fixture
def host() -> gpuprims.Device:
    """A device whose launches wake threads."""
    for device in gpuprims.devices():
        if getattr(device.driver, "wakes_threads", None) and device.driver.shares_host_memory:
            return device
    pytest.skip("launches of the devices here take less time")


@pytest.fixture(params=["C", pytest.param("NumPy", marks=WHOLE)])
def computes(request: pytest.FixtureRequest, numpy_computes: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """What computes calls on few floats."""
    use(monkeypatch, FLOATS, request.getfixturevalue("module") if request.param == "C" else None)
    forget_calls()
    yield request.param
    forget_calls()


def call_of(name: str, device: gpuprims.Device) -> Any:
    if name == "dot":
        return lambda x, **how: gpuprims.reduce(x, x[::-1].copy(), map="x * y", device=device, **how)
    return partial(gpuprims.scan if name == "scan" else partial(gpuprims.reduce, op=name), device=device)


def same(found: Any, expected: Any) -> None:
    assert (type(found), found.dtype, found.shape) == (type(expected), expected.dtype, expected.shape)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize(("name", "dtype"), CALLS)
def test_floats_have_the_bits_of_the_kernel(
    host: gpuprims.Device, rng: np.random.Generator, computes: str, name: str, dtype: str
) -> None:
    need(host, "float64")
    if name == "dot" and computes == "NumPy":
        pytest.skip("a kernel computes it")
    call = call_of(name, host)
    for size in (*FEW, *SIZES) if computes == "C" else SIZES:
        x = (rng.standard_normal(size) * 10.0 ** rng.integers(-4, 4, size)).astype(dtype)
        given = [1 + x / 1e7 if name == "prod" else x, np.full(size, -0.0, dtype)]
        for one in given:
            expected = call(one, variant="cpu_chunks")
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(LaunchPlan, "compiled", lambda self: pytest.fail("a kernel was compiled"))
                for _ in range(3):
                    same(call(one), expected)


@pytest.mark.parametrize("name", ["sum", "scan"])
def test_floats_that_are_hard(host: gpuprims.Device, rng: np.random.Generator, computes: str, name: str) -> None:
    call = call_of(name, host)
    for x in tricky(rng, 3001, "float32").values():
        for one in (x, x[:1000], x[:900].reshape(30, 30)):
            same(call(one), call(one, variant="cpu_chunks"))


def test_axes_that_are_kept_and_another_dtype(
    host: gpuprims.Device, rng: np.random.Generator, numpy_computes: None
) -> None:
    x = rng.standard_normal((20, 30)).astype(np.float32)
    same(gpuprims.reduce(x, keepdims=True, device=host), gpuprims.reduce(x, device=host).reshape(1, 1))
    assert gpuprims.reduce(x, dtype="float64", device=host) == pytest.approx(x.sum(dtype=np.float64))


def test_numpy_follows_the_kernel_that_runs(
    host: gpuprims.Device, rng: np.random.Generator, numpy_computes: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, compute = rng.random(1000, dtype=np.float32), ByNumPy(lambda x: 0, Few(1, 1), "cpu_chunks")
    variants = {one.name: one for one in REGISTRY.variants("reduce", "opencl")}
    assert compute.follows(variants["cpu_chunks"], [x])
    assert not compute.follows(variants["cpu_chunks"].resized(items=512), [x])
    assert not compute.follows(variants["cpu_columns"], [x])
    monkeypatch.setattr(ByNumPy, "follows", lambda self, variant, arrays=(): self.variant is None)
    monkeypatch.setattr(ByNumPy, "compute", property(lambda self: pytest.fail("NumPy computes")))
    forget_calls()
    same(gpuprims.reduce(x, device=host), gpuprims.reduce(x, device=host, variant="cpu_chunks"))


def floats_of(rng: np.random.Generator, size: int, dtype: str) -> list[np.ndarray]:
    many = (rng.standard_normal(size) * 10.0 ** rng.integers(-4, 4, size)).astype(dtype)
    return [many, np.full(size, -0.0, dtype), 1 + (many / 1e7).astype(dtype)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_folds_and_scans_in_c_have_the_bits_of_those_by_numpy(
    module: Any, rng: np.random.Generator, dtype: str
) -> None:
    for size in (*SIZES, 100_003):
        for x in floats_of(rng, size, dtype):
            same(module.fold(x, False), folded_by_numpy(np.add, 0.0, x))
            same(module.fold(x, True), folded_by_numpy(np.multiply, 1.0, x))
            same(module.scan(x), scanned_by_numpy(x))


BLOCKS = (1, 7, 511, 512, 513, 1100)  # sizes on both sides of a block of maps.h
MAPS = ("2*x + 1", "x/4 - x*x", "-x", "sqrt(abs(x)) + x**2", "x - y/3", "y", "x + y*0.1 - (x - 3)/(y + 2)", "+x")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_maps_in_c_have_the_bits_of_those_by_numpy(maps: Any, rng: np.random.Generator, dtype: str) -> None:
    for text in MAPS:
        function = typed(expression(text), (np.dtype(dtype),) * (1 + ("y" in text)))
        program = _program(function, 1 + ("y" in text))
        assert (program is None) == (text == "y")  # a copy has no steps
        for size in BLOCKS:
            arrays = [one.reshape(1, -1) for one in floats_of(rng, size, dtype)[::2]][: 1 + ("y" in text)]
            if program is not None:
                same(maps.apply(*program, *arrays), prepared(function)(*arrays)[0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("text", ["x + y", "x - y/3", "maximum(x, y)", "minimum(x, y)", "minimum(maximum(x, y), 2)"])
def test_numbers_beside_arrays(maps: Any, rng: np.random.Generator, text: str, dtype: str) -> None:
    """Selections keep the second of two equal operands, as kernels do, so also the sign of its zero."""
    program = _program(typed(expression(text), (np.dtype(dtype),) * 2), 2)
    assert program is not None
    select = {"maximum": lambda a, b: np.where(a > b, a, b), "minimum": lambda a, b: np.where(a < b, a, b)}
    for size in BLOCKS:
        x = rng.integers(-2, 3, (1, size)).astype(dtype)
        x[x == 0] *= rng.choice([-1, 1], np.count_nonzero(x == 0))
        for number in (-0.0, 0.0, 1.0):
            y = np.array(number, dtype)
            expected = eval(text, {}, {"x": x, "y": y, **select})  # noqa: S307 - a text from above
            same(maps.apply(*program, x, y), expected.astype(dtype))
    assert maps.apply(*program, y, y).shape == ()


@pytest.mark.parametrize("text", ["x*x + y", "x < y", "exp(x)", "x + 1" + "*x + 1" * 30])
def test_maps_that_need_more_have_no_program(text: str) -> None:
    """Dtypes that differ, other operations, and more steps than there is room for."""
    dtypes = [np.dtype(np.float32), np.dtype(np.float64)]
    function = typed(expression(text), dtypes[: 1 + ("y" in text)])
    assert _program(function, 2) is None


def test_nan_and_arrays_that_do_not_fit_are_declined(maps: Any, rng: np.random.Generator) -> None:
    program = _program(typed(expression("2*x + 1"), (np.dtype(np.float32),)), 1)
    assert program is not None
    for size in (1, 31, 32, 33, 1000):
        x = rng.standard_normal(size).astype(np.float32)
        assert not maps.has_nan(x)
        x[-1] = np.nan
        assert maps.has_nan(x)
        assert maps.apply(*program, x) is NotImplemented
    for wrong in (np.zeros(4, np.int32), np.zeros((4, 4), np.float32).T, np.zeros(8, np.float64)[::2], 1.0):
        with pytest.raises(TypeError, match="a contiguous array of float32 or float64"):
            maps.fold(wrong, False)
    for other in (np.zeros(4, np.float32), np.zeros(3)):
        with pytest.raises(TypeError, match="of one dtype and of as many elements"):
            maps.dot(np.zeros(3, np.float32), other)
    with pytest.raises(TypeError, match="of one shape, of one dtype"):
        maps.apply(*program, np.zeros(3, np.float32), np.zeros(4, np.float32))
    with pytest.raises(ValueError, match="on values before it"):
        maps.apply(bytes([0, 9, 9]), b"", np.zeros(3, np.float32))


def test_calls_in_the_calling_thread_have_the_bits_of_the_kernel(
    device: gpuprims.Device,
    module: Any,
    rng: np.random.Generator,
    numpy_computes: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if getattr(device.driver, "wakes_threads", None) is not False:
        pytest.skip("launches wake threads")
    use(monkeypatch, FLOATS, module)
    for size in (129, 6177):
        x = floats_of(rng, size, "float32")[0]
        forget_calls()
        for name in ("sum", "scan"):
            same(call_of(name, device)(x), call_of(name, device)(x, variant="cpu_chunks"))
        same(gpuprims.map("3*x - 1", x, device=device), gpuprims.map("3*x - 1", x, device=device, variant="cpu_chunks"))
    forget_calls()
