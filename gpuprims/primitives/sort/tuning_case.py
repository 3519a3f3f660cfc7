"""The calls of sort that ``gpuprims.testing`` checks."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from gpuprims.core.tuning_case import TuningCase, rows, small_integers
from gpuprims.primitives.sort import argsort, sort

_SORT = TuningCase("sort", small_integers, sort, lambda x: (x,), lambda x: np.sort(x, kind="stable"), into=True)
_ORDER = replace(_SORT, function=argsort, expected=partial(np.argsort, kind="stable"))
CASE = replace(_SORT, further={"indices": _ORDER, "rows": replace(_SORT, elements=rows(small_integers))})
