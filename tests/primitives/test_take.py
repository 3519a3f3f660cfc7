"""take: the elements that indices name, by every variant, against numpy.take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import (
    COMPLEX,
    DTYPES,
    INTEGERS,
    Kernel,
    assert_equal,
    need,
    on_device,
    on_host,
    poison,
    random_values,
)
from tricky_data import tricky

import gpuprims
from gpuprims.errors import (
    ArgumentError,
    AxisError,
    DeviceMismatchError,
    DtypeError,
    IndicesError,
    ShapeError,
    UnknownKeywordError,
)
from gpuprims.primitives.grouping.indices import scatter

MODES = ("raise", "wrap", "clip")


def take(kernel: Kernel, *arguments: Any, **keywords: Any) -> Any:
    return gpuprims.take(*arguments, device=kernel.device, variant=kernel.variant.name, **keywords)


def indices_of(rng: np.random.Generator, length: int, shape: Any, mode: str = "raise") -> np.ndarray:
    """Return indices within an axis, or for other modes than to raise also far outside."""
    reach = length if mode == "raise" else 5 * length + 3
    return rng.integers(-reach, reach, shape)


@pytest.mark.optimised
@pytest.mark.parametrize("mode", MODES)
def test_every_size_around_tiles(take_kernel: Kernel, rng: np.random.Generator, mode: Any) -> None:
    x = random_values(rng, np.float32, 1001)
    for size in [0, 3, *take_kernel.boundary_sizes]:
        poison(take_kernel.device) if size < 5 else None
        indices = indices_of(rng, 1001, size, mode)
        expected = np.take(x, indices, mode=mode)
        assert_equal(take(take_kernel, x, indices, mode=mode), expected)
        resident = [on_device(take_kernel.device, array) for array in (x, indices.astype(np.int32))]
        for _ in range(2):  # the second call does not wait for the check
            got = take(take_kernel, *resident, mode=mode)
            assert_equal(on_host(take_kernel.device, got), expected)


@pytest.mark.parametrize("dtype", [*DTYPES, *COMPLEX])
def test_every_dtype_of_elements_keeps_its_bits(take_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    take_kernel.need(dtype)
    for length in (1, 6, 300):
        x, indices = random_values(rng, dtype, (length, 8)), indices_of(rng, length, 700)
        x.flat[0] = np.nan if x.dtype.kind in "fc" else 0
        for axis in (None, 0):
            expected = np.take(x, indices, axis)
            got = take(take_kernel, x, indices, axis)
            assert_equal(got, expected)
            assert got.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ["bool", *INTEGERS])
def test_every_dtype_of_indices(take_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    x, indices = random_values(rng, np.int32, 100), random_values(rng, dtype, 500)
    given = indices.astype(np.int64) if dtype != "uint64" else indices
    assert_equal(take(take_kernel, x, indices, mode="wrap"), x[(given % given.dtype.type(100)).astype(np.int64)])
    assert_equal(take(take_kernel, x, indices, mode="clip"), x[given.clip(0, 99).astype(np.int64)])
    near = indices if dtype == "bool" else indices % np.dtype(dtype).type(100)
    assert_equal(take(take_kernel, x, near), np.take(x, near.astype(np.int64)))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_an_axis_longer_than_the_dtype_of_indices_counts(mode: Any, dtype: str) -> None:
    x, indices = np.arange(341), np.array([3, 100, -2 if dtype == "int8" else 250]).astype(dtype)
    assert_equal(gpuprims.take(x, indices, mode=mode, device="reference"), np.take(x, indices, mode=mode))


def test_elements_and_indices_that_are_hard(take_kernel: Kernel, rng: np.random.Generator) -> None:
    elements = tricky(rng, 9001).values()
    for indices in tricky(rng, 20_001, "int32").values():
        near = indices % 9001  # NumPy's mode="wrap" adds the length again and again
        for x in elements:
            assert take(take_kernel, x, indices, mode="wrap").tobytes() == x[near].tobytes()
            assert take(take_kernel, x, near).tobytes() == x[near].tobytes()


@pytest.mark.parametrize("shape", [(), (1,), (5, 7), (2, 0), (3, 1, 4)])
def test_every_axis_and_shape_of_indices(take_kernel: Kernel, rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    whole = random_values(rng, np.int16, (12, 10, 18))
    for x in (
        whole,
        whole[::2, ::-1, 1::3],
        whole.transpose(2, 0, 1),
        whole[:, :, :1],
        np.broadcast_to(whole[0], whole.shape),
    ):
        for axis in (None, 0, 1, 2, -1, np.int64(-3)):
            indices = indices_of(rng, x.size if axis is None else x.shape[axis], shape)
            assert_equal(take(take_kernel, x, indices, axis), np.take(x, indices, axis))


def test_long_rows(take_kernel: Kernel, rng: np.random.Generator) -> None:
    for width in (1, 3, 64, 65, 5000):
        x, indices = random_values(rng, np.float32, (40, width)), indices_of(rng, 40, 90)
        assert_equal(take(take_kernel, x, indices[::-2], 0), np.take(x, indices[::-2], 0))
        assert_equal(take(take_kernel, x.T, indices, 1), np.take(x.T, indices, 1))


def test_arrays_of_a_device_wherever_they_lie(take_kernel: Kernel, rng: np.random.Generator) -> None:
    device, x = take_kernel.device, random_values(rng, np.uint8, (60, 70))
    resident, indices = on_device(device, x), indices_of(rng, 30, (8, 9))
    for cut in ((slice(1, None, 2), slice(3, None)), (slice(30), slice(None, None, -1))):
        for axis in (None, 0):
            got = take(take_kernel, resident[cut], on_device(device, indices).T, axis)
            assert type(got) is type(resident)
            assert_equal(on_host(device, got), np.take(x[cut], indices.T, axis))


def test_indices_of_the_host_beside_an_array_of_a_device(take_kernel: Kernel) -> None:
    device, x = take_kernel.device, np.arange(10.0, dtype=np.float32)
    for indices in (3, [1, -1], np.array([[2]]), []):
        got = take(take_kernel, on_device(device, x), indices)
        assert_equal(on_host(device, got), np.take(x, indices))


def test_out(take_kernel: Kernel, rng: np.random.Generator) -> None:
    device, x, indices = take_kernel.device, random_values(rng, np.int64, (50, 6)), indices_of(rng, 50, 333)
    for make in (np.array, lambda array: on_device(device, array)):
        for _ in range(2):
            out = make(np.zeros((333, 6), np.int64))
            given = make(x), make(indices)
            assert take(take_kernel, *given, 0, out) is out
            assert_equal(out if isinstance(out, np.ndarray) else on_host(device, out), np.take(x, indices, 0))
    strided = np.zeros((333, 12), np.int64)[:, ::2]
    take(take_kernel, x, indices, 0, strided)
    assert_equal(strided, np.take(x, indices, 0))
    with pytest.raises(ShapeError, match=r"out= of the result's shape, \(333, 6\); got \(3, 6\)"):
        take(take_kernel, x, indices, 0, np.zeros((3, 6), np.int64))
    with pytest.raises(DtypeError, match="out= of the result's dtype, int64; got float64"):
        take(take_kernel, x, indices, 0, np.zeros((333, 6)))


@pytest.mark.parametrize("wrong", [10, -11, 2**40])
def test_the_first_index_outside_is_told(take_kernel: Kernel, wrong: int) -> None:
    device, x = take_kernel.device, np.arange(10, dtype=np.int32)
    for size, place in ((1, 0), (5000, 4321), (100_003, 77)):
        indices = np.zeros(size, np.int64)
        indices[[place, -1]] = wrong
        for make in (np.array, lambda array: on_device(device, array)):
            for _ in range(2):
                with pytest.raises(
                    IndexError, match=rf"take: indices from -10 to 9; got indices\[{place}\] = {wrong} "
                ):
                    take(take_kernel, make(x), make(indices))
            indices[[place, -1]] = 3
            assert_equal(
                on_host(device, take(take_kernel, on_device(device, x), on_device(device, indices))), x[indices]
            )
            indices[[place, -1]] = wrong


def test_an_index_outside_raises_where_it_is_not_read() -> None:
    for x, indices, axis in (((3, 0), [5], 0), ((0, 3), [0], 0), ((3, 0), [0], 1), ((0,), [1], None)):
        for mode in ("raise",) if axis == 0 and x[0] else MODES:
            with pytest.raises(IndicesError, match=r"take: (indices from -3 to 2|no indices into an axis of length 0)"):
                gpuprims.take(np.zeros(x), indices, axis, mode=mode, device="reference")
    assert gpuprims.take(np.zeros((0, 3)), np.zeros(0, int), 0, device="reference").shape == (0, 3)


def test_indices_that_become_wrong_in_place_raise_later(device: gpuprims.Device) -> None:
    if device.backend == "reference":
        pytest.skip("its arrays are host arrays, which each call checks")
    x, indices = on_device(device, np.arange(9)), on_device(device, np.zeros(5, np.int64))
    zeros = on_device(device, np.zeros(5, np.int64))
    gpuprims.map("x + 99", zeros)  # compiled here: a kernel that is compiled between two calls may make them check anew
    gpuprims.take(x, indices)
    gpuprims.map("x + 99", zeros, out=indices)
    gpuprims.take(x, indices)
    with pytest.raises(IndicesError, match="got an array that was right in one call, and wrong in a later one"):
        device.synchronize()
    with pytest.raises(IndicesError, match=r"got indices\[0\] = 99"):
        gpuprims.take(x, indices)


def test_a_plan(take_kernel: Kernel, rng: np.random.Generator) -> None:
    x, indices = random_values(rng, np.float32, 100), indices_of(rng, 100, 300)
    plan = gpuprims.plan("take", x, indices, mode="raise", device=take_kernel.device, variant=take_kernel.variant.name)
    assert_equal(plan(x[::-1].copy(), indices), x[::-1][indices])
    with pytest.raises(IndicesError, match="take: indices from -100 to 99"):
        plan(x, indices + 200)


@pytest.mark.parametrize("dtype", ["bool", "float16", "float32", "complex64", "int64"])
def test_scatter_undoes_take(device: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    for size in (0, 1, 2, 1000, 20_011):
        x, indices = random_values(rng, dtype, size), rng.permutation(size).astype(np.int32)
        expected = np.empty_like(x)
        expected[indices] = x
        for step in (1, -1):
            into = on_device(device, np.zeros_like(x))
            got = scatter(on_device(device, x[::step]), on_device(device, indices[::step]), into, device)
            assert_equal(on_host(device, got), expected)


@pytest.mark.parametrize("number", [True, 300, 2.5, 1j])
def test_a_number_keeps_its_dtype_beside_narrow_indices(device: gpuprims.Device, number: complex) -> None:
    need(device, np.asarray(number).dtype)
    assert_equal(gpuprims.take(number, np.uint8([0, 0]), device=device), np.take(number, np.uint8([0, 0])))


def test_wrong_arguments_are_refused() -> None:
    x = np.zeros((3, 4))
    with pytest.raises(DtypeError, match="take: integer indices; got dtype float64"):
        gpuprims.take(x, [0.5], device="reference")
    with pytest.raises(AxisError, match=r"axis: from -2 to 1 for 2 dimension\(s\); got 2"):
        gpuprims.take(x, [0], 2, device="reference")
    with pytest.raises(AxisError, match="axis: an int or None; got True"):
        gpuprims.take(x, [0], True, device="reference")
    with pytest.raises(
        ArgumentError, match=r"take: mode= among 'raise', 'wrap', 'clip'; got 'wrp' \(did you mean 'wrap'"
    ):
        gpuprims.take(x, [0], mode="wrp", device="reference")
    with pytest.raises(UnknownKeywordError, match=r"take: keywords among .*; got axes.*did you mean 'axis'"):
        gpuprims.take(x, [0], axes=1, device="reference")


def test_arrays_of_two_places_are_refused(device: gpuprims.Device) -> None:
    if device.backend == "reference":
        pytest.skip("its arrays are host arrays")
    with pytest.raises(DeviceMismatchError, match="take: arrays on one device"):
        gpuprims.take(np.zeros(3), on_device(device, np.zeros(3, np.int64)))
