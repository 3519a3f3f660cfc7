"""The calls of compact that ``gpuprims.testing`` checks."""

from gpuprims.core.tuning_case import TuningCase, small_integers
from gpuprims.primitives.compact import compact
from gpuprims.primitives.grouping.tuning_cases import cases_of

CASE = TuningCase(
    "compact",
    small_integers,
    compact,
    lambda x: (x, "x > 0"),
    lambda x: x[x > 0],
    into=False,
    further=cases_of("compact"),
)
