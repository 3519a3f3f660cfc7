"""Counters and tile statuses that stay with a stream."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpuprims.core import stream_memory
from gpuprims.core.stream_memory import Room, StreamMemory


class Streams:
    """A stream memory whose stream is chosen by hand, and the arrays that it has made."""

    def __init__(self) -> None:
        self.now = "a"
        self.made: list[np.ndarray] = []
        self.memory = StreamMemory(self.zeros, lambda: self.now)

    def zeros(self, count: int, dtype: Any) -> np.ndarray:
        self.made.append(np.zeros(count, dtype))
        return self.made[-1]


@pytest.mark.parametrize(
    ("verb", "dtype", "least"), [("counters", np.uint32, 1024), ("tile_statuses", np.uint64, 4096)]
)
def test_memory_stays_with_its_stream_until_more_is_asked_for(verb: str, dtype: type, least: int) -> None:
    streams = Streams()
    ask = getattr(streams.memory, verb)
    first = ask(3)
    assert (first.size, first.dtype) == (least, dtype)
    assert ask(least) is first
    larger = ask(least + 1)
    assert larger is not first
    assert larger.size == least + 1
    assert ask(3) is larger
    streams.now = "b"
    assert ask(3) is streams.made[2]
    streams.now = "a"
    assert ask(3) is larger


def test_memory_of_one_kernel_stays_with_its_stream_for_ever() -> None:
    streams = Streams()
    small, large = Room.of(100, 3), Room.of(100_000, 3)
    partials, zeros = streams.memory.beside(small)
    assert (partials.size, partials.dtype, zeros.size, zeros.dtype) == (1 << 16, np.uint8, 1024, np.uint32)
    more, _ = streams.memory.beside(large)
    assert more.size == 1 << 17
    assert streams.memory.beside(small)[0] is partials
    assert streams.memory.beside(Room.of(1 << 16, 1024))[0] is partials
    streams.now = "b"
    assert streams.memory.beside(small)[0] is not partials


def test_without_partial_values_kernels_get_the_zeros() -> None:
    partials, zeros = Streams().memory.beside(Room.of(0, 1025))
    assert partials is zeros
    assert zeros.size == 2048


def test_statuses_are_made_anew_before_tags_run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_memory, "_MOST_LAUNCHES", 3)
    streams = Streams()
    seen = [streams.memory.tile_statuses(1) for _ in range(7)]
    assert [next(k for k, made in enumerate(streams.made) if made is one) for one in seen] == [0, 0, 0, 1, 1, 1, 2]
