"""scan/queues: which calls it takes, and how large its tiles are; results on GPUs that have bulk copies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from kernel_calls import resident
from kernel_cases import AFFINE, FLAT, affine_scan, need
from queue_cases import GPU, LONG, asked, with_bulk_copies
from scan_cases import affine_pair

import gpuprims
from gpuprims.core.geometry import Geometry
from gpuprims.core.registry import REGISTRY
from gpuprims.errors import NoVariantError
from gpuprims.primitives.queue_spec import QueueSpec
from gpuprims.primitives.queues import queueable

(QUEUES,) = (one for one in REGISTRY.variants("scan", "cuda") if one.name == "queues")
ANY_SIZE = replace(QUEUES, refuse=queueable(QUEUES.geometry))


@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8", "bool", "int32", "complex128"])
def test_long_arrays_pass_through_a_queue(dtype: str) -> None:
    variant, spec = asked(resident(LONG, dtype=dtype))
    assert variant.name == "queues"
    assert isinstance(spec, QueueSpec)
    vectors = variant.items // spec.vector
    assert vectors * spec.vector == variant.items
    assert vectors % 2 == 1  # lanes read different banks of local memory


@pytest.mark.parametrize("dtype", ["float32", "uint8", "complex128"])
def test_tiles_fit_in_local_memory(dtype: str) -> None:
    _, spec = asked(resident(LONG, dtype=dtype))
    result = gpuprims.scan(np.ones(1, dtype), device="reference").itemsize
    tile = spec.runs * asked(resident(LONG, dtype=dtype))[0].items
    held = tile * (spec.depth * np.dtype(dtype).itemsize + spec.places * result)
    assert spec.depth >= 2
    assert held + spec.depth * (spec.runs + 1) * result < GPU.asked_local_memory


@pytest.mark.parametrize(
    ("arrays", "how", "reason"),
    [
        ((resident(1 << 20),), {}, "is for 1056 or more tiles of 7168; this call has 147"),
        ((resident(LONG + 1)[1:],), {}, None),  # memory of a double is aligned, wherever it begins
        ((resident(2 * LONG)[::2],), {}, None),
        ((resident(LONG)[::-1],), {}, None),
        ((resident(2000, 40_001),), {"axis": 1}, None),
        ((resident(9000, 9001)[:, ::-1],), {}, None),  # row by row
        ((resident(LONG),), {"reverse": True}, None),
        ((resident(9000, 9001),), {"axis": 1, "reverse": True}, None),
        (
            (resident(90, 9000, 101)[..., ::-1],),
            {},
            "is for rows that fill a tile; this call has 810000 rows of 101 elements",
        ),
        ((resident(9000, 9001)[:, ::-1],), {"op": "argmax"}, "is for elements that lie at most 32 bytes apart"),
        ((resident(LONG, 1),), {"axis": 1}, "is for elements that lie at most 32 bytes apart"),
        ((resident(LONG, dtype="f8"),), {}, None),
        ((resident(LONG), resident(LONG)), {"op": AFFINE}, None),
        ((resident(LONG)[::-1], resident(LONG)), {"op": AFFINE}, None),
        ((resident(1 << 19, dtype="f8"),), {}, "is for 264 or more tiles of 3584; this call has 147"),
    ],
)
def test_other_calls_are_refused(arrays: tuple[np.ndarray, ...], how: dict[str, Any], reason: str | None) -> None:
    if reason is None:
        assert asked(*arrays, **how)[0].name == "queues"
        return
    assert asked(*arrays, **how)[0].name != "queues"
    with pytest.raises(NoVariantError, match=reason):
        asked(*arrays, variant="queues", **how)


@pytest.mark.parametrize(("dtype", "most"), [("float16", 2), ("uint8", 4), ("int32", 1)])
def test_lanes_of_a_queue_read_different_banks(dtype: str, most: int) -> None:
    variant, spec = asked(resident(LONG, dtype=dtype), op="max", reverse=True)
    assert (variant.name, spec.vector) == ("queues", 1)
    item = np.dtype(dtype).itemsize
    for phase in range(0, 4, item):
        words = {(phase + lane * variant.items * item) // 4 for lane in range(32)}
        assert len({word % 32 for word in words}) == len(words)
    assert variant.items % (2 * most) == most


@pytest.mark.parametrize(("dtype", "size"), [("float16", 4096), ("float16", 4099), ("uint8", 5000)])
def test_tiles_of_a_queue_are_no_longer_than_rows_need(dtype: str, size: int) -> None:
    variant, spec = asked(resident(min(LONG // size, 2047), size, dtype=dtype), op="max", axis=1)
    assert variant.name == "queues"
    tile = spec.runs * variant.items
    assert -(-size // tile) * tile - size < 2 * spec.runs * max(spec.vector, 4 // np.dtype(dtype).itemsize) * -(
        -size // tile
    )


@pytest.mark.parametrize(
    ("gpu", "reason"),
    [
        (replace(GPU, bulk_copies=False), "needs bulk copies"),
        (replace(GPU, asked_local_memory=48 << 10), "needs local memory for two tiles"),
    ],
)
def test_a_gpu_without_room_or_bulk_copies_is_refused(gpu: Any, reason: str) -> None:
    assert asked(resident(LONG), gpu=gpu)[0].name == "round_robin"
    with pytest.raises(NoVariantError, match=reason):
        asked(resident(LONG), gpu=gpu, variant="queues")


def test_facts_without_a_layout_are_refused() -> None:
    assert "elements that lie at most 32 bytes apart" in str(QUEUES.refuse(GPU, FLAT))


@pytest.mark.parametrize("geometry", [QUEUES.geometry, Geometry(160, 4, 1), Geometry(352, 28, 2), Geometry(992, 8, 1)])
@pytest.mark.parametrize("dtypes", [("float32",), ("uint8",), ("complex128",), ("float16", "float32", "uint8")])
def test_copies_begin_and_end_at_whole_16_bytes(geometry: Geometry, dtypes: tuple[str, ...]) -> None:
    variant = replace(QUEUES, geometry=geometry, refuse=queueable(geometry))
    sums = gpuprims.Op(lambda p, q: tuple(a + b for a, b in zip(p, q, strict=True)), (0,) * len(dtypes))
    arrays = [resident(LONG, dtype=dtype) for dtype in dtypes]
    chosen, spec = asked(*arrays, op=sums if len(dtypes) > 1 else "sum", variant=variant)
    assert not spec.phased
    for operands, elements in ((spec.inputs, chosen.items * spec.runs), (spec.outputs, chosen.items * 32)):
        ends = np.cumsum([elements * access.dtype.itemsize for access in operands])
        assert not np.any(ends % 16)


@pytest.fixture
def able() -> gpuprims.Device:
    """Give a GPU with bulk copies; skip where there is none."""
    return with_bulk_copies()


@pytest.mark.parametrize("size", [2, 7167, 7168, 7169, 300_001, (1 << 25) + 4321])
@pytest.mark.parametrize("inclusive", [True, False])
@pytest.mark.parametrize(
    ("dtype", "op"), [("float32", "sum"), ("float32", "max"), ("float16", "min"), ("uint8", "sum")]
)
def test_results_are_those_of_numpy(able: gpuprims.Device, dtype: str, op: str, inclusive: bool, size: int) -> None:
    need(able, dtype)
    rng = np.random.default_rng(7)
    x = rng.integers(-1, 2, size).astype(dtype)  # float32 holds each sum
    if op != "sum":
        x[len(x) // 2 :: 1 << 20] = np.nan
    got = able.to_host(gpuprims.scan(able.asarray(x), op=op, inclusive=inclusive, variant=ANY_SIZE))
    whole = x.cumsum(dtype=got.dtype) if op == "sum" else getattr(np, op + "imum").accumulate(x)
    nothing = {"sum": 0, "max": -np.inf, "min": np.inf}[op]
    wanted = whole if inclusive else np.concatenate([[got.dtype.type(nothing)], whole[:-1]])
    np.testing.assert_array_equal(got, wanted)


VIEWS: dict[str, Callable[[Any], Any]] = {
    "in reverse": lambda x: x.reshape(-1)[::-1],
    "every second": lambda x: x.reshape(-1)[::2],
    "every third from the fourth on": lambda x: x.reshape(-1)[3::3],
    "from the second on": lambda x: x.reshape(-1)[1:],
    "in reverse up to the second": lambda x: x.reshape(-1)[:0:-1],
    "rows in reverse": lambda x: x[:, ::-1],
    "rows that lie apart": lambda x: x[:, 3:],
    "every second of rows": lambda x: x[:, 1::2],
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64", "complex64"])
def test_elements_may_begin_anywhere_and_lie_apart(
    able: gpuprims.Device, dtype: str, view: Callable[[Any], Any]
) -> None:
    need(able, dtype)
    whole = np.random.default_rng(11).integers(0, 3, (7, 20_001)).astype(dtype)
    x, there = view(whole), view(able.asarray(whole))
    for axis in (0,) if x.ndim == 1 else (None, 1):
        for inclusive in (True, False):
            got = able.to_host(gpuprims.scan(there, axis=axis, inclusive=inclusive, variant=ANY_SIZE))
            wanted = x.cumsum(axis=axis, dtype=got.dtype)
            np.testing.assert_array_equal(got, wanted if inclusive else wanted - x.reshape(got.shape).astype(got.dtype))
        if abs(x.strides[-1]) > x.itemsize:
            continue  # a queue knows no other stride of elements in reverse
        got = able.to_host(gpuprims.scan(there, axis=axis, reverse=True, variant=ANY_SIZE))
        turned = x.ravel() if axis is None else x
        wanted = np.flip(np.flip(turned, -1).cumsum(axis=-1, dtype=got.dtype), -1)
        np.testing.assert_array_equal(got, wanted)


def test_pairs_of_rows_keep_their_order(able: gpuprims.Device) -> None:
    pair = affine_pair(np.random.default_rng(12), (5, 9001))
    there = [able.asarray(one)[:, ::-1] for one in pair]
    scanned = gpuprims.scan(*there, op=AFFINE, variant=ANY_SIZE)
    for got, one in zip(scanned, affine_scan(*(one[:, ::-1].ravel() for one in pair)), strict=True):
        np.testing.assert_array_equal(able.to_host(got), one)


@pytest.mark.parametrize("size", [2, 3071, 3072, 3073, 5120, 5124, 300_001, (1 << 22) + 4])
@pytest.mark.parametrize("inclusive", [True, False])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_pairs_keep_their_order(able: gpuprims.Device, dtype: str, inclusive: bool, size: int) -> None:
    pair = affine_pair(np.random.default_rng(13), size)
    there = [able.asarray(one.astype(dtype)) for one in pair]
    scanned = gpuprims.scan(*there, op=AFFINE, inclusive=inclusive, variant=ANY_SIZE)
    for got, whole, nothing in zip(scanned, affine_scan(*pair), (1, 0), strict=True):
        wanted = whole if inclusive else np.concatenate([[nothing], whole[:-1]])
        np.testing.assert_array_equal(able.to_host(got), wanted.astype(dtype))


def test_rows_of_any_length_and_their_own_memory(able: gpuprims.Device) -> None:
    x = np.random.default_rng(8).integers(-9, 9, (3000, 10_004)).astype(np.float32)
    there = able.asarray(x)
    gpuprims.scan(there, axis=1, out=there, variant="queues")
    np.testing.assert_array_equal(able.to_host(there), x.cumsum(axis=1))


def test_float_sums_repeat_bit_for_bit(able: gpuprims.Device) -> None:
    x = able.asarray(np.random.default_rng(9).standard_normal(1 << 25).astype(np.float32))
    first, *others = (able.to_host(gpuprims.scan(x, variant="queues")).tobytes() for _ in range(4))
    assert others == [first] * 3
