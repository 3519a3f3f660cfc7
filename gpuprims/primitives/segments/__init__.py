"""segments: reductions of runs of elements, given by row offsets as in CSR."""

from __future__ import annotations

from gpuprims.core.primitive import Primitive
from gpuprims.primitives.segments.plan import plan_by_offsets, sample
from gpuprims.primitives.segments.variants import VARIANTS

PRIMITIVE = Primitive("segments", VARIANTS, plan_by_offsets, sample, tuning_case=f"{__name__}.tuning_case", tuned=False)
