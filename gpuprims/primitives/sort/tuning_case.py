"""The calls of sort that ``gpuprims.testing`` checks."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from gpuprims.core.tuning_case import TuningCase, columns, rows, small_integers
from gpuprims.primitives.grouping.tuning_cases import cases_of
from gpuprims.primitives.rows import beside
from gpuprims.primitives.sort import argsort, lexsort, sort, sort_by_key

_SORT = TuningCase("sort", small_integers, sort, lambda x: (x,), lambda x: np.sort(x, kind="stable"), into=True)
_ORDER = replace(_SORT, function=argsort, expected=partial(np.argsort, kind="stable"))
_FALLING = replace(_SORT, function=partial(sort, descending=True), expected=lambda x: np.sort(x)[::-1])


def _numbers(n: int) -> np.ndarray:
    return np.random.default_rng(n).integers(0, 99, n)


CASE = replace(
    _SORT,
    further={
        "indices": _ORDER,
        "descending": _FALLING,
        "rows": replace(_SORT, elements=rows(small_integers)),
        "columns": replace(
            _SORT,
            elements=columns(small_integers),
            function=partial(sort, axis=0),
            expected=partial(np.sort, axis=0, kind="stable"),
        ),
        "values beside keys": replace(
            _SORT,
            function=lambda *arrays, **how: sort_by_key(*arrays, **how)[1],
            arguments=lambda x: beside(x, _numbers(x.size)),
            expected=lambda x: _numbers(x.size)[np.argsort(x, kind="stable")],
            into=False,
        ),
        "several keys": replace(
            _SORT,
            function=lambda *keys, **how: lexsort(keys, **how),
            arguments=lambda x: beside(x, _numbers(x.size)),
            expected=lambda x: np.lexsort((x, _numbers(x.size))),
            into=False,
        ),
        "comparison": replace(
            _SORT,
            function=partial(sort, less="abs(a) < abs(b)"),
            expected=lambda x: x[np.argsort(abs(x), kind="stable")],
        ),
        **cases_of("sort"),
    },
)
