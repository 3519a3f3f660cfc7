"""The calls of segments that ``gpuprims.testing`` checks: sums, and affine maps, which do not commute."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from gpuprims.core.tuning_case import TuningCase, signs, small_integers
from gpuprims.primitives.grouping.tuning_cases import cases_of
from gpuprims.primitives.reduce import reduce
from gpuprims.primitives.reduce.tuning_case import composed, folded


def offsets_of(size: int) -> np.ndarray:
    """Return row offsets of segments of about two elements each; some are empty."""
    inner = np.random.default_rng(size).integers(0, size + 1, size // 2)
    return np.sort(np.concatenate([[0, size], inner]))


def _reduced(*arrays: Any, **keywords: Any) -> Any:
    return reduce(*arrays, segments=offsets_of(arrays[0].size), **keywords)


def _sums(x: np.ndarray) -> np.ndarray:
    totals = np.concatenate([[0], np.cumsum(x, dtype=np.float64)])
    wide = {"i": np.int64, "u": np.uint64}.get(x.dtype.kind, x.dtype)
    return np.asarray(np.diff(totals[offsets_of(x.size)]), wide)


def _maps(x: np.ndarray) -> np.ndarray:
    offsets = offsets_of(x.size)
    parts = (x[first:last] for first, last in pairwise(offsets))
    return np.array([composed(part)[-1] if part.size else 0 for part in parts], x.dtype)


_SUM = TuningCase("segments", small_integers, _reduced, lambda x: (x,), _sums, into=False)
_AFFINE = replace(_SUM, elements=signs, function=partial(folded, _reduced), arguments=lambda x: (x, x), expected=_maps)
CASE = replace(_SUM, further={"affine maps": _AFFINE, **cases_of("segments")})
