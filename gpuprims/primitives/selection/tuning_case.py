"""The calls of select that ``gpuprims.testing`` checks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpuprims.core.tuning_case import TuningCase, columns, rows, small_integers
from gpuprims.primitives.selection.quantiles import median, quantile


def _median(axis: int) -> TuningCase:
    def run(x: np.ndarray, **where: object) -> object:
        return median(x, axis, **where)  # type: ignore[arg-type]  # tests pass a Variant

    def expected(x: np.ndarray) -> np.ndarray:
        return np.asarray(np.median(x, axis=axis))

    return TuningCase("selection", small_integers, run, lambda x: (x,), expected, into=False)


CASE = replace(
    _median(0),
    further={
        "rows": replace(_median(1), elements=rows(small_integers)),
        "columns": replace(_median(0), elements=columns(small_integers)),
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
