"""Queues of values of several words: how many work-items scan them, and results on GPUs that have bulk copies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from idle_arrays import resident
from queue_cases import GPU, LONG, asked, with_bulk_copies

import gpuprims
from gpuprims.core.geometry import Geometry
from gpuprims.core.registry import REGISTRY
from gpuprims.primitives.queues import queueable

(QUEUES,) = (one for one in REGISTRY.variants("scan", "cuda") if one.name == "queues")
SMALL = Geometry(160, 28, 1)


def affine(components: int, *, commutative: bool = False) -> gpuprims.Op:
    """Return affine maps of vectors: a factor, and the terms."""

    def after(p: tuple[Any, ...], q: tuple[Any, ...]) -> tuple[Any, ...]:
        return (p[0] * q[0], *(a * q[0] + b for a, b in zip(p[1:], q[1:], strict=True)))

    return gpuprims.Op(after, (1,) + (0,) * (components - 1), commutative=commutative)


@pytest.mark.parametrize(
    ("dtypes", "numbers"),
    [
        ("f4 f4", (256, 12, 7, 1)),
        ("f4 f4 f4", (128, 20, 5, 1)),
        ("f8 i4", (128, 18, 5, 1)),
        ("f4 f4 f4 f4", (192, 8, 5, 1)),
        ("f8 f8", (192, 10, 5, 1)),
        ("f4 i4 f8", (192, 10, 5, 1)),
        ("f4 f4 f4 f4 f4", (128, 12, 5, 1)),
        ("f4 f4 f4 f4 f4 f4", (192, 4, 7, 1)),
        ("f8 f8 f8", (192, 6, 5, 1)),
        ("f2 f2 f2", (256, 8, 11, 2)),  # few bytes for each word
        ("f8 f8 f8 f8", (256, 2, 4, 2)),
    ],
)
def test_fewer_work_items_scan_values_of_several_words(dtypes: str, numbers: tuple[int, ...]) -> None:
    sums = gpuprims.Op(lambda p, q: tuple(a + b for a, b in zip(p, q, strict=True)), (0,) * len(dtypes.split()))
    variant, spec = asked(*(resident(LONG, dtype=one) for one in dtypes.split()), op=sums)
    assert (spec.runs, variant.items, spec.depth, spec.places) == numbers
    assert variant.block == 2 * spec.runs + 96
    assert not spec.late


@pytest.mark.parametrize(
    ("size", "how", "runs"),
    [
        (LONG, {}, 128),
        (LONG, {"inclusive": False}, 128),
        (LONG, {"reverse": True}, 256),  # copies of bytes between multiples of 16
        (2560 * 8 * 132, {}, 128),
        (2560 * (8 * 132 - 1), {}, 256),  # few tiles
    ],
)
def test_other_calls_keep_their_work_items(size: int, how: dict[str, Any], runs: int) -> None:
    _, spec = asked(*[resident(size)] * 3, op=affine(3), **how)
    assert spec.runs == runs


@pytest.mark.parametrize(("dtype", "depth"), [("uint8", 9), ("float32", 5)])
def test_values_that_fill_local_memory_have_deep_queues(dtype: str, depth: int) -> None:
    variant, spec = asked(resident(LONG, dtype=dtype), op="argmax")
    assert (spec.runs, spec.depth) == (256, depth)
    declared = spec.depth * ((256 + 8 + 1) * 16 + 40) + 4 * 160 * 3 + 4
    tiles = 256 * variant.items * (spec.depth * np.dtype(dtype).itemsize + spec.places * 8)
    assert -(-declared // 16) * 16 + tiles <= GPU.asked_local_memory


def test_a_geometry_of_fewer_work_items_stays() -> None:
    variant, _ = asked(
        *[resident(LONG)] * 3, op=affine(3), variant=replace(QUEUES, geometry=SMALL, refuse=queueable(SMALL))
    )
    assert variant.block == SMALL.block


@pytest.mark.parametrize("inclusive", [True, False])
@pytest.mark.parametrize("size", [9001, 2560 * 8 * 132 - 1, (1 << 22) + 4, 5_000_003])
@pytest.mark.parametrize(("components", "dtype"), [(2, "i8"), (3, "i4"), (3, "i8"), (4, "i4"), (5, "i4"), (6, "i4")])
def test_components_keep_their_order(components: int, dtype: str, size: int, inclusive: bool) -> None:
    able, rng = with_bulk_copies(), np.random.default_rng(14)
    factors, *terms = rng.choice([-1, 1], size), *(rng.integers(-9, 9, size) for _ in range(components - 1))
    any_size = replace(QUEUES, refuse=queueable(QUEUES.geometry))
    there = [able.asarray(one.astype(dtype)) for one in (factors, *terms)]
    scanned = gpuprims.scan(*there, op=affine(components), inclusive=inclusive, variant=any_size)
    signs = factors.cumprod()
    wanted = [signs, *(signs * (signs * one).cumsum() for one in terms)]
    for got, whole, nothing in zip(scanned, wanted, (1, *(0,) * len(terms)), strict=True):
        expected = whole if inclusive else np.concatenate([[nothing], whole[:-1]])
        np.testing.assert_array_equal(able.to_host(got), expected.astype(dtype))


@pytest.mark.parametrize("op", ["sum", "max"])
@pytest.mark.parametrize("size", [100_001, 3_000_001])
def test_complex_numbers(op: str, size: int) -> None:
    able, rng = with_bulk_copies(), np.random.default_rng(15)
    x = rng.integers(-9, 9, size) + 1j * rng.integers(-9, 9, size)
    any_size = replace(QUEUES, refuse=queueable(QUEUES.geometry))
    got = able.to_host(gpuprims.scan(able.asarray(x), op=op, variant=any_size))
    np.testing.assert_array_equal(got, x.cumsum() if op == "sum" else np.maximum.accumulate(x))
