"""Views, out=, device arrays and repeated calls with segments."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import Kernel, assert_equal, on_device, on_host, poison, random_values
from segments_cases import randomly, reduced, scan, scanned, shifted, size_of_several_tiles


def test_elements_are_found_wherever_they_lie(kernel: Kernel, rng: np.random.Generator) -> None:
    whole = random_values(rng, np.int32, (5003, 3))
    for x in (whole[:, 1], whole[::-1, 2], whole[1::7, 0], np.broadcast_to(whole[0, 0], 3000)):
        offsets = randomly(rng, x.size)
        assert_equal(scan(kernel, x, segments=offsets), scanned(x, offsets))
        assert_equal(scan(kernel, x, segments=offsets, inclusive=False), shifted(scanned(x, offsets), offsets, 0))
        assert_equal(kernel.reduce(x, segments=offsets), reduced(np.sum, x, offsets))


def test_results_go_where_the_caller_says_and_nowhere_else(kernel: Kernel, rng: np.random.Generator) -> None:
    x, offsets = random_values(rng, np.int32, 5003), randomly(rng, 5003)
    whole = np.full((5003, 2), -7, np.int64)
    out = whole[::-1, 1]
    assert scan(kernel, x, segments=offsets, out=out) is out
    assert_equal(out, scanned(x, offsets))
    assert_equal(whole[:, 0], np.full(5003, -7))

    expected = reduced(np.sum, x, offsets)
    whole = np.full((expected.size, 3), -7, np.int64)
    out = whole[:, 1]
    assert kernel.reduce(x, segments=offsets, out=out) is out
    assert_equal(out, expected)
    assert_equal(whole[:, ::2], np.full((expected.size, 2), -7))


def test_results_may_go_where_the_offsets_lie(kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.int64, 50_001)
    offsets = np.unique(np.concatenate([[0, x.size], rng.integers(0, x.size, 3000)]))
    expected = reduced(np.sum, x, offsets)
    kernel.reduce(x, segments=offsets, out=offsets[:-1])
    assert_equal(offsets[:-1], expected)


@pytest.mark.parametrize("inclusive", [True, False])
def test_a_scan_may_write_over_its_input(kernel: Kernel, rng: np.random.Generator, *, inclusive: bool) -> None:
    size = size_of_several_tiles(kernel)
    x, offsets = random_values(rng, np.int64, size), randomly(rng, size)
    expected = scanned(x, offsets) if inclusive else shifted(scanned(x, offsets), offsets, 0)
    resident = on_device(kernel.device, x)
    assert scan(kernel, x, segments=offsets, inclusive=inclusive, out=x) is x
    assert_equal(x, expected)
    assert scan(kernel, resident, segments=offsets, inclusive=inclusive, out=resident) is resident
    assert_equal(on_host(kernel.device, resident), expected)


def test_arrays_and_offsets_on_the_device(kernel: Kernel, rng: np.random.Generator) -> None:
    device = kernel.device
    size = size_of_several_tiles(kernel)
    x, offsets = random_values(rng, np.int64, size), randomly(rng, size)
    resident = on_device(device, x)
    for divided in (offsets, on_device(device, offsets)):
        got = scan(kernel, resident, segments=divided)
        assert type(got) is type(resident)
        assert_equal(on_host(device, got), scanned(x, offsets))
        got = kernel.reduce(resident, segments=divided)
        assert type(got) is type(resident)
        assert_equal(on_host(device, got), reduced(np.sum, x, offsets))


def test_calls_that_follow_each_other_do_not_meet(kernel: Kernel, rng: np.random.Generator) -> None:
    size = size_of_several_tiles(kernel)
    arrays = [random_values(rng, np.int64, size) for _ in range(10)]
    divided = [randomly(rng, size) for _ in arrays]
    residents = [on_device(kernel.device, array) for array in arrays]
    got = [
        kernel.reduce(resident, segments=offsets) for resident, offsets in zip(residents, divided, strict=True)
    ]  # no call waits for another
    for one, x, offsets in zip(got, arrays, divided, strict=True):
        assert_equal(on_host(kernel.device, one), reduced(np.sum, x, offsets))


def test_a_float_sum_has_the_same_bits_in_every_run(kernel: Kernel, rng: np.random.Generator) -> None:
    if not kernel.variant.deterministic:
        pytest.skip("brackets depend on how far other groups have come, as its entry says")
    size = size_of_several_tiles(kernel)
    x, offsets = random_values(rng, np.float32, size), randomly(rng, size)
    first = kernel.reduce(x, segments=offsets)
    poison(kernel.device)
    assert all(kernel.reduce(x.copy(), segments=offsets).tobytes() == first.tobytes() for _ in range(3))
