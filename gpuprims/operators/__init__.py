"""Operators of folds.

:mod:`.op` defines operators, :mod:`.named` those that have names, and :mod:`.dtypes` their dtypes by NumPy's rules.
:mod:`.lookup` finds them by name or by NumPy's function. :mod:`.folding` joins an operator and a map for the dtypes of
a call, and :mod:`.altered` adds masks and initial values.
"""

from gpuprims.operators.altered import Initial, altered, as_initial, masked_map
from gpuprims.operators.folding import (
    Folding,
    Stages,
    as_map,
    carried,
    counting,
    counting_down,
    from_index,
    make_folding,
    make_stages,
    unfinished,
)
from gpuprims.operators.lookup import INSTEAD, as_ddof, as_op, find_op
from gpuprims.operators.named import OPERATORS
from gpuprims.operators.op import Op

__all__ = [
    "INSTEAD", "OPERATORS", "Folding", "Initial", "Op", "Stages", "altered", "as_ddof", "as_initial", "as_map", "as_op",
    "carried", "counting", "counting_down", "find_op", "from_index", "make_folding", "make_stages", "masked_map",
    "unfinished",
]  # fmt: skip
