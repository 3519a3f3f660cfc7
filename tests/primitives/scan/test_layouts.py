"""scan of empty arrays, numbers, lists, and of views with any strides."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from kernel_cases import DTYPES, LAYOUTS, Kernel, assert_equal, on_device, on_host, random_values
from scan_cases import NUMPY, exclusively, numpys


@pytest.mark.parametrize("inclusive", [True, False])
@pytest.mark.parametrize("op", list(NUMPY))
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 4), (0, 0), (0, 3000)])
def test_the_scan_of_nothing_is_nothing(scan_kernel: Kernel, op: str, shape: tuple[int, ...], inclusive: bool) -> None:
    x = np.empty(shape, np.float32)
    for axis in (None, *range(len(shape))):
        assert_equal(scan_kernel.scan(x, op=op, axis=axis, inclusive=inclusive), numpys(op, x, axis))


def test_numbers_lists_and_arrays_of_no_dimensions_give_one_result(scan_kernel: Kernel) -> None:
    for x in (5, np.float32(2.5), np.array(7, np.int16), [3, 1, 2], [[True, False], [True, True]], (1, 2)):
        scan_kernel.need(np.asarray(x).dtype)
        assert_equal(scan_kernel.scan(x), np.cumsum(x))
        assert_equal(scan_kernel.scan(x, axis=0), np.cumsum(x, axis=0))
        assert_equal(scan_kernel.scan(x, inclusive=False), exclusively(np.cumsum(x), 0))


@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_elements_are_found_wherever_they_lie(scan_kernel: Kernel, rng: np.random.Generator, layout: str) -> None:
    scan_kernel.need(np.float64)
    x = LAYOUTS[layout](rng)
    before = x.copy()
    for axis in (None, 0, 1):
        native = before.astype(before.dtype.newbyteorder("="))
        assert_equal(scan_kernel.scan(x, op="max", axis=axis), numpys("max", native, axis))
    np.testing.assert_array_equal(x, before)  # the call leaves its input alone


@pytest.mark.parametrize("view", ["reversed", "every third", "transposed", "one row for all", "one column for all"])
def test_columns_are_found_wherever_they_lie(scan_kernel: Kernel, rng: np.random.Generator, view: str) -> None:
    whole = random_values(rng, np.int32, (2 * 2300, 60))
    x = {
        "reversed": whole[::-1, ::-1].T,
        "every third": np.ascontiguousarray(whole.T)[::3, 1::2],
        "transposed": whole.T,
        "one row for all": np.broadcast_to(whole[:, 0], (70, whole.shape[0])),
        "one column for all": np.broadcast_to(whole[0][:, None], (60, 3000)),
    }[view]
    for axis in (0, 1):
        assert_equal(scan_kernel.scan(x, axis=axis), np.cumsum(x, axis=axis))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("turned", [False, True])
def test_results_of_arrays_in_fortran_order_lie_in_it_too(
    scan_kernel: Kernel, rng: np.random.Generator, axis: int, turned: bool
) -> None:
    x = np.asfortranarray(random_values(rng, np.int32, (70, 3, 130)))
    given = x[:, ::-1, ::-1] if turned else x  # backwards in memory, too
    got = scan_kernel.scan(given, op="max", axis=axis)
    assert_equal(got, np.maximum.accumulate(given, axis=axis))
    if scan_kernel.device.driver.shares_host_memory:
        assert got.flags.f_contiguous
    out = np.empty_like(given, order="C")
    assert scan_kernel.scan(given, op="max", axis=axis, out=out) is out
    assert_equal(out, np.maximum.accumulate(given, axis=axis))
    resident = on_device(scan_kernel.device, x)
    got = scan_kernel.scan(resident[:, ::-1, ::-1] if turned else resident, op="max", axis=axis)
    assert_equal(on_host(scan_kernel.device, got), np.maximum.accumulate(given, axis=axis))


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_arrays_of_different_layouts_meet(scan_kernel: Kernel, rng: np.random.Generator, axis: int | None) -> None:
    x = random_values(rng, np.int32, (60, 70))
    arrays = [x, np.asfortranarray(x), x[::-1, ::-1], np.broadcast_to(x[0], x.shape)]
    for a, b in itertools.permutations(arrays, 2):
        expected = np.cumsum(a - 2 * b, axis=axis, dtype=np.int64)
        assert_equal(scan_kernel.scan(a, b, map="a - 2*b", axis=axis), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_any_start_inside_another_array(scan_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    scan_kernel.need(dtype)
    x = random_values(rng, dtype, 4200)
    resident = on_device(scan_kernel.device, x)
    for start in range(9):
        expected = np.maximum.accumulate(x[start:4111])
        assert_equal(scan_kernel.scan(x[start:4111], op="max"), expected)
        got = scan_kernel.scan(resident[start:4111], op="max")
        assert_equal(on_host(scan_kernel.device, got), expected)
