"""The operators that are known by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpuprims.errors import UnknownOperatorError
from gpuprims.operators.dtypes import DtypeRule, averaging, deciding, keeping, widening
from gpuprims.operators.extremes import highest, locating_op, lowest
from gpuprims.operators.op import Op


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
        locating_op("argmin", "<", highest),
        locating_op("argmax", ">", lowest),
    ]
    return {operator.name: operator for operator in operators}


OPERATORS: Mapping[str, Op] = _named()


def find_op(op: object) -> Op:
    """Return the operator that ``op`` names or is."""
    if isinstance(op, Op):
        return op
    if isinstance(op, str) and op in OPERATORS:
        return OPERATORS[op]
    raise UnknownOperatorError(f"op: an Op or one of {', '.join(OPERATORS)}; got {op!r}")
