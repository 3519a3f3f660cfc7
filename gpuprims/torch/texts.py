"""Functions and operators as texts: arguments of torch's operators, which graphs keep beyond a process."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.errors import ArgumentError, quoted
from gpuprims.expressions import Expr, expression
from gpuprims.expressions.expr import Instruction
from gpuprims.operators import Op, find_op

# Operators with names that scans have a derivative of.
NAMED = ("sum", "prod", "max", "min")


def function_text(function: Any, arity: int | None) -> str:
    """Return the text of a function of elements."""
    return _written(expression(function, arity))


@lru_cache(maxsize=4096)
def _written(expr: Expr) -> str:
    return json.dumps(_record(expr), separators=(",", ":"))


def _record(expr: Expr) -> list[Any]:
    code = [[one.name, list(one.operands), one.value] for one in expr.code]
    return [list(expr.parameters), code, list(expr.results), expr.single]


@lru_cache(maxsize=4096)
def read_function(text: str) -> Expr:
    """Return the function of a text."""
    return _expr(json.loads(text))


def _expr(record: list[Any]) -> Expr:
    parameters, code, results, single = record
    read = tuple(Instruction(name, tuple(operands), value) for name, operands, value in code)
    return Expr(tuple(parameters), read, tuple(results), single)


def operator_text(op: str | Op) -> str:
    """Return the text of an operator: its name, or its function and identity."""
    if isinstance(op, str):
        if op not in NAMED:
            raise ArgumentError(f"scan: op= {', '.join(NAMED)} or an Op, for derivatives; got {find_op(op).name!r}")
        return op
    if not isinstance(op, Op):
        raise ArgumentError(f"scan: op= {', '.join(NAMED)} or an Op; got {quoted(op)}")
    identity = op._identity
    if op.prepare is not None or op.finish is not None or callable(identity):
        raise ArgumentError(f"scan: an Op of a function and an identity alone, for derivatives; got {op!r}")
    given = identity if isinstance(identity, tuple) else (identity,)
    if any(np.imag(one) for one in given):
        raise ArgumentError(f"scan: an Op with a real identity, for derivatives; got {quoted(identity)}")
    real = [one.real if isinstance(one, complex | np.complexfloating) else one for one in given]
    components = [one.item() if isinstance(one, np.generic) else one for one in real]
    return json.dumps([_record(op.fold), components, op.commutative, op.name], separators=(",", ":"))


@lru_cache(maxsize=1024)
def read_operator(text: str) -> Op:
    """Return the operator of a text."""
    if not text.startswith("["):
        return find_op(text)
    record, components, commutative, name = json.loads(text)
    fold, n = _expr(record), len(components)
    identity = tuple(components) if n > 1 else components[0]

    def fn(a: Any, b: Any) -> Any:
        return fold(*a, *b) if n > 1 else fold(a, b)

    return Op(fn, identity, commutative=commutative, name=name)
