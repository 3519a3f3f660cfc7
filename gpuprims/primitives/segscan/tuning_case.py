"""The calls of segscan that ``gpuprims.testing`` checks: sums, and affine maps, which do not commute."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from gpuprims.core.tuning_case import TuningCase, signs, small_integers
from gpuprims.primitives.grouping.tuning_cases import cases_of
from gpuprims.primitives.reduce.tuning_case import composed, folded
from gpuprims.primitives.scan import scan
from gpuprims.primitives.segments.tuning_case import offsets_of


def _scanned(*arrays: Any, **keywords: Any) -> Any:
    return scan(*arrays, segments=offsets_of(arrays[0].size), **keywords)


def _runs(x: np.ndarray) -> list[np.ndarray]:
    return [x[first:last] for first, last in pairwise(offsets_of(x.size)) if first < last]


def _sums(x: np.ndarray) -> np.ndarray:
    wide = {"i": np.int64, "u": np.uint64}.get(x.dtype.kind, x.dtype)
    return np.concatenate([np.zeros(0, wide), *(np.cumsum(run, dtype=wide) for run in _runs(x))])


def _maps(x: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros(0, x.dtype), *(composed(run) for run in _runs(x))])


_SUM = TuningCase("segscan", small_integers, _scanned, lambda x: (x,), _sums, into=False)
_AFFINE = replace(_SUM, elements=signs, function=partial(folded, _scanned), arguments=lambda x: (x, x), expected=_maps)
CASE = replace(_SUM, further={"affine maps": _AFFINE, **cases_of("segscan")})
