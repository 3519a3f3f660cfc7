"""The calls of selection that ``gpuprims.testing`` checks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gpuprims.core.tuning_case import TuningCase, columns, rows, small_integers
from gpuprims.primitives.selection.partitions import argpartition, partition
from gpuprims.primitives.selection.quantiles import median, quantile
from gpuprims.primitives.take import take


def _median(axis: int) -> TuningCase:
    def run(x: np.ndarray, **where: object) -> object:
        return median(x, axis, **where)  # type: ignore[arg-type]  # tests pass a Variant

    def expected(x: np.ndarray) -> np.ndarray:
        return np.asarray(np.median(x, axis=axis))

    return TuningCase("selection", small_integers, run, lambda x: (x,), expected, into=False)


def _parted(x: Any, **where: Any) -> Any:
    """Return the element of the rank, from a partition."""
    k = _rank(x)
    return partition(x, k, **where)[k : k + 1]


def _indexed(x: Any, **where: Any) -> Any:
    """Return the element of the rank, by its index from an argpartition."""
    k = _rank(x)
    return take(x, argpartition(x, k, **where)[k : k + 1], device=where["device"])


def _rank(x: Any) -> int:
    return int(x.size) // 3


def _ranked(x: np.ndarray) -> np.ndarray:
    return np.sort(x)[_rank(x) : _rank(x) + 1]


CASE = replace(
    _median(0),
    further={
        "rows": replace(_median(1), elements=rows(small_integers)),
        "columns": replace(_median(0), elements=columns(small_integers)),
        "partition": replace(_median(0), function=_parted, expected=_ranked),
        "argpartition": replace(_median(0), function=_indexed, expected=_ranked),
        "quantiles": TuningCase(
            "selection",
            small_integers,
            quantile,
            lambda x: (x, [0, 0.3, 1]),
            lambda x: np.quantile(x.astype(np.float64), [0, 0.3, 1]),
            into=False,
            rtol=1e-12,
        ),
    },
)
