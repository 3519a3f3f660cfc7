"""scan/fixed_queues: which calls it takes, and the bits of the reference on GPUs that have bulk copies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import queue_cases
from kernel_calls import resident
from kernel_cases import AFFINE, bits, need
from queue_cases import GPU, LONG, with_bulk_copies
from scan_cases import affine_pair

import gpuprims
from gpuprims.core.registry import REGISTRY
from gpuprims.errors import NoVariantError
from gpuprims.primitives.fixed_scans import RUN, TILE
from gpuprims.primitives.queue_spec import FixedQueueSpec
from gpuprims.primitives.scan.refusals import ordered_queue_fits

(QUEUES,) = (one for one in REGISTRY.variants("scan", "cuda") if one.name == "fixed_queues")
ANY_SIZE = replace(QUEUES, refuse=ordered_queue_fits(QUEUES.geometry))


asked = partial(queue_cases.asked, determinism="device")


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_long_sums_of_floats_pass_through_a_queue(dtype: str) -> None:
    variant, spec = asked(resident(LONG, dtype=dtype))
    assert variant.name == "fixed_queues"
    assert isinstance(spec, FixedQueueSpec)
    assert spec.runs == TILE // RUN
    assert variant.items % RUN == 0
    held = variant.items * spec.runs * (spec.depth + spec.places) * np.dtype(dtype).itemsize
    assert spec.depth >= 2
    assert held < GPU.asked_local_memory


@pytest.mark.parametrize(
    ("arrays", "how", "reason"),
    [
        ((resident(1 << 20),), {}, "is for 1056 or more tiles of"),
        ((resident(9000, 9001)[:, ::-1],), {}, "is for outputs of one row; this call's have 9000"),
        ((resident(LONG, 2)[:, 0],), {}, None),
        ((resident(LONG),), {"op": "argmax"}, "is for values of at most 8 bytes; this call's have 16"),
        ((resident(LONG), resident(LONG)), {"op": AFFINE}, None),
        ((resident(LONG, dtype="c16"),), {}, "is for values of at most 8 bytes; this call's have 16"),
        ((resident(LONG, 1),), {"axis": 1}, "is for elements that lie at most 32 bytes apart"),
    ],
)
def test_other_calls_are_refused(arrays: tuple[np.ndarray, ...], how: dict[str, Any], reason: str | None) -> None:
    if reason is None:
        assert asked(*arrays, variant="fixed_queues", **how)[0].name == "fixed_queues"
        return
    assert asked(*arrays, **how)[0].name != "fixed_queues"
    with pytest.raises(NoVariantError, match=reason):
        asked(*arrays, variant="fixed_queues", **how)


def test_a_gpu_without_bulk_copies_takes_another_kernel_of_the_same_order() -> None:
    old = replace(GPU, bulk_copies=False)
    assert asked(resident(LONG), gpu=old)[0].name == "fixed_round_robin"
    with pytest.raises(NoVariantError, match="needs bulk copies"):
        asked(resident(LONG), gpu=old, variant="fixed_queues")


@pytest.fixture
def able() -> gpuprims.Device:
    """Give a GPU with bulk copies; skip where there is none."""
    return with_bulk_copies()


def assert_same_bits(able: gpuprims.Device, *arrays: np.ndarray, there: Any = None, **how: Any) -> None:
    """Assert that the kernel and the reference give the same bits."""
    got = gpuprims.scan(
        *(there if there is not None else map(able.asarray, arrays)), variant=ANY_SIZE, determinism="device", **how
    )
    wanted = gpuprims.scan(*arrays, device="reference", determinism="device", **how)
    pairs = zip(got, wanted, strict=True) if isinstance(got, tuple) else ((got, wanted),)
    for one, other in pairs:
        assert bits(able.to_host(one)) == bits(other)


@pytest.mark.parametrize("size", [2, 4095, 4096, 4097, 8192, 8193, 300_001, (1 << 24) + 4321])
@pytest.mark.parametrize("inclusive", [True, False])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_sums_have_the_bits_of_the_reference(able: gpuprims.Device, dtype: str, inclusive: bool, size: int) -> None:
    need(able, dtype)
    x = np.random.default_rng(7).standard_normal(size).astype(dtype)
    assert_same_bits(able, x, inclusive=inclusive)


@pytest.mark.parametrize("op", ["prod", "max", "sum"])
def test_other_operators_have_the_bits_of_the_reference(able: gpuprims.Device, op: str) -> None:
    x = np.random.default_rng(8).uniform(0.99, 1.01, 1_300_003).astype(np.float32)
    x[1_000_001] = np.nan
    assert_same_bits(able, x, op=op)


VIEWS: dict[str, Callable[[Any], Any]] = {
    "in reverse": lambda x: x.reshape(-1)[::-1],
    "every second from the fourth on": lambda x: x.reshape(-1)[3::2],
    "from the second on": lambda x: x.reshape(-1)[1:],
    "rows in reverse": lambda x: x[:, ::-1],
    "rows that lie apart": lambda x: x[:, 3:],
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64", "complex64"])
def test_elements_may_begin_anywhere_and_lie_apart(
    able: gpuprims.Device, dtype: str, view: Callable[[Any], Any]
) -> None:
    need(able, dtype)
    whole = np.random.default_rng(11).uniform(0, 3, (7, 20_001)).astype(dtype)
    x, there = view(whole), view(able.asarray(whole))
    for inclusive in (True, False):
        assert_same_bits(able, x, there=[there], axis=x.ndim - 1, inclusive=inclusive)


def test_pairs_of_rows_keep_their_order(able: gpuprims.Device) -> None:
    slopes, offsets = affine_pair(np.random.default_rng(12), (5, 9001))
    pair = slopes.astype(np.float32), offsets.astype(np.float32)
    assert_same_bits(able, *pair, op=AFFINE, axis=1)


def test_results_may_take_the_place_of_elements(able: gpuprims.Device) -> None:
    x = np.random.default_rng(13).standard_normal(LONG).astype(np.float32)
    there = able.asarray(x)
    gpuprims.scan(there, out=there, variant="fixed_queues", determinism="device")
    assert bits(able.to_host(there)) == bits(gpuprims.scan(x, device="reference", determinism="device"))
