"""The call of map that ``gpuprims tune`` measures, and the calls that are only checked."""

from gpuprims.core.tuning_case import TuningCase, small_integers
from gpuprims.primitives.grouping.tuning_cases import cases_of
from gpuprims.primitives.map import map as map_arrays

CASE = TuningCase(
    "map",
    small_integers,
    map_arrays,
    lambda x: ("2*x + 1", x),
    lambda x: 2 * x + x.dtype.type(1),
    into=True,
    further=cases_of("map"),
)
