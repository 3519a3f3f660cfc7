"""segscan: scans of runs of elements, given by row offsets as in CSR."""

from __future__ import annotations

from gpuprims.core.primitive import Primitive
from gpuprims.primitives.segscan.plan import plan_segscan, sample
from gpuprims.primitives.segscan.variants import VARIANTS

PRIMITIVE = Primitive("segscan", VARIANTS, plan_segscan, sample, tuning_case=f"{__name__}.tuning_case", tuned=False)
