"""Foldings whose results have the same bits on every device."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.expressions import TypedExpr, as_portable, trace, typed
from gpuprims.expressions.exact import is_exact
from gpuprims.expressions.functions import PORTABLE, SELECTIONS
from gpuprims.expressions.narrow import narrow
from gpuprims.expressions.same_bits import OF_COMPLEX
from gpuprims.expressions.typing import Node
from gpuprims.operators.dtypes import FLOAT32, FLOAT64, INT64
from gpuprims.operators.folding import Folding

_EXACT = frozenset((*SELECTIONS, "bits_of", "float_of", "real", "imag", "left_shift", "right_shift"))


def is_portable(folding: Folding) -> bool:
    """Return True if all functions of a folding have the same bits on every device, but for NaN and signs of zeros."""
    return all(is_portable_function(function) for function in (folding.map, folding.op, folding.finish))


def is_portable_function(function: TypedExpr) -> bool:
    """Return True if a function has the same bits on every device, but for NaN and signs of zeros."""
    # A selection, like where, returns an operand as it is, and portable functions are made of exact operations.
    nodes = [replace(node, name="where") if _is_same(node) else node for node in function.nodes]
    # Narrow floats are float32 where they are read, and each part of a complex number is computed by itself.
    numbers = [node.name == "where" and (node.dtype.kind == "c" or narrow(node.dtype)) for node in nodes]
    real = [replace(node, dtype=FLOAT32) if one else node for node, one in zip(nodes, numbers, strict=True)]
    return is_exact(replace(function, nodes=tuple(real)))


def _is_same(node: Node) -> bool:
    """Return True for nodes that have the same bits on every device, whatever their dtype."""
    if node.dtype.kind == "c" or narrow(node.dtype):
        return node.name in (OF_COMPLEX if node.dtype.kind == "c" else ("argument", "constant", "cast", "where"))
    return node.name in _EXACT or node.name.startswith(PORTABLE)


def rounds(folding: Folding) -> bool:
    """Return True if the results of a fold depend on the order of its operations, but for NaN and signs of zeros."""
    if folding.exact or folding.better is not None or all(value.kind in "biu" for value in folding.values):
        return False
    computed = [node for node in folding.op.nodes if node.dtype.kind not in "biu"]
    return any(node.name not in ("argument", "where", *SELECTIONS) for node in computed)


def adds(folding: Folding) -> bool:
    """Return True if a fold adds float32 or float64, values of one component."""
    names = [node.name for node in folding.op.nodes]
    return folding.values in ((FLOAT32,), (FLOAT64,)) and names == ["argument", "argument", "add"]


@lru_cache(maxsize=1024)
def settled(folding: Folding) -> Folding:
    """Return a folding without the freedom that IEEE 754 leaves: one payload of NaN, and a zero that a fold picks is 0.

    Its functions are portable. Processors give NaN different payloads, and of two zeros that compare equal either may
    be the larger one.
    """
    folding = replace(
        folding,
        contracted=False,
        map=as_portable(folding.map, settled=False),
        op=as_portable(folding.op, settled=False, chooses=False),
        in_run=folding.in_run and as_portable(folding.in_run, settled=False, chooses=False),
    )
    if not any(output.kind == "f" for output in folding.outputs):
        return replace(folding, finish=as_portable(folding.finish, settled=False))
    picks = not rounds(folding)

    def finish(*given: Any) -> Any:
        results = zip(folding.finish(*given), folding.outputs, strict=True)
        return tuple(_settled(result, picks) if output.kind == "f" else result for result, output in results)

    nodes = folding.finish.nodes
    arguments = {int(node.value): node.dtype for node in nodes if node.name == "argument"}
    # Functions that compute indices take the elements, too.
    given = (*folding.values, *[INT64] * (folding.finish.arity - len(folding.values)))
    dtypes = tuple(arguments.get(k, dtype) for k, dtype in enumerate(given))
    finished = typed(trace(finish, len(dtypes)), dtypes, folding.outputs)
    return replace(folding, finish=as_portable(finished, settled=False))


def _settled(result: Any, picks: bool) -> Any:
    whole = np.where(result == 0, 0, result) if picks else result  # not -0
    return np.where(whole != whole, np.nan, whole)
