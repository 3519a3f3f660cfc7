"""The operators that have names."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from gpuprims.errors import ArgumentError, UnknownOperatorError, did_you_mean, quoted
from gpuprims.operators.dtypes import DtypeRule, counting, deciding, inexact, keeping, widening
from gpuprims.operators.extremes import beats, highest, locating_op, lowest
from gpuprims.operators.moments import SPREADS, spread
from gpuprims.operators.op import Op
from gpuprims.operators.rounding import with_errors


def _is_true(element: Any, index: Any) -> Any:
    return element != 0


def _named() -> dict[str, Op]:
    def op(name: str, fn: str, identity: Any, dtypes: DtypeRule, **more: Any) -> Op:
        return Op(fn, identity, name=name, commutative=True, dtypes=dtypes, **more)

    operators = [
        op("sum", "a + b", 0, widening(np.add)),
        op("prod", "a * b", 1, widening(np.multiply)),
        op("mean", "a + b", 0, inexact("mean", kinds="fc"), finish=lambda total, count: total / count),
        op("min", "minimum(a, b)", highest, keeping, of_nothing=False, better=beats("<")),
        op("max", "maximum(a, b)", lowest, keeping, of_nothing=False, better=beats(">")),
        # An element that decides the result is better than any, itself included, so a search ends there.
        op("any", "a | b", False, deciding, prepare=_is_true, better=lambda a, b: a),
        op("all", "a & b", True, deciding, prepare=_is_true, better=lambda a, b: ~a),
        op("count_nonzero", "a + b", 0, counting, prepare=lambda element, index: element != 0),
        op(
            "norm",
            "a + b",
            0,
            inexact("norm"),
            prepare=lambda element, index: element * element,
            finish=lambda squares, count: np.sqrt(squares),
            converts=True,
        ),
        *map(spread, SPREADS),
        locating_op("argmin", "<", highest),
        locating_op("argmax", ">", lowest),
    ]
    return {operator.name: operator for operator in operators}


OPERATORS: Mapping[str, Op] = _named()
# Other libraries' names.
INSTEAD = {
    "add": "sum", "plus": "sum", "+": "sum", "cumsum": "sum", "nansum": "sum", "total": "sum", "multiply": "prod",
    "mul": "prod", "times": "prod", "*": "prod", "product": "prod", "cumprod": "prod", "maximum": "max", "amax": "max",
    "cummax": "max", "minimum": "min", "amin": "min", "cummin": "min", "average": "mean", "avg": "mean",
    "variance": "var", "stdev": "std", "stddev": "std", "or": "any", "logical_or": "any", "|": "any", "and": "all",
    "logical_and": "all", "&": "all", "count": "count_nonzero", "l2": "norm",
}  # fmt: skip
_COMPENSATED: Mapping[str, Op] = {name: with_errors(OPERATORS[name]) for name in ("sum", "mean")}


def find_op(op: object, *, ddof: object = 0, compensated: bool = False) -> Op:
    """Return an operator, or one by name, with the keywords of ``reduce`` applied.

    ``var`` and ``std`` divide by the number of elements minus ``ddof``. ``compensated`` lets ``sum`` and ``mean`` carry
    their rounding errors.
    """
    if isinstance(op, str) and op in OPERATORS:
        operator = OPERATORS[op]
    elif isinstance(op, Op):
        operator = op
    else:
        hint = did_you_mean(op, OPERATORS, INSTEAD)
        if not hint and callable(op):
            hint = " (make an operator of a function: gpuprims.Op(fn, identity))"
        raise UnknownOperatorError(f"op: an Op or one of {', '.join(OPERATORS)}; got {quoted(op)}{hint}")
    named = operator.name if OPERATORS.get(operator.name) is operator else ""  # "" for the caller's own
    if (less := as_ddof(ddof)) != 0:
        if named not in SPREADS:
            raise ArgumentError(f"reduce with {operator.name}: ddof for {' and '.join(SPREADS)} only; got ddof={ddof}")
        operator = spread(named, less)
    if compensated:
        if named not in _COMPENSATED:
            known = " and ".join(_COMPENSATED)
            raise ArgumentError(f"reduce with {operator.name}: compensated=True for {known} only; got {quoted(op)}")
        operator = _COMPENSATED[named]
    return operator


def as_ddof(ddof: object) -> float:
    """Check a caller's ``ddof=``."""
    if isinstance(ddof, bool) or not isinstance(ddof, int | float | np.integer | np.floating):
        raise ArgumentError(f"ddof: a number; got {quoted(ddof)}")
    try:
        finite = math.isfinite(ddof)
    except OverflowError:
        finite = False
    if not finite:
        raise ArgumentError(f"ddof: a finite number; got {quoted(ddof)}")
    return int(ddof) if ddof == int(ddof) else float(ddof)
