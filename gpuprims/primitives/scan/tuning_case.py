"""The call of scan that ``gpuprims tune`` measures."""

import numpy as np

from gpuprims.core.tuning_case import TuningCase, small_integers
from gpuprims.primitives.reduce.tuning_case import exact
from gpuprims.primitives.scan import scan

CASE = TuningCase("scan", small_integers, scan, lambda x: (x,), lambda x: exact(x, np.cumsum), into=True)
