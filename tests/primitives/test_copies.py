"""Copies of arrays that GPUs read faster than the arrays themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_cases import assert_equal, on_host

import gpuprims
from gpuprims.core.layout import contiguous
from gpuprims.primitives import copies


@pytest.mark.parametrize(
    ("view", "copied"),
    [
        (lambda x: x.T, True),
        (lambda x: x.reshape(200, 10, 150).transpose(1, 2, 0), True),
        (lambda x: x[::-1].T, True),
        (lambda x: x, False),
        (lambda x: x[:, ::-1], False),
        (lambda x: x[:, ::2], False),
        (lambda x: x[:, :1].T, False),  # all elements lie along one axis
        (lambda x: x[:90, :100].T, False),  # few elements
        (lambda x: np.broadcast_to(x[:, :1], (200, 1500)), False),
        (lambda x: x.astype(np.complex128).T, True),
        (lambda x: x.astype(np.dtype((np.void, 32))).T, False),  # elements as long as a sector
    ],
)
def test_arrays_that_lie_across_are_copied(view: Callable[[np.ndarray], np.ndarray], copied: bool) -> None:
    x = np.zeros((200, 1500), np.float32)
    array = view(x)
    form = contiguous(array.dtype, array.shape, 16)._replace(strides=array.strides)
    assert copies._lies_across(form, 1 << 30) == copied
    assert not copies._lies_across(form, array.nbytes - 1)  # no room for a copy


def test_a_gpu_scans_and_compacts_copies(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    if device.backend == "reference":
        pytest.skip("has no arrays of its own")
    copied: list[int] = []
    copy, copier = copies.contiguous_copy, copies.copier

    def watched(array: Any, place: gpuprims.Device) -> Any:
        copied.append(1)
        return copy(array, place)

    def watched_later(array: Any, place: gpuprims.Device) -> Any:
        run = copier(array, place)
        return lambda arrays: copied.append(1) or run(arrays)

    monkeypatch.setattr(copies, "contiguous_copy", watched)
    monkeypatch.setattr(copies, "copier", watched_later)
    monkeypatch.setattr(copies, "_is_gpu", lambda device: True)
    x = rng.integers(-9, 9, (200, 150)).astype(np.int32)
    there = device.driver.asarray(x).T
    for _ in range(2):
        assert_equal(on_host(device, gpuprims.scan(there)), x.T.cumsum())
        assert_equal(on_host(device, gpuprims.compact(there, "x > 0")), x.T[x.T > 0])
    assert len(copied) == 4
