"""use_stream: objects with __cuda_stream__, of any library, and streams given to others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import gpuprims
from gpuprims.backends.reference.device import DRIVER
from gpuprims.errors import ArgumentError


class Foreign:
    """A stream of another library."""

    def __init__(self, told: Any) -> None:
        self._told = told

    def __cuda_stream__(self) -> Any:
        return self._told


@pytest.fixture
def current(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Give the reference streams; the last of the list is the current one."""
    handles = [0]

    @contextmanager
    def in_stream(stream: Any) -> Iterator[None]:
        handles.append(stream.__cuda_stream__()[1])
        try:
            yield
        finally:
            handles.pop()

    monkeypatch.setattr(DRIVER, "in_stream", in_stream, raising=False)
    monkeypatch.setattr(DRIVER, "stream_handle", lambda: handles[-1], raising=False)
    return handles


def test_a_stream_is_current_inside_its_block(current: list[int]) -> None:
    outer = gpuprims.use_stream(Foreign((0, 0xA0)), "reference")
    with outer as stream:
        assert stream.__cuda_stream__() == (0, 0xA0)
        with gpuprims.use_stream(gpuprims.current_stream("reference"), "reference"), outer:
            assert current == [0, 0xA0, 0xA0, 0xA0]
        assert gpuprims.current_stream("reference").__cuda_stream__() == (0, 0xA0)
    with pytest.raises(KeyError), outer:
        raise KeyError
    assert current == [0]


def test_streams_of_older_libraries_are_attributes(current: list[int]) -> None:
    stream = Foreign(None)
    stream.__cuda_stream__ = (0, 3)  # type: ignore[method-assign,assignment]
    with gpuprims.use_stream(stream, "reference"):
        assert current[-1] == 3


@pytest.mark.parametrize("told", [(1, 5), (0, "5"), 5, (0,)])
def test_what_the_protocol_does_not_allow_is_refused(current: list[int], told: Any) -> None:
    with pytest.raises(ArgumentError, match=r"use_stream: __cuda_stream__ of version 0 with an int handle; got "):
        gpuprims.use_stream(Foreign(told), "reference")
    assert current == [0]


def test_devices_without_streams_are_refused(device: gpuprims.Device) -> None:
    if device.backend == "cuda":
        pytest.skip("has streams")
    with pytest.raises(ArgumentError, match=r"use_stream: a CUDA device; got <gpuprims.Device .*has no streams"):
        gpuprims.use_stream(Foreign((0, 7)), device)
    with pytest.raises(ArgumentError, match=r"current_stream: a CUDA device; got "):
        gpuprims.current_stream(device)


def test_calls_go_to_the_stream(device: gpuprims.Device) -> None:
    if device.backend != "cuda":
        pytest.skip("is about streams of a GPU")
    import cupy

    stream, x = cupy.cuda.Stream(non_blocking=True), device.asarray(np.ones(1 << 20, np.float32))
    device.synchronize()
    with gpuprims.use_stream(Foreign((0, stream.ptr)), device):
        assert gpuprims.current_stream(device).__cuda_stream__() == (0, stream.ptr)
        doubled = gpuprims.map("2*x", x)
        total = gpuprims.reduce(doubled)
    assert gpuprims.current_stream(device).handle != stream.ptr
    stream.synchronize()
    assert device.to_host(total) == 2 << 20
