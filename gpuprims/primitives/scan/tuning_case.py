"""The call of scan that ``gpuprims tune`` measures, and the calls that are only checked."""

from dataclasses import replace
from functools import partial

import numpy as np

from gpuprims.core.tuning_case import TuningCase, columns, rows, signs, small_integers
from gpuprims.primitives.grouping.tuning_cases import cases_of
from gpuprims.primitives.reduce.tuning_case import composed, exact, folded
from gpuprims.primitives.scan import scan

_SUM = TuningCase("scan", small_integers, scan, lambda x: (x,), lambda x: exact(x, np.cumsum), into=True)
_AFFINE = replace(_SUM, elements=signs, function=partial(folded, scan), arguments=lambda x: (x, x), expected=composed)
CASE = replace(
    _SUM,
    further={
        "max": replace(_SUM, function=partial(scan, op="max"), expected=lambda x: np.maximum.accumulate(x.ravel())),
        "exclusive sum": replace(
            _SUM,
            function=partial(scan, inclusive=False),
            expected=lambda x: exact(np.concatenate([[x.dtype.type(0)], x.ravel()[:-1]])[: x.size], np.cumsum),
        ),
        "affine maps": _AFFINE,
    }
    | {
        f"affine maps of {name}": replace(
            _AFFINE,
            elements=grid(signs),
            function=partial(folded, scan, axis=axis),
            expected=partial(composed, axis=axis),
        )
        for axis, (name, grid) in enumerate((("columns", columns), ("rows", rows)))
    }
    | cases_of("scan"),
)
