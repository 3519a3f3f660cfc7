"""The operators that have names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpuprims.operators.dtypes import DtypeRule, bitwise, counting, deciding, inexact, keeping, widening
from gpuprims.operators.extremes import all_bits, beats, highest, locating_op, lowest
from gpuprims.operators.moments import SPREADS, spread
from gpuprims.operators.op import Op


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
        op("bitwise_and", "a & b", all_bits, bitwise),
        op("bitwise_or", "a | b", 0, bitwise),
        op("bitwise_xor", "a ^ b", 0, bitwise),
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
