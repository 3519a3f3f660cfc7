"""Operators of folds.

:mod:`.op` defines operators, :mod:`.named` those that have names, :mod:`.dtypes` their dtypes by NumPy's rules, and
:mod:`.folding` joins an operator and a map for the dtypes of a call.
"""

from gpuprims.operators.folding import Folding, Stages, as_map, carried, make_folding, make_stages, unfinished
from gpuprims.operators.named import INSTEAD, OPERATORS, as_ddof, find_op
from gpuprims.operators.op import Op

__all__ = [
    "INSTEAD", "OPERATORS", "Folding", "Op", "Stages", "as_ddof", "as_map", "carried", "find_op", "make_folding",
    "make_stages", "unfinished",
]  # fmt: skip
