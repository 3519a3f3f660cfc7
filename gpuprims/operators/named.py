"""The operators that have names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpuprims.errors import ArgumentError, UnknownOperatorError, quoted
from gpuprims.operators.dtypes import DtypeRule, averaging, counting, deciding, keeping, widening
from gpuprims.operators.extremes import highest, locating_op, lowest
from gpuprims.operators.moments import SPREADS, as_ddof, deviation, norm, variance
from gpuprims.operators.op import Op
from gpuprims.operators.rounding import with_errors


def _named() -> dict[str, Op]:
    def op(name: str, fn: str, identity: Any, dtypes: DtypeRule, **more: Any) -> Op:
        return Op(fn, identity, name=name, commutative=True, dtypes=dtypes, **more)

    operators = [
        op("sum", "a + b", 0, widening(np.add)),
        op("prod", "a * b", 1, widening(np.multiply)),
        op("mean", "a + b", 0, averaging, finish=lambda total, count: total / count),
        op("min", "minimum(a, b)", highest, keeping, of_nothing=False),
        op("max", "maximum(a, b)", lowest, keeping, of_nothing=False),
        op("any", "a | b", False, deciding, prepare=lambda element, index: element != 0),
        op("all", "a & b", True, deciding, prepare=lambda element, index: element != 0),
        op("count_nonzero", "a + b", 0, counting, prepare=lambda element, index: element != 0),
        norm(),
        variance(),
        deviation(),
        locating_op("argmin", "<", highest),
        locating_op("argmax", ">", lowest),
    ]
    return {operator.name: operator for operator in operators}


OPERATORS: Mapping[str, Op] = _named()


_COMPENSATED: Mapping[str, Op] = {name: with_errors(OPERATORS[name]) for name in ("sum", "mean")}


def find_op(op: object, *, ddof: object = 0, compensated: bool = False) -> Op:
    """Return an operator by name, with the keywords of ``reduce`` applied.

    Parameters
    ----------
    op : str or Op
    ddof : int or float, default 0
        ``var`` and ``std`` divide by the number of elements minus ``ddof``.
    compensated : bool, default False
        True to let ``sum`` and ``mean`` carry their rounding errors.

    Returns
    -------
    Op

    Raises
    ------
    UnknownOperatorError
        ``op`` is neither an operator nor the name of one.
    ArgumentError
        A keyword does not apply to the operator.
    """
    if isinstance(op, str) and op in OPERATORS:
        operator = OPERATORS[op]
    elif isinstance(op, Op):
        operator = op
    else:
        raise UnknownOperatorError(f"op: an Op or one of {', '.join(OPERATORS)}; got {quoted(op)}")
    named = operator.name if OPERATORS.get(operator.name) is operator else ""  # "" for the caller's own
    if (less := as_ddof(ddof)) != 0:
        if named not in SPREADS:
            raise ArgumentError(f"reduce with {operator.name}: ddof for {' and '.join(SPREADS)} only; got ddof={ddof}")
        operator = SPREADS[named](less)
    if compensated:
        if named not in _COMPENSATED:
            known = " and ".join(_COMPENSATED)
            raise ArgumentError(f"reduce with {operator.name}: compensated=True for {known} only; got {quoted(op)}")
        operator = _COMPENSATED[named]
    return operator
