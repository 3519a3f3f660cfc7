"""Same type in, same type out: NumPy, CuPy, pyopencl, and any DLPack producer."""

from __future__ import annotations

import gc
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from kernel_cases import AFFINE, affine_fold, assert_equal, need, on_device, on_host, poison, random_values

import gpuprims
from gpuprims.core import operands
from gpuprims.errors import ArgumentError, ArrayError, BackendUnavailableError, DeviceMismatchError, DtypeError

pytestmark = pytest.mark.usefixtures("either_computes")


def test_results_of_numpy_calls_are_plain_arrays(device: gpuprims.Device) -> None:
    x = np.arange(1000, dtype=np.float32).reshape(10, 100)
    for result in (gpuprims.map("x + 1", x, device=device), gpuprims.reduce(x, axis=0, device=device)):
        assert type(result) is np.ndarray
        assert result.flags.writeable
        assert result.flags.aligned


def test_results_stay_as_they_are_when_later_calls_run(device: gpuprims.Device, rng: np.random.Generator) -> None:
    arrays = [random_values(rng, np.float32, (20, 500)) for _ in range(30)]
    mapped = [gpuprims.map("2*x + 1", array, device=device) for array in arrays]
    reduced = [gpuprims.reduce(array, op="max", axis=0, device=device) for array in arrays]
    poison(device)
    gc.collect()
    poison(device)
    for array, one, other in zip(arrays, mapped, reduced, strict=True):
        assert_equal(one, 2 * array + 1)
        assert_equal(other, np.max(array, axis=0))


def test_results_outlive_the_arrays_they_came_from(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float32, 300_000)
    expected = x + 1
    result = gpuprims.map("x + 1", x, device=device)
    del x
    gc.collect()
    poison(device)
    assert_equal(result, expected)


def test_results_share_no_memory_with_arguments_or_each_other(device: gpuprims.Device) -> None:
    x = np.arange(5000, dtype=np.int32)
    first, second = gpuprims.map("(x, x)", x, device=device)
    third = gpuprims.reduce(x, axis=(), device=device)
    first[:] = -1
    third[:] = -2
    assert_equal(x, np.arange(5000, dtype=np.int32))
    assert_equal(second, np.arange(5000, dtype=np.int32))


def test_a_call_on_host_arrays_is_over_when_it_returns(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = random_values(rng, np.int32, 1_000_000)
    expected = x * 3
    result, total = gpuprims.map("x*3", x, device=device), gpuprims.reduce(x, map="x*3", device=device)
    x[:] = 0
    assert_equal(result, expected)
    assert_equal(total, np.sum(expected))


def test_changes_between_calls_are_seen(device: gpuprims.Device) -> None:
    x = np.zeros(1000, np.int32)
    for step in range(5):
        x[step] = 1
        assert gpuprims.reduce(x, device=device) == step + 1
        assert_equal(gpuprims.map("x + 1", x, device=device), x + 1)


@pytest.mark.parametrize("room", [None, 2000])
def test_elements_that_lie_far_apart_are_read_where_there_is_room(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, room: int | None
) -> None:
    whole = random_values(rng, np.float32, (300, 900))
    if room:
        monkeypatch.setattr(operands, "_ALWAYS_ROOM", 0)
        monkeypatch.setattr(type(device.driver), "room", room)
    for x in (whole[:, 7], whole[::3, ::-50], whole[:100, 897:].T):
        (native,) = operands.as_operands("map", (x,), device).natives
        assert np.shares_memory(native, x) == (device.driver.shares_host_memory and room is None)
        assert_equal(gpuprims.reduce(x, op="max", axis=0, device=device), x.max(axis=0))


def test_subclasses_of_ndarray_are_read(device: gpuprims.Device) -> None:
    assert gpuprims.reduce(np.arange(6).view(np.recarray), device=device) == 15


# The device's own arrays -------------------------------------------------------------------------------------------


@pytest.fixture
def accelerator(device: gpuprims.Device) -> gpuprims.Device:
    if device.backend == "reference":
        pytest.skip("the reference device has no arrays of its own")
    return device


def test_device_arrays_give_device_arrays(accelerator: gpuprims.Device, rng: np.random.Generator) -> None:
    x, y = random_values(rng, np.float32, (40, 300)), random_values(rng, np.float32, 300)
    xd, yd = on_device(accelerator, x), on_device(accelerator, y)
    mapped, above = gpuprims.map(lambda x, y: (x - y, x > y), xd, yd)
    total = gpuprims.reduce(xd, op="max")
    places = gpuprims.reduce(xd, op="argmax", axis=1, keepdims=True)
    assert {type(array) for array in (mapped, above, total, places)} == {type(xd)}
    assert_equal(on_host(accelerator, mapped), x - y)
    assert_equal(on_host(accelerator, above), x > y)
    assert_equal(on_host(accelerator, total), np.max(x))
    assert_equal(on_host(accelerator, places), np.argmax(x, axis=1, keepdims=True))
    assert total.shape == ()


def test_results_on_the_device_are_operands_again(accelerator: gpuprims.Device, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float32, 5000)
    centred = gpuprims.map("x - y", xd := on_device(accelerator, x), gpuprims.reduce(xd, op="min"))
    assert_equal(on_host(accelerator, centred), x - x.min())


def test_tuples_of_device_arrays(accelerator: gpuprims.Device, rng: np.random.Generator) -> None:
    a, b = (random_values(rng, np.int64, 70_000) for _ in range(2))
    folded = gpuprims.reduce(on_device(accelerator, a), on_device(accelerator, b), op=AFFINE)
    for got, expected in zip(folded, affine_fold(a, b), strict=True):
        assert_equal(on_host(accelerator, got), expected)


def test_a_number_beside_a_device_array_works(accelerator: gpuprims.Device) -> None:
    x = np.arange(10, dtype=np.float32)
    for number in (3, 2.5, True, np.float32(4), np.array(5, np.float32)):
        got = gpuprims.map("x * y", on_device(accelerator, x), number)
        assert_equal(on_host(accelerator, got), x * number)


def test_a_host_array_beside_a_device_array_raises(accelerator: gpuprims.Device) -> None:
    x = np.arange(10, dtype=np.float32)
    for pair in ((on_device(accelerator, x), x), (x, on_device(accelerator, x)), (on_device(accelerator, x), [1.0])):
        with pytest.raises(DeviceMismatchError, match="host array"):
            gpuprims.map("x + y", *pair)
        with pytest.raises(DeviceMismatchError, match="host array"):
            gpuprims.reduce(*pair, map="x * y")


def test_a_device_array_is_not_moved_to_the_device_asked_for(accelerator: gpuprims.Device) -> None:
    with pytest.raises(DeviceMismatchError, match="reference"):
        gpuprims.reduce(on_device(accelerator, np.arange(3)), device="reference")


def test_device_arrays_of_every_layout_are_read(accelerator: gpuprims.Device, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float32, (60, 70))
    resident = on_device(accelerator, x)
    for cut in (np.s_[10:], np.s_[:, 5:], np.s_[::2, ::3], np.s_[3], np.s_[7:8, ::5]):
        got = gpuprims.map("x + 1", resident[cut])
        assert_equal(on_host(accelerator, got), x[cut] + 1)
        assert_equal(on_host(accelerator, gpuprims.reduce(resident[cut], op="argmin")), np.argmin(x[cut]))
    assert_equal(on_host(accelerator, gpuprims.reduce(resident.T, op="max", axis=0)), np.max(x, axis=1))


def test_an_empty_device_array_folds_to_the_identity(accelerator: gpuprims.Device) -> None:
    empty = on_device(accelerator, np.ones((4, 3), np.float32))[:0]
    assert_equal(on_host(accelerator, gpuprims.reduce(empty, axis=0)), np.zeros(3, np.float32))


# pyopencl ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def opencl(device: gpuprims.Device) -> SimpleNamespace:
    """pyopencl, with a context and a queue of the user's own on the device."""
    if device.backend != "opencl":
        pytest.skip("is about OpenCL devices")
    import pyopencl
    import pyopencl.array

    context = pyopencl.Context([device.driver.queue.device])
    queue = pyopencl.CommandQueue(context)
    return SimpleNamespace(cl=pyopencl, array=pyopencl.array, context=context, queue=queue)


def test_arrays_of_the_users_own_queue_stay_on_it(opencl: SimpleNamespace, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float32, (30, 400))
    mine = opencl.array.to_device(opencl.queue, x)
    mapped, most = gpuprims.map("2*x", mine), gpuprims.reduce(mine, op="max", axis=1)
    assert type(mapped) is opencl.array.Array
    assert mapped.queue == most.queue == opencl.queue
    assert_equal(mapped.get(), 2 * x)
    assert_equal(most.get(), np.max(x, axis=1))


def test_strided_and_offset_pyopencl_arrays_are_read(opencl: SimpleNamespace, rng: np.random.Generator) -> None:
    x = random_values(rng, np.int32, 5000)
    mine = opencl.array.to_device(opencl.queue, x)
    assert mine[17:].offset == 17 * 4
    assert_equal(gpuprims.map("x + 1", mine[17:]).get(), x[17:] + 1)
    assert_equal(gpuprims.map("x - y", mine[1:], mine[:-1]).get(), x[1:] - x[:-1])
    assert_equal(gpuprims.reduce(mine[3:4000:7]).get(), np.sum(x[3:4000:7]))
    square = mine[8:4908].reshape(70, 70)
    assert_equal(gpuprims.reduce(square.T, op="max", axis=0).get(), x[8:4908].reshape(70, 70).max(axis=1))


def test_arrays_of_two_contexts_raise(opencl: SimpleNamespace, device: gpuprims.Device) -> None:
    mine = opencl.array.to_device(opencl.queue, np.arange(5))
    with pytest.raises(DeviceMismatchError, match="got arrays on"):
        gpuprims.map("x + y", mine, on_device(device, np.arange(5)))


def test_a_pyopencl_array_without_a_queue_is_refused_in_a_sentence(opencl: SimpleNamespace) -> None:
    loose = opencl.array.to_device(opencl.queue, np.arange(5)).with_queue(None)
    with pytest.raises(gpuprims.errors.GpuprimsError, match="queue"):
        gpuprims.reduce(loose)


# CuPy --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def cupy() -> Any:
    try:
        gpuprims.Device("cuda")
    except BackendUnavailableError as error:
        pytest.skip(str(error))
    return pytest.importorskip("cupy", reason="CuPy is not installed")


def test_cupy_arrays_stay_on_their_stream(cupy: Any, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float32, 1_000_000)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        resident = cupy.asarray(x)
        for _ in range(20):
            resident = resident + 1
            resident = gpuprims.map("x - 1", resident)
        total = gpuprims.reduce(resident, op="max")
        assert_equal(total.get(stream=stream), cupy.asnumpy(resident).max())


def test_cupy_arrays_of_every_order_are_read(cupy: Any, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float32, (50, 60, 7))
    resident = cupy.asarray(x)
    for view, same in ((resident[::-1, ::2], x[::-1, ::2]), (resident.transpose(2, 0, 1), x.transpose(2, 0, 1))):
        assert_equal(gpuprims.map("x + 1", view).get(), same + 1)
        assert_equal(gpuprims.reduce(view, op="argmax", axis=1).get(), np.argmax(same, axis=1))


# DLPack ------------------------------------------------------------------------------------------------------------


class Wrapped:
    """An array of a library that gpuprims has never heard of."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __array_namespace__(self) -> SimpleNamespace:
        return SimpleNamespace(from_dlpack=lambda other: Wrapped(np.from_dlpack(other)))

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.array.__dlpack__(**keywords)


class BeforeOne(Wrapped):
    """A producer of DLPack before 1.0, which cannot say that its memory may be written."""

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.array.__dlpack__()


class WithArray(BeforeOne):
    """One that says so to NumPy itself, as torch does."""

    def __array__(self, *dtype: Any, **keywords: Any) -> np.ndarray:
        return self.array


class Narrowing(Wrapped):
    """An array of a library that has no 64-bit dtypes, as JAX by default."""

    def __array_namespace__(self) -> SimpleNamespace:
        return SimpleNamespace(from_dlpack=lambda other: np.from_dlpack(other).astype(np.int32))


class Negated(Wrapped):
    """An array whose signs are left for later, as torch does."""

    def resolve_neg(self) -> Wrapped:
        return Wrapped(-self.array)

    def is_neg(self) -> bool:
        return True


class OfNoDtype(Wrapped):
    """An array of a dtype that NumPy does not have."""

    dtype = "float4_e2m1fn"

    def __dlpack__(self, **keywords: Any) -> Any:
        raise BufferError("not to be shared")


class ReadOnlyFromElsewhere(Wrapped):
    """A producer whose library cannot read DLPack."""

    def __array_namespace__(self) -> SimpleNamespace:
        return SimpleNamespace()


class OnAnotherMachine(Wrapped):
    """A producer in memory that no backend can reach: ROCm's."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return 10, 0


def test_any_dlpack_producer_gets_its_own_type_back(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float32, (30, 40))
    mapped = gpuprims.map("x - y", Wrapped(x), x[0], device=device)
    most = gpuprims.reduce(Wrapped(x), op="max", axis=1, device=device)
    total = gpuprims.reduce(Wrapped(x), op="min", device=device)
    assert [type(result) for result in (mapped, most, total)] == [Wrapped] * 3
    assert_equal(mapped.array, x - x[0])
    assert_equal(most.array, np.max(x, axis=1))
    assert_equal(total.array, np.min(x))


def test_every_dtype_of_dlpack_goes_there_and_back(device: gpuprims.Device) -> None:
    for dtype in ("bool", "int8", "uint16", "int64", "float16", "float32"):
        x = np.array([0, 1, 1, 0], dtype)
        assert_equal(gpuprims.map("where(x > 0, x, x)", Wrapped(x), device=device).array, x)


def test_strided_dlpack_arrays_are_read(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = random_values(rng, np.int32, (30, 40))[::3, ::-2]
    assert_equal(gpuprims.map("x + 1", Wrapped(x), device=device).array, x + 1)


@pytest.mark.parametrize("kind", [Wrapped, WithArray])
def test_a_producers_memory_is_written(device: gpuprims.Device, kind: type[Wrapped]) -> None:
    out = kind(np.zeros((3, 4), np.float32))
    assert gpuprims.map("x + 1", np.ones((3, 4), np.float32), out=out, device=device) is out
    assert_equal(out.array, np.full((3, 4), np.float32(2)))


def test_a_producers_memory_is_written_only_where_somebody_says_that_it_may(device: gpuprims.Device) -> None:
    fixed = np.zeros(3, np.float32)
    fixed.flags.writeable = False
    for out in (BeforeOne(np.zeros(3, np.float32)), Wrapped(fixed)):
        with pytest.raises(ArgumentError, match="out= an array that can be written"):
            gpuprims.map("x + 1", np.ones(3, np.float32), out=out, device=device)
    assert_equal(fixed, np.zeros(3, np.float32))


def test_a_library_that_cannot_keep_the_dtype_is_refused(device: gpuprims.Device) -> None:
    x = Narrowing(np.full(3, 2**30, np.int32))
    with pytest.raises(DtypeError, match="reduce: a library that keeps a result of int64; got one that makes it int32"):
        gpuprims.reduce(x, device=device)
    assert gpuprims.reduce(x, op="max", device=device) == 2**30
    assert gpuprims.plan("reduce", x, device=device).item(x) == 3 * 2**30


def test_signs_that_were_left_for_later_are_read(device: gpuprims.Device) -> None:
    assert gpuprims.reduce(Negated(np.arange(4)), device=device).array == -6
    with pytest.raises(ArgumentError, match="lazily conjugated or negated"):
        gpuprims.map("x + 1", np.arange(4), out=Negated(np.arange(4)), device=device)


def test_what_dlpack_cannot_share_is_refused_in_a_sentence(device: gpuprims.Device) -> None:
    with pytest.raises(DtypeError, match=r"reduce: an array of numbers .*; got dtype float4_e2m1fn \(convert it first"):
        gpuprims.reduce(OfNoDtype(np.arange(3)), device=device)
    odd = OfNoDtype(np.arange(3))
    odd.dtype = "mine.int64"
    with pytest.raises(ArrayError, match=r"reduce: a dense array, .*\('not to be shared'\) \(make a dense copy\)"):
        gpuprims.reduce(odd, device=device)


def test_a_producer_whose_library_reads_no_dlpack_is_refused(device: gpuprims.Device) -> None:
    with pytest.raises(ArrayError, match="from_dlpack"):
        gpuprims.map("x + 1", ReadOnlyFromElsewhere(np.arange(3)), device=device)


def test_a_producer_on_an_unknown_kind_of_device_is_refused(device: gpuprims.Device) -> None:
    with pytest.raises(ArrayError, match="device type 10"):
        gpuprims.map("x + 1", OnAnotherMachine(np.arange(3)), device=device)


def test_numbers_beside_arrays_on_a_device_are_told_apart(device: gpuprims.Device, rng: np.random.Generator) -> None:
    need(device, "float64")
    x = random_values(rng, np.float32, 50)
    numbers = (2, 2.0, True, 0.0, -0.0, np.nan, np.float32(2), np.float64(2), np.array(2.0), np.int32(2))
    there = device.asarray(x)
    for number in (*numbers, *numbers):
        with np.errstate(divide="ignore", invalid="ignore"):
            expected = np.float32(1) / (x * number)
        assert_equal(device.to_host(gpuprims.map("float32(1) / (x * s)", there, number)), expected)
