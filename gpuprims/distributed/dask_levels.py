"""Levels of determinism of tasks: workers do not know the level of the process that makes a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gpuprims.core.determinism import Level, asked_level, at_level
from gpuprims.distributed.counts import refuse_weights


def at_this_level(label: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a call that tasks make at the level of determinism that is asked for here."""
    level = asked_level()
    return call if level is None else partial(at_level, label, level, call)


def level_of_counts(label: str, weights: Sequence[Any]) -> Level | None:
    """Return the level that is asked for; raise if chunks' sums of weights do not reach it."""
    refuse_weights(label, weights)
    return asked_level()
