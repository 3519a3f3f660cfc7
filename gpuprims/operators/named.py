"""The operators that have names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpuprims.operators.dtypes import (
    DtypeRule,
    bitwise,
    counting,
    deciding,
    inexact,
    keeping,
    keeping_both,
    keeping_difference,
    keeping_nan,
    widening,
)
from gpuprims.operators.extremes import (
    all_bits,
    extreme_op,
    extremes_op,
    highest,
    locating_number_op,
    locating_op,
    lowest,
)
from gpuprims.operators.moments import spread
from gpuprims.operators.op import Op, for_integers


def _is_true(element: Any, index: Any) -> Any:
    return element != 0


def _op(name: str, fn: str, identity: Any, dtypes: DtypeRule, **more: Any) -> Op:
    return Op(fn, identity, name=name, commutative=True, dtypes=dtypes, **more)


def _without_nan(plain: Op) -> dict[str, Any]:
    """Return the keywords by which an operator skips NaN; ``plain`` folds integers and bools."""
    return {"skips": np.isnan, "instead": for_integers(plain)}


def _norm(prepare: Callable[[Any, Any], Any], **more: Any) -> Op:
    finish = {"finish": lambda squares, count: np.sqrt(squares)}
    return _op("norm", "a + b", 0, inexact("norm"), prepare=prepare, **finish, **more)


def _plain() -> dict[str, Op]:
    """Return the operators that fold every element, by name."""
    of_complex = _norm(lambda z, index: z.real * z.real + z.imag * z.imag)
    plain = [
        _op("sum", "a + b", 0, widening(np.add)),
        _op("prod", "a * b", 1, widening(np.multiply)),
        _op("mean", "a + b", 0, inexact("mean", real=False), finish=lambda total, count: total / count),
        extreme_op("min", "<", highest, keeping),
        extreme_op("max", ">", lowest, keeping),
        # An element that decides the result is better than any, itself included, so a search ends there.
        _op("any", "a | b", False, deciding, prepare=_is_true, better=lambda a, b: a),
        _op("all", "a & b", True, deciding, prepare=_is_true, better=lambda a, b: ~a),
        _op("bitwise_and", "a & b", all_bits, bitwise),
        _op("bitwise_or", "a | b", 0, bitwise),
        _op("bitwise_xor", "a ^ b", 0, bitwise),
        _op("count_nonzero", "a + b", 0, counting, prepare=lambda element, index: element != 0),
        _norm(
            lambda x, index: x * x,
            converts=True,
            instead=lambda elements, values: of_complex if elements[0].kind == "c" else None,
        ),
        *(spread(name, 0) for name in ("var", "std")),
        locating_op("argmin", "<", highest),
        locating_op("argmax", ">", lowest),
        extremes_op("minmax", dtypes=keeping_both),
        extremes_op("ptp", dtypes=keeping_difference, finish=lambda low, high, count: high - low),
    ]
    return {operator.name: operator for operator in plain}


def _skipping(named: dict[str, Op]) -> dict[str, Op]:
    """Return the operators that leave NaN out; ``named`` are those for elements that cannot be NaN."""
    integers = {name: {"instead": for_integers(named[name])} for name in ("argmin", "argmax")}
    skipping = [
        _op("nansum", "a + b", 0, widening(np.add), **_without_nan(named["sum"])),
        _op("nanprod", "a * b", 1, widening(np.multiply), **_without_nan(named["prod"])),
        _op(
            "nanmean",
            "a + b",
            0,
            inexact("nanmean", real=False),
            finish=lambda total, count: total / count,
            **_without_nan(named["mean"]),
        ),
        *(spread(name, 0) for name in ("nanvar", "nanstd")),
        extreme_op("nanmin", "<", highest, keeping_nan, plain=named["min"]),
        extreme_op("nanmax", ">", lowest, keeping_nan, plain=named["max"]),
        locating_number_op("nanargmin", "<", highest, **integers["argmin"]),
        locating_number_op("nanargmax", ">", lowest, **integers["argmax"]),
    ]
    return {operator.name: operator for operator in skipping}


_PLAIN = _plain()
OPERATORS: Mapping[str, Op] = _PLAIN | _skipping(_PLAIN)
