"""compact along an axis, against numpy.compress."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from kernel_cases import COMPLEX, DTYPES, assert_equal, need, on_device, on_host, random_values

import gpuprims
from gpuprims.errors import ArgumentError, AxisError, DtypeError, ShapeError

SHAPES = [(1,), (5003,), (1, 1), (700, 9), (9, 700), (13, 11, 17), (4, 1, 3, 5), (0, 3), (3, 0)]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_axis(device: gpuprims.Device, rng: np.random.Generator, shape: tuple[int, ...], share: float) -> None:
    x = random_values(rng, np.float32, shape)
    for given in (x, x.T, x[::-1], x[..., ::2]):
        for axis in range(-given.ndim, given.ndim):
            mask = rng.random(given.shape[axis]) < share
            assert_equal(gpuprims.compact(given, mask, axis=axis, device=device), given.compress(mask, axis))


@pytest.mark.parametrize("dtype", [*DTYPES, *COMPLEX])
def test_every_dtype(device: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    need(device, np.dtype(dtype))
    x, mask = random_values(rng, dtype, (40, 30)), rng.random(40) < 0.4
    assert_equal(gpuprims.compact(x, mask, axis=0, device=device), x[mask])
    assert_equal(gpuprims.compact(x.T, list(mask), axis=1, device=device), x.T[:, mask])


def test_arrays_of_a_device_and_masks_of_it_or_the_host(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float32, (300, 50))
    there = on_device(device, x)
    for axis in (0, 1):
        mask = rng.random(x.shape[axis]) < 0.5
        for given in (on_device(device, mask), mask, mask.tolist()):
            got = gpuprims.compact(there, given, axis=axis)
            assert type(got) is type(there)
            assert_equal(on_host(device, got), x.compress(mask, axis))


X = np.ones((2, 3), np.float32)
WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "a short mask": (
        lambda **w: gpuprims.compact(X, [True], axis=1, **w), ShapeError,
        "compact: with axis=1, a mask of shape (3,), a bool for each place; got (1,)",
    ),
    "a mask of elements": (lambda **w: gpuprims.compact(X, X > 0, axis=0, **w), ShapeError, "of shape (2,)"),
    "indices": (lambda **w: gpuprims.compact(X, [0, 1], axis=0, **w), DtypeError, "or call take for indices"),
    "a function": (lambda **w: gpuprims.compact(X, np.isnan, axis=0, **w), ArgumentError, "got a function"),
    "an axis": (lambda **w: gpuprims.compact(X, [True], axis=2, **w), AxisError, "from -2 to 1 for 2"),
    "several axes": (lambda **w: gpuprims.compact(X, [True], axis=(0, 1), **w), AxisError, "an int; got (0, 1)"),
    "a variant": (
        lambda **w: gpuprims.compact(X, [True, False], axis=0, variant="chunks", **w), ArgumentError,
        "no variant= with axis=",
    ),
    "a plan": (
        lambda **w: gpuprims.plan("compact", X, np.ones(2, bool), axis=0, **w), ArgumentError, "make a plan of take",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_refused(device: gpuprims.Device, case: str) -> None:
    call, error, message = WRONG[case]
    with pytest.raises(error, match=re.escape(message)):
        call(device=device)
