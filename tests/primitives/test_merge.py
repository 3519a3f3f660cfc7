"""merge: two sorted arrays as one, by every variant, against a stable sort of both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import COMPLEX, DTYPES, Kernel, assert_equal, on_device, on_host, poison
from sorted_cases import in_order
from tricky_data import tricky

import gpuprims
from gpuprims.core.by_numpy import Switch
from gpuprims.core.program_cache import forget_calls
from gpuprims.errors import ArgumentError, ShapeError, UnknownKeywordError


def merge(kernel: Kernel, *arguments: Any, **keywords: Any) -> Any:
    return gpuprims.merge(*arguments, device=kernel.device, variant=kernel.variant.name, **keywords)


def merged(a: np.ndarray, b: np.ndarray, *, descending: bool = False) -> np.ndarray:
    step = -1 if descending else 1
    return np.sort(np.concatenate([a, b])[::step], kind="stable")[::step]


@pytest.mark.optimised
def test_every_size_around_tiles(merge_kernel: Kernel, rng: np.random.Generator) -> None:
    for size in [0, 3, *merge_kernel.boundary_sizes]:
        poison(merge_kernel.device) if size < 5 else None
        for first in sorted({0, 1, size // 3, size - 1, size} - {-1}):
            if first > size:
                continue
            a, b = in_order(rng, np.float32, first), in_order(rng, np.float32, size - first)
            expected = merged(a, b)
            got = merge(merge_kernel, a, b)
            assert_equal(got, expected)
            assert got.tobytes() == expected.tobytes()  # -0.0 and 0.0 stay in their order


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", [*DTYPES, *COMPLEX])
def test_every_dtype(merge_kernel: Kernel, rng: np.random.Generator, dtype: str, *, descending: bool) -> None:
    merge_kernel.need(dtype)
    a, b = in_order(rng, dtype, 4001), in_order(rng, dtype, 2777)
    if descending:
        a, b = a[::-1], b[::-1]
    assert_equal(merge(merge_kernel, a, b, descending=descending, check=True), merged(a, b, descending=descending))


@pytest.mark.parametrize("dtypes", [("i8", "u8"), ("f2", "i1"), ("c8", "f8"), ("?", "i2"), ("f4", "f2")])
def test_two_dtypes_become_one(merge_kernel: Kernel, rng: np.random.Generator, dtypes: tuple[str, str]) -> None:
    merge_kernel.need(np.result_type(*dtypes))
    a, b = in_order(rng, dtypes[0], 501), in_order(rng, dtypes[1], 3001)
    assert_equal(merge(merge_kernel, a, b), merged(a, b))
    assert_equal(merge(merge_kernel, b, a), merged(b, a))


def test_arrays_apart(merge_kernel: Kernel) -> None:
    rising = np.arange(9000, dtype=np.int32)
    for a, b in ((rising, rising + 9000), (rising + 9000, rising), (rising, rising)):
        assert_equal(merge(merge_kernel, a, b), merged(a, b))


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_elements_that_are_hard(merge_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    arrays = [np.sort(x, kind="stable") for x in tricky(rng, 9001, dtype).values()]
    for k, a in enumerate(arrays):
        for b in (a, arrays[k - 1], arrays[k - 3][:777]):
            assert merge(merge_kernel, a, b).tobytes() == merged(a, b).tobytes()


def test_arrays_wherever_they_lie(merge_kernel: Kernel, rng: np.random.Generator) -> None:
    device, a, b = merge_kernel.device, in_order(rng, np.float32, 9000), in_order(rng, np.float32, 6000)
    assert_equal(merge(merge_kernel, a[::3], b[::-1][::-1][1::2]), merged(a[::3], b[1::2]))
    there = on_device(device, a), on_device(device, b)
    for _ in range(2):
        got = merge(merge_kernel, there[0][1::2], there[1][5:])
        assert type(got) is type(there[0])
        assert_equal(on_host(device, got), merged(a[1::2], b[5:]))


def test_out(merge_kernel: Kernel, rng: np.random.Generator) -> None:
    device, a, b = merge_kernel.device, in_order(rng, np.int64, 3000), in_order(rng, np.int64, 99)
    strided = np.zeros(2 * 3099, np.int64)[::2]
    assert merge(merge_kernel, a, b, out=strided) is strided
    assert_equal(strided, merged(a, b))
    for _ in range(2):
        out = on_device(device, np.zeros(3099, np.int64))
        assert merge(merge_kernel, on_device(device, a), on_device(device, b), out=out) is out
        assert_equal(on_host(device, out), merged(a, b))
    with pytest.raises(ShapeError, match=r"merge: out= of the result's shape, \(3099,\); got \(5,\)"):
        merge(merge_kernel, a, b, out=np.zeros(5, np.int64))


@pytest.mark.parametrize("descending", [False, True])
def test_check_tells_the_first_element_out_of_order(device: gpuprims.Device, *, descending: bool) -> None:
    rising = np.arange(5000, dtype=np.float32)
    wrong = rising.copy()
    wrong[[2001, 3001]] = -1
    step = -1 if descending else 1
    word, place, values = (
        ("descending", 1998, "-1.0 before 3000.0") if descending else ("ascending", 2000, "2000.0 before -1.0")
    )
    for make in (np.array, lambda array: on_device(device, array)):
        good, bad = make(rising[::step].copy()), make(wrong[::step].copy())
        gpuprims.merge(good, good, check=True, descending=descending, device=device)
        for name, given in (("a", (bad, good)), ("b", (good, bad))):
            with pytest.raises(ArgumentError, match=f"merge: {name} in {word} order; got {values} at index {place}"):
                gpuprims.merge(*given, check=True, descending=descending, device=device)
        gpuprims.merge(bad, good, descending=descending, device=device)  # nobody asked


def test_check_knows_where_nan_belongs(device: gpuprims.Device) -> None:
    right = np.float32([1, np.inf, np.nan, np.nan])
    gpuprims.merge(right, right, check=True, device=device)
    numbers = np.complex64([1 + 2j, 2 + 1j, complex(1, np.nan), complex(np.nan, 1), complex(np.nan, np.nan)])
    gpuprims.merge(numbers, numbers, check=True, device=device)
    for wrong in (np.float32([np.nan, 1]), numbers[[0, 2, 1]], numbers[[4, 3]], numbers[[3, 2]]):
        with pytest.raises(ArgumentError, match="merge: a in ascending order; got"):
            gpuprims.merge(wrong, wrong, check=True, device=device)


def test_wrong_arguments_are_refused() -> None:
    x = np.arange(3)
    with pytest.raises(ShapeError, match=r"merge: arrays of one dimension; got shapes \(3,\) and \(1, 3\)"):
        gpuprims.merge(x, x[None], device="reference")
    with pytest.raises(ArgumentError, match="merge: descending= True or False; got 'yes'"):
        gpuprims.merge(x, x, descending="yes", device="reference")
    with pytest.raises(UnknownKeywordError, match=r"merge: keywords among .*; got axis"):
        gpuprims.merge(x, x, axis=0, device="reference")


@pytest.mark.usefixtures("numpy_computes")
@pytest.mark.parametrize(("few", "many"), [(20_000, 79_999), (20_000, 80_000), (5000, 140_000), (8000, 127_999)])
@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_arrays_of_unequal_lengths_have_the_bits_of_kernels(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, few: int, many: int, dtype: str
) -> None:
    first, second = (np.sort(rng.integers(-99, 99, n) * -1.0) for n in (few, many))
    for given in ([first.astype(dtype), second.astype(dtype)], [second.astype(dtype), first.astype(dtype)]):
        if dtype == "float32":
            for one in given:
                one[one == 0] *= rng.choice([-1, 1], np.count_nonzero(one == 0))
                one[-3:] = np.nan
        found = gpuprims.merge(*given, device=device)
        monkeypatch.setattr(Switch, "on", False)
        forget_calls()
        assert found.tobytes() == gpuprims.merge(*given, device=device).tobytes()
        monkeypatch.setattr(Switch, "on", True)
        forget_calls()
