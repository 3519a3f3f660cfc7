"""Counters and tile statuses that stay with a stream."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpuprims.core import stream_memory
from gpuprims.core.stream_memory import StreamMemory


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


def test_statuses_are_made_anew_before_tags_run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_memory, "_MOST_LAUNCHES", 3)
    streams = Streams()
    seen = [streams.memory.tile_statuses(1) for _ in range(7)]
    assert [next(k for k, made in enumerate(streams.made) if made is one) for one in seen] == [0, 0, 0, 1, 1, 1, 2]
