"""The call of map that ``gpuprims tune`` measures."""

from gpuprims.core.tuning_case import TuningCase, small_integers
from gpuprims.primitives.map import map as map_arrays

CASE = TuningCase(
    "map",
    small_integers,
    map_arrays,
    lambda x: ("2*x + 1", x),
    lambda x: 2 * x + x.dtype.type(1),
    into=True,
)
