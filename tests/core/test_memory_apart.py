"""Host arrays, also empty ones, on a device with memory of its own: a CPU's runtime that copies arrays, as GPUs do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from kernel_cases import assert_equal

import gpuprims
from gpuprims import ndimage
from gpuprims.core.program_cache import forget_calls
from gpuprims.errors import ArgumentError

Call = Callable[..., Any]
# Calls on an array of any shape, with device=.
OF_ANY: dict[str, Call] = {
    "map": lambda x, **on: gpuprims.map("2*x + i", x, index="i", **on),
    "reduce": lambda x, **on: gpuprims.reduce(x, **on),
    "any along an axis": lambda x, **on: gpuprims.reduce(x, op="any", axis=-1, **on),
    "scan": lambda x, **on: gpuprims.scan(x, reverse=True, **on),
    "scan along an axis": lambda x, **on: gpuprims.scan(x, axis=0, **on),
    "sums of segments": lambda x, **on: gpuprims.reduce(x, segments=[0, 0, x.shape[-1]], axis=-1, **on),
    "any of segments": lambda x, **on: gpuprims.reduce(x, op="any", segments=[0, 0, x.shape[0]], axis=0, **on),
    "scan of segments": lambda x, **on: gpuprims.scan(x, segments=[0, 0, x.shape[-1]], axis=-1, **on),
    "sums by key": lambda x, **on: gpuprims.reduce(x.ravel(), by=np.arange(x.size) // 3, **on),
    "compact": lambda x, **on: gpuprims.compact(x, "x > 2", **on),
    "nonzero": gpuprims.nonzero,
    "argwhere": gpuprims.argwhere,
    "sort": gpuprims.sort,
    "argsort": lambda x, **on: gpuprims.argsort(x, 0, **on),
    "unique": lambda x, **on: gpuprims.unique(x, return_counts=True, **on),
    "run_length_encode": lambda x, **on: gpuprims.run_length_encode(x.ravel(), **on),
    "bincount": lambda x, **on: gpuprims.bincount(x.ravel().astype(np.int64), minlength=9, **on),
    "histogram": lambda x, **on: gpuprims.histogram(x, 7, (0, 9), **on),
    "searchsorted": lambda x, **on: gpuprims.searchsorted(np.arange(9.0), x.astype(np.float64), **on),
    "isin": lambda x, **on: gpuprims.isin(x, [1, 2], **on),
    "take": lambda x, **on: gpuprims.take(np.arange(9.0), x.astype(np.int64), **on),
    "diff": gpuprims.diff,
    "diff of none": lambda x, **on: gpuprims.diff(x, x.shape[-1] + 1, **on),
    "random": lambda x, **on: gpuprims.random(7, x.shape, dtype=np.float32, **on),
}
# Those that write a result of known length.
INTO = ("map", "scan along an axis", "sums of segments", "any of segments", "scan of segments", "sort", "isin", "take",
        "diff", "diff of none", "random")  # fmt: skip
SHAPES = [(7,), (0,), (4, 0), (0, 4), (5, 33)]


@pytest.fixture
def apart(device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch) -> Iterator[gpuprims.Device]:
    if device.backend == "reference":
        pytest.skip("works on host arrays")
    if device.driver.shares_host_memory:
        monkeypatch.setattr(type(device.driver), "shares_host_memory", False)
    forget_calls()
    yield device
    forget_calls()


@pytest.mark.whole
@pytest.mark.parametrize("name", OF_ANY)
def test_host_arrays_are_copied(apart: gpuprims.Device, rng: np.random.Generator, name: str) -> None:
    for shape in SHAPES:
        x = rng.integers(0, 9, shape).astype(np.float32)
        expected = OF_ANY[name](x, device="reference")
        for _ in range(2):  # later calls find what the first one kept
            assert_alike(OF_ANY[name](x, device=apart), expected)
        if name in INTO:
            out = np.zeros_like(expected)
            assert OF_ANY[name](x, device=apart, out=out) is out
            assert_alike(out, expected)


def test_wrong_offsets_are_refused(apart: gpuprims.Device) -> None:
    x = np.arange(3)
    calls: list[Call] = [
        gpuprims.reduce,
        gpuprims.scan,
        gpuprims.sort,
        lambda x, **how: gpuprims.hash_counts(x, 4, **how),
    ]
    calls += [lambda x, **how: gpuprims.histogram(x, 3, (0, 3), **how)]
    for call in calls:
        for wrong in ([0, 2], [1, 3], [0, 4], [0, 2, 1, 3]):
            for offsets in (wrong, apart.asarray(np.array(wrong))):
                with pytest.raises(ArgumentError, match="segments="):
                    call(x if offsets is wrong else apart.asarray(x), segments=offsets, device=apart)


def test_filters_of_host_arrays(apart: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.integers(0, 9, (40, 33)).astype(np.float32)
    for found, expected in (
        (gpuprims.stencil(x, np.ones((3, 3)), device=apart), gpuprims.stencil(x, np.ones((3, 3)), device="reference")),
        (ndimage.median_filter(x, 3, device=apart), ndimage.median_filter(x, 3, device="reference")),
    ):
        assert_alike(found, expected)


def assert_alike(found: Any, expected: Any) -> None:
    """Hold results, whose sums are exact, against the reference's, and see that they are NumPy's."""
    several = isinstance(expected, tuple)
    assert isinstance(found, tuple) == several
    for one, other in zip(found if several else (found,), expected if several else (expected,), strict=True):
        assert isinstance(one, np.ndarray | np.generic)
        assert_equal(np.asarray(one), np.asarray(other))
