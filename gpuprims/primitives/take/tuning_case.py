"""The calls of take that ``gpuprims.testing`` checks."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gpuprims.core.tuning_case import TuningCase, columns, rows, small_integers
from gpuprims.primitives.grouping.tuning_cases import cases_of
from gpuprims.primitives.rows import beside
from gpuprims.primitives.take import take


def _indices(length: int) -> np.ndarray:
    return np.random.default_rng(length).integers(-length, length, length)


def _of_axis(x: Any, axis: int) -> tuple[Any, ...]:
    return (*beside(x, _indices(x.shape[axis])), axis)


CASE = TuningCase(
    "take",
    small_integers,
    take,
    lambda x: beside(x, _indices(x.size)),
    lambda x: np.take(x, _indices(x.size)),
    into=False,
    further={
        name: TuningCase(
            "take",
            elements(small_integers),
            take,
            partial(_of_axis, axis=axis),
            lambda x, axis=axis: np.take(x, _indices(x.shape[axis]), axis),  # type: ignore[misc]  # of this axis
            into=False,
        )
        for name, elements, axis in (("rows", rows, 0), ("columns", columns, 1))
    }
    | {
        mode: TuningCase(
            "take",
            small_integers,
            partial(take, mode=mode),
            lambda x: beside(x, 3 * _indices(x.size)),
            lambda x, mode=mode: np.take(x, 3 * _indices(x.size), mode=mode),  # type: ignore[misc]  # of this mode
            into=False,
        )
        for mode in ("wrap", "clip")
    }
    | cases_of("take"),
)
