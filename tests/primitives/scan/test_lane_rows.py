"""scan/rows of rows that do not begin at whole vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from idle_arrays import resident
from kernel_cases import Kernel, assert_equal, on_device, on_host, random_values
from queue_cases import asked
from scan_cases import exclusively, numpys, places

from gpuprims.primitives.lane_rows import LaneRows

# Elements on both sides of whole vectors, of those that a warp loads at once, and of the fewest of peeled rows.
SIZES = [63, 65, 257, 519, 1025, 2047]


@pytest.fixture
def kernel(scan_kernel: Kernel) -> Kernel:
    """The variant that gives rows a few lanes, on each device."""
    if scan_kernel.variant.name != "rows":
        pytest.skip("another variant")
    return scan_kernel


# On devices --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "op", "nothing"), [("int16", "max", -(2**15)), ("int32", "sum", 0), ("uint8", "max", 0)]
)
@pytest.mark.parametrize("inclusive", [True, False])
def test_rows_that_begin_anywhere(
    kernel: Kernel, rng: np.random.Generator, dtype: str, op: str, nothing: int, *, inclusive: bool
) -> None:
    for size in SIZES:
        x = random_values(rng, dtype, (1030, size))
        got = on_host(kernel.device, kernel.scan(on_device(kernel.device, x), op=op, axis=1, inclusive=inclusive))
        wanted = numpys(op, x, 1)
        assert_equal(got, wanted if inclusive else exclusively(wanted, nothing, 1))


def test_a_last_vector_with_a_turn_of_its_own(kernel: Kernel, rng: np.random.Generator) -> None:
    x = np.sort(
        random_values(rng, "int16", (2050, 3071)), axis=1
    )  # each of 3,072 elements but the last is in a whole turn
    got = on_host(kernel.device, kernel.scan(on_device(kernel.device, x), op="max", axis=1))
    assert_equal(got, x)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_places_and_floats(kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    kernel.need(dtype)
    x = random_values(rng, dtype, (1027, 1023))
    x[5, 1000], x[6, 0], x[1026, 1022] = np.nan, np.nan, np.nan
    there = on_device(kernel.device, x)
    assert_equal(on_host(kernel.device, kernel.scan(there, op="argmax", axis=1)), places(x))
    assert_equal(on_host(kernel.device, kernel.scan(there, op="max", axis=1)), np.maximum.accumulate(x, 1))


def test_results_with_the_same_beginnings_and_others(kernel: Kernel, rng: np.random.Generator) -> None:
    size = 1023
    x = random_values(rng, np.int16, 3 + 1030 * size)
    wanted = np.maximum.accumulate(x[3:].reshape(1030, size), 1)
    for begin in (3, 4):
        there, into = (on_device(kernel.device, one) for one in (x, np.zeros(begin + 1030 * size, np.int16)))
        rows, out = there[3:].reshape(1030, size), into[begin:].reshape(1030, size)
        kernel.scan(rows, op="max", axis=1, out=out)
        assert_equal(on_host(kernel.device, into)[begin:].reshape(1030, size), wanted)
    kernel.scan(rows, op="max", axis=1, out=rows)
    assert_equal(on_host(kernel.device, there)[3:].reshape(1030, size), wanted)


# On the host -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "op", "size", "vector"),
    [
        ("int16", "max", 2047, 8),
        ("int16", "max", 4099, 8),
        ("int16", "max", 65, 8),
        ("int16", "max", 63, 1),
        ("int16", "sum", 2047, 2),  # of 64 bits
        ("float32", "sum", 2047, 4),
        ("float32", "sum", 257, 4),
        ("float32", "sum", 255, 1),
        ("int16", "sum", 1023, 1),
        ("uint8", "max", 65, 16),
        ("uint8", "max", 2047, 16),
    ],
)
def test_rows_that_are_loaded_in_vectors(dtype: str, op: str, size: int, vector: int) -> None:
    variant, spec = asked(resident(2048, size, dtype=dtype), op=op, axis=1)
    assert (variant.name, spec.vector, spec.peeled) == ("rows", vector, vector > 1)


@pytest.mark.parametrize(
    ("view", "peeled"),
    [
        (np.s_[:], True),
        (np.s_[:, 3:], False),
        (np.s_[:, ::-1], False),
        (np.s_[:, ::2], False),
        (np.s_[::-1], False),  # a vector of the first row may lie past the array's end
    ],
)
def test_rows_of_all_operands_begin_at_the_same_places(view: Any, *, peeled: bool) -> None:
    x = resident(2009, 2023, dtype="i2")[view]
    _, spec = asked(x, op="max", axis=1)
    assert spec.peeled is peeled


def test_lanes_cover_a_peeled_row(rng: np.random.Generator) -> None:
    for _ in range(300):
        size, vector = int(2 ** rng.uniform(0, 15)), int(rng.choice([1, 2, 4, 8, 16]))
        taken = LaneRows.of(size, vector, 32, int(rng.integers(1, 64)))
        turn = taken.pieces * taken.lanes * vector
        assert taken.lanes * taken.pieces <= 32 * 8
        assert -(-(size + vector - 1) // turn) * turn - size < max(turn, size) + vector * taken.lanes
