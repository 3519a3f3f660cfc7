"""What a reduction folds with: operators, those known by name, and their making for the dtypes of a call.

:mod:`.op` is the operator, :mod:`.named` the table of names, :mod:`.dtypes` NumPy's rules for their dtypes, and
:mod:`.folding` joins an operator to a map.
"""

from gpuprims.operators.dtypes import as_dtype
from gpuprims.operators.folding import Folding, Stages, as_map, make_folding, make_stages
from gpuprims.operators.moments import as_ddof
from gpuprims.operators.named import OPERATORS, find_op
from gpuprims.operators.op import Op

__all__ = [
    "OPERATORS",
    "Folding",
    "Op",
    "Stages",
    "as_ddof",
    "as_dtype",
    "as_map",
    "find_op",
    "make_folding",
    "make_stages",
]
