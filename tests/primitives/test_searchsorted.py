"""searchsorted and isin, by every variant, against NumPy's own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from idle_arrays import ones
from kernel_calls import CompilingDriver
from kernel_cases import COMPLEX, DTYPES, LAYOUTS, Kernel, assert_equal, need, on_device, on_host, poison
from sorted_cases import in_order, numbers
from tricky_data import tricky

import gpuprims
from gpuprims.cli.text_driver import usual_device
from gpuprims.core.operands import Operands
from gpuprims.errors import ArgumentError, DtypeError, IndicesError, NoVariantError, ShapeError, UnknownKeywordError

SIDES: tuple[Any, ...] = ("left", "right")
# On both sides of a node, of several, and of what local memory has room for, in one level and in two.
SIZES = (0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 2047, 4095, 4096, 4097, 4104, 32_767, 32_768, 40_001, 300_007)


def search(kernel: Kernel, *arguments: Any, **keywords: Any) -> Any:
    return gpuprims.searchsorted(*arguments, device=kernel.device, variant=kernel.variant.name, **keywords)


def need_order(kernel: Kernel, dtype: Any) -> None:
    """Skip the test if the kernel searches by integers in the order of real numbers, and ``dtype`` is complex."""
    kernel.need(dtype)
    if np.dtype(dtype).kind == "c" and kernel.variant.name == "words":
        pytest.skip("words are for real numbers")


@pytest.mark.optimised
def test_every_size_of_the_sorted_array(searchsorted_kernel: Kernel, rng: np.random.Generator) -> None:
    keys = numbers(rng, np.float32, 10_001)
    for size in SIZES[searchsorted_kernel.variant.name == "words" :]:  # no words of an empty array
        poison(searchsorted_kernel.device) if size < 5 else None
        a, ends = in_order(rng, np.float32, size), np.arange(size, dtype=np.float32)
        for side in SIDES:
            assert_equal(search(searchsorted_kernel, a, keys, side), np.searchsorted(a, keys, side))
            # Elements at both ends that are no NaN, among which a node may be that is not whole.
            near = np.concatenate([ends[:50], ends[-10_000:]])
            assert_equal(search(searchsorted_kernel, ends, near, side), np.searchsorted(ends, near, side))


def test_every_number_of_keys(searchsorted_kernel: Kernel, rng: np.random.Generator) -> None:
    a = in_order(rng, np.float32, 3000)
    for size in [0, *searchsorted_kernel.boundary_sizes]:
        keys = numbers(rng, np.float32, size)
        assert_equal(search(searchsorted_kernel, a, keys), np.searchsorted(a, keys))


@pytest.mark.parametrize("dtype", [*DTYPES, *COMPLEX])
def test_every_dtype(searchsorted_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    need_order(searchsorted_kernel, dtype)
    for size in (100, 20_000):
        a, keys = in_order(rng, dtype, size), numbers(rng, dtype, 3001)
        for side in SIDES:
            assert_equal(search(searchsorted_kernel, a, keys, side), np.searchsorted(a, keys, side))


@pytest.mark.parametrize(
    ("dtype", "key"), [("i8", "u8"), ("f4", "i4"), ("f2", "i1"), ("c8", "f4"), ("u1", "f8"), ("?", "i2"), ("f4", "c16")]
)
def test_two_dtypes_are_compared_as_in_numpy(
    searchsorted_kernel: Kernel, rng: np.random.Generator, dtype: str, key: str
) -> None:
    need_order(searchsorted_kernel, np.result_type(dtype, key))
    for size in (50, 9000):
        a, keys = in_order(rng, dtype, size), numbers(rng, key, 2001)
        if dtype == "i8":
            a, keys = a + 2**53, keys + np.uint64(2**53)
        assert_equal(search(searchsorted_kernel, a, keys, "right"), np.searchsorted(a, keys, "right"))


def test_equal_elements_and_sorted_keys(searchsorted_kernel: Kernel, rng: np.random.Generator) -> None:
    # The last nodes of a tree are not whole, and have elements that are among the keys.
    for a in (np.zeros(20_000, np.int32), np.repeat(np.int32([3, 7]), 10_001), np.arange(20_005, dtype=np.int32)):
        for keys in (np.arange(-5, 20_010, dtype=np.int32), np.full(1000, 7, np.int32), np.arange(900, 0, -1)):
            for side in SIDES:
                assert_equal(search(searchsorted_kernel, a, keys, side), np.searchsorted(a, keys, side))


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_elements_that_are_hard(searchsorted_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    among = tricky(rng, 20_001, dtype)
    keys = np.concatenate([x[:1500] for x in among.values()])
    for name, x in among.items():
        a = np.sort(x, kind="stable")
        for side in SIDES:
            for sought in (keys, x):
                got = search(searchsorted_kernel, a, sought, side)
                np.testing.assert_array_equal(got, np.searchsorted(a, sought, side), err_msg=name)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_arrays_that_are_not_sorted_do_no_harm(
    searchsorted_kernel: Kernel, rng: np.random.Generator, dtype: str
) -> None:
    searchsorted_kernel.need(dtype)
    for size in (5, 3000, 40_001):
        a, keys = rng.permutation(np.arange(size)).astype(dtype), rng.integers(-9, size + 9, 5001).astype(dtype)
        for given in (a, np.sort(a)[::-1].copy()):
            got = np.asarray(search(searchsorted_kernel, given, keys))
            assert got.min() >= 0
            assert got.max() <= size


@pytest.mark.parametrize("dtype", ["float64", "int64", "uint64"])
@pytest.mark.parametrize("count", [1, 2, 40, 30_001])
def test_wide_elements_that_differ_in_low_bits_alone(
    searchsorted_kernel: Kernel, rng: np.random.Generator, dtype: str, count: int
) -> None:
    # Their first 32 bits are alike, by which one search tells elements apart.
    searchsorted_kernel.need(dtype)
    base, far = (2**60, 2**62) if dtype != "float64" else (1.0, 1e300)
    steps = rng.integers(0, 3, count, np.int64).cumsum()
    near = np.sort((np.array(base, dtype).view(np.int64) + steps).view(dtype))
    ends = np.array([0, far] if dtype == "uint64" else [-far, far], dtype)
    for a in (near, np.concatenate([ends[:1], near, ends[1:]])):
        among = np.concatenate([a, (near.view(np.int64) + 1).view(dtype), ends, np.array([0, base], dtype)])
        for keys in (among, rng.permutation(among)):
            for side in SIDES:
                assert_equal(search(searchsorted_kernel, a, keys, side), np.searchsorted(a, keys, side))


def test_keys_of_any_shape(searchsorted_kernel: Kernel, rng: np.random.Generator) -> None:
    a = in_order(rng, np.float64, 40)
    for layout in ("strided", "reversed", "transposed", "one row for all", "byte-swapped", "a field of packed records"):
        keys = LAYOUTS[layout](rng) * 100
        assert_equal(search(searchsorted_kernel, a, keys), np.searchsorted(a, keys))
    for key in (1.5, 2, [[0.0], [9.0]], np.float64(3), True):
        assert_equal(search(searchsorted_kernel, a, key), np.searchsorted(a, key))


@pytest.mark.parametrize("dtypes", [("int32", "int8"), ("float32", "int64")])
def test_a_sorted_array_of_nothing(dtypes: tuple[str, str]) -> None:
    a, v = np.empty(0, dtypes[0]), np.arange(3, dtype=dtypes[1])
    assert_equal(gpuprims.searchsorted(a, v, device="reference"), np.zeros(3, np.int64))


def test_a_number_is_compared_in_its_own_dtype() -> None:
    x = np.float32([0.1])
    for side in SIDES:
        assert gpuprims.searchsorted(x, 0.1, side, device="reference") == np.searchsorted(x, 0.1, side)


def test_arrays_of_a_device(searchsorted_kernel: Kernel, rng: np.random.Generator) -> None:
    device, a, keys = searchsorted_kernel.device, in_order(rng, np.float32, 9001), numbers(rng, np.float32, (90, 50))
    there, sought = on_device(device, a), on_device(device, keys)
    for cut in (slice(None), slice(1, None), slice(None, None, 3)):
        for _ in range(2):
            got = search(searchsorted_kernel, there[cut], sought[::2, ::-1])
            assert type(got) is type(there)
            assert_equal(on_host(device, got), np.searchsorted(a[cut], keys[::2, ::-1]))


def test_a_sorter(searchsorted_kernel: Kernel, rng: np.random.Generator) -> None:
    a, keys = numbers(rng, np.int32, 700), numbers(rng, np.int32, 900)
    sorter = np.argsort(a, kind="stable")
    assert_equal(search(searchsorted_kernel, a, keys, sorter=sorter), np.searchsorted(a, keys, sorter=sorter))
    device = searchsorted_kernel.device
    got = search(
        searchsorted_kernel, *(on_device(device, one) for one in (a, keys)), "right", on_device(device, sorter)
    )
    assert_equal(on_host(device, got), np.searchsorted(a, keys, "right", sorter))


def test_a_tree_is_for_many_keys(device: gpuprims.Device) -> None:
    if device.backend == "reference":
        pytest.skip("it has no tree")
    a = np.arange(500_000, dtype=np.float32)
    with pytest.raises(NoVariantError, match="it is for up to 32 elements a key, 320; this call has 500000"):
        gpuprims.searchsorted(a, a[:10], device=device, variant="tree")


@pytest.mark.parametrize(
    ("dtype", "elements", "keys", "chosen"),
    [
        ("f8", 511, 2**21, "tree"),
        ("f8", 512, 2**21, "words"),
        ("f8", 5000, 2**21 - 1, "tree"),
        ("f8", 2**20, 2**21, "words"),
        ("f8", 2**21, 2**21, "tree"),
        ("f4", 127, 2**21, "tree"),
        ("f2", 128, 2**21, "words"),
        ("u1", 511, 2**21, "tree"),
        ("f4", 100_000, 2**21, "words"),
        ("f4", 120_000, 2**21, "tree"),
        ("c8", 5000, 2**21, "tree"),
    ],
)
def test_many_keys_are_sought_among_words(dtype: str, elements: int, keys: int, chosen: str) -> None:
    driver = CompilingDriver("cuda", replace(usual_device("gpu", 32), asked_local_memory=227 * 1024))
    gpuprims.searchsorted(np.zeros(elements, dtype), ones(keys, dtype=dtype), device=gpuprims.Device._of(driver))
    assert driver.asked[-1][0].name == chosen


def test_wrong_arguments_are_refused() -> None:
    x = np.arange(3.0)
    with pytest.raises(ArgumentError, match=r"side= 'left' or 'right'; got 'lft' \(did you mean 'left'"):
        gpuprims.searchsorted(x, 1.0, "lft", device="reference")
    with pytest.raises(ShapeError, match=r"a sorted array of one dimension; got shape \(1, 3\)"):
        gpuprims.searchsorted(x[None], 1.0, device="reference")
    with pytest.raises(ShapeError, match=r"sorter= of the shape of a, \(3,\); got \(2,\)"):
        gpuprims.searchsorted(x, 1.0, sorter=[0, 1], device="reference")
    with pytest.raises(IndicesError, match=r"^searchsorted: sorter= indices of a, .*; got \[0, 1, 3\]$") as raised:
        gpuprims.searchsorted(x, 1.0, sorter=[0, 1, 3], device="reference")
    assert "got indices[2] = 3" in str(raised.value.__cause__)
    with pytest.raises(UnknownKeywordError, match=r"searchsorted: keywords among .*; got into"):
        gpuprims.searchsorted(x, 1.0, into=x, device="reference")


# isin --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "other"), [("f4", "f4"), ("c8", "c8"), ("i1", "i4"), ("u8", "u8"), ("?", "i2"), ("?", "?"), ("f2", "u1")]
)
def test_isin(device: gpuprims.Device, rng: np.random.Generator, dtype: str, other: str) -> None:
    integers = np.dtype(dtype).kind in "iub" and np.dtype(other).kind in "iub"
    for size, count in ((0, 3), (3, 0), (300, 9), (2001, 9001)):
        x, among = numbers(rng, dtype, size), numbers(rng, other, count)
        for kind in ("sort", "table", None) if integers else ("sort", None):
            for invert in (False, True):
                expected = np.isin(x, among, invert=invert)
                assert_equal(gpuprims.isin(x, among, invert=invert, kind=kind, device=device), expected)
                there = on_device(device, x)
                for beside in (among, on_device(device, among)):
                    got = gpuprims.isin(there, beside, invert=invert, kind=kind, device=device)
                    assert_equal(on_host(device, got), expected)


def test_isin_checks_its_flags_in_later_calls_too(device: gpuprims.Device) -> None:
    x = np.arange(5)
    for _ in range(2):
        gpuprims.isin(x, x, device=device)
        with pytest.raises(ArgumentError, match="isin: assume_unique= True or False; got 'no'"):
            gpuprims.isin(x, x, "no", device=device)  # type: ignore[call-overload]


def test_isin_by_every_search(searchsorted_kernel: Kernel, rng: np.random.Generator) -> None:
    how = {"device": searchsorted_kernel.device, "variant": searchsorted_kernel.variant.name}
    for count in (0, 1, 100, 20_000)[searchsorted_kernel.variant.name == "words" :]:
        x, among = numbers(rng, np.float32, (40, 50)), rng.permutation(np.arange(count) / 4).astype(np.float32)
        assert_equal(gpuprims.isin(x.T[::2], among, **how), np.isin(x.T[::2], among))


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_isin_of_elements_that_are_hard(device: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    arrays = tricky(rng, 5001, dtype)
    x = np.concatenate([*arrays.values()])
    for name, among in arrays.items():
        np.testing.assert_array_equal(gpuprims.isin(x, among, device=device), np.isin(x, among), err_msg=name)


@pytest.mark.usefixtures("numpy_computes")
@pytest.mark.parametrize("dtype", ["uint8", "int16", "int64", "float32", "float64"])
@pytest.mark.parametrize("count", [8, 9, 24, 25])
def test_isin_of_many_keys_among_few(device: gpuprims.Device, rng: np.random.Generator, dtype: str, count: int) -> None:
    need(device, dtype)
    for size in (4095, 4096, 20_000):
        x = (rng.standard_normal(size) * 1000).astype(dtype)
        among = rng.choice(x, count)
        if x.dtype.kind == "f":
            x[::5], among[3], x[7], among[4] = np.nan, np.nan, -0.0, 0.0
        for given in (x, x[::-2], x[: size // 4 * 4].reshape(4, -1).T):
            for invert in (False, True):
                expected = np.isin(given, among, invert=invert)
                assert_equal(gpuprims.isin(given, among, invert=invert, device=device), expected)


def test_isin_takes_nothing_to_the_host(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    if device.backend == "reference":
        pytest.skip("its arrays are host arrays")
    for dtype in (np.float32, np.int32):
        x, among = numbers(rng, dtype, 2001), numbers(rng, dtype, 901)
        there = on_device(device, x), on_device(device, among)
        with monkeypatch.context() as patched:
            patched.setattr(Operands, "to_host", lambda self, array: pytest.fail("a trip to the host"))
            got = gpuprims.isin(*there)
        assert_equal(on_host(device, got), np.isin(x, among))


def test_isin_at_the_ends_of_ranges(device: gpuprims.Device) -> None:
    for dtype in (np.int64, np.uint64, np.int8):
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        x = np.array([least, least + 1, 0, 1, most - 1, most], dtype)
        for among in ([least, least + 1], [most - 1, most], [0, 1]):
            for kind in ("sort", "table"):
                found = np.array(among, dtype)
                assert_equal(gpuprims.isin(x, found, kind=kind, device=device), np.isin(x, found))


def test_isin_of_integers_among_bools() -> None:
    for dtype in ("uint64", "int8"):
        x = np.arange(4, dtype=dtype)
        for among in ([True], [True, False], [False] * 9):
            assert_equal(gpuprims.isin(x, np.array(among), device="reference"), np.isin(x, np.array(among)))


def test_warm_isin_sees_the_elements_of_each_call(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x, y = numbers(rng, np.float32, 2001), rng.integers(-900, 900, 2001, dtype=np.int32)
    for count in (5, 3000):
        for _ in range(3):
            among = numbers(rng, np.float32, count)
            for how in ({}, {"kind": "sort"}, {"invert": True}):
                expected = np.isin(x, among, invert="invert" in how)
                assert_equal(gpuprims.isin(x, among, **how, device=device), expected)
                there = on_device(device, x), on_device(device, among)
                assert_equal(on_host(device, gpuprims.isin(*there, **how)), expected)
            for spread in (900, 2**31 - 1):
                wanted = rng.integers(-spread, spread, count, dtype=np.int32)
                assert_equal(gpuprims.isin(y, wanted, device=device), np.isin(y, wanted))


@pytest.mark.usefixtures("numpy_computes")
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
def test_narrow_integers_are_looked_up(device: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    for size in (3, 5000):
        limits = np.iinfo(dtype)
        a = np.sort(rng.integers(limits.min, limits.max, size, dtype, endpoint=True))
        for count in (200, 300, 1100, 2**17 + 1):
            keys = rng.integers(limits.min, limits.max, count, dtype, endpoint=True)
            for given in (keys, keys[::-1], keys[: count // 4 * 4].reshape(4, -1).T):
                for side in SIDES:
                    expected = np.searchsorted(a, given, side)
                    assert_equal(gpuprims.searchsorted(np.repeat(a, 2)[::2], given, side, device=device), expected)
                    assert_equal(gpuprims.searchsorted(a, given, side, device=device), expected)


def test_isin_of_few_numbers_of_another_width(device: gpuprims.Device, numpy_computes: None) -> None:
    x = np.float32([0.1, 0.5, np.nan, np.inf, -np.inf, 3e38, -0.0, 2**24])
    for among in ([0.1, 0.5], [np.nan], [1e300, -1e300], [np.inf], [3e38, 0.0], [2**24 + 1, 2**24], 0.5, [[1], [2]]):
        for _ in range(2):
            assert_equal(gpuprims.isin(x, among, device=device), np.isin(x, among))


def test_isin_of_few_integers_by_numpy(device: gpuprims.Device, numpy_computes: None) -> None:
    for dtype in (np.int64, np.uint64, np.int8, np.uint32):
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        x = np.array([least, least + 1, 0, 1, 7, 20, most - 1, most], dtype)
        for among in (range(1, 20), range(least, least + 12), range(most - 12, most), [least, *range(9), most]):
            found = np.array(among, dtype)
            for invert in (False, True):
                assert_equal(gpuprims.isin(x, found, invert=invert, device=device), np.isin(x, found, invert=invert))


def test_isin_refuses_wrong_arguments() -> None:
    x = np.arange(3)
    with pytest.raises(ArgumentError, match="isin: kind= 'sort', 'table' or None; got 'hash'"):
        gpuprims.isin(x, x, kind="hash", device="reference")
    with pytest.raises(DtypeError, match="isin: element of integers or bools with kind='table'; got dtype float64"):
        gpuprims.isin(x / 2, x, kind="table", device="reference")
    with pytest.raises(
        ArgumentError, match="in a range of less than 1073741824 with kind='table'; got 0 to 1099511627776"
    ):
        gpuprims.isin(x, [0, 2**40], kind="table", device="reference")
    with pytest.raises(ArgumentError, match="isin: variant= for searches; got one beside kind='table'"):
        gpuprims.isin(x, x, kind="table", variant="numpy", device="reference")
