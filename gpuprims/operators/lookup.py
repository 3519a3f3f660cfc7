"""Find the operator of a call: an Op, a name, or a function of NumPy or Python that has a name here."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from gpuprims.errors import ArgumentError, UnknownOperatorError, did_you_mean, quoted
from gpuprims.operators.moments import SPREADS, spread
from gpuprims.operators.named import OPERATORS
from gpuprims.operators.op import Op
from gpuprims.operators.rounding import with_errors

# Other libraries' names.
INSTEAD = {
    "add": "sum", "plus": "sum", "+": "sum", "cumsum": "sum", "total": "sum", "multiply": "prod",
    "mul": "prod", "times": "prod", "*": "prod", "product": "prod", "cumprod": "prod", "maximum": "max", "amax": "max",
    "cummax": "max", "minimum": "min", "amin": "min", "cummin": "min", "average": "mean", "avg": "mean",
    "variance": "var", "stdev": "std", "stddev": "std", "or": "any", "logical_or": "any", "|": "bitwise_or",
    "and": "all", "logical_and": "all", "&": "bitwise_and", "^": "bitwise_xor", "xor": "bitwise_xor",
    "count": "count_nonzero", "l2": "norm",
    "fmax": "nanmax", "fmin": "nanmin", "range": "ptp", "aminmax": "minmax", "nancumsum": "nansum",
    "nancumprod": "nanprod",
}  # fmt: skip
# Functions that no operator computes, and the calls that do.
_OTHER_CALLS = {
    "median": "median(x)", "quantile": "quantile(x, q)", "percentile": "percentile(x, q)", "sort": "sort(x)",
    "sorted": "sort(x)", "argsort": "argsort(x)", "unique": "unique(x)", "set": "unique(x)", "topk": "top_k(x, k)",
    "top_k": "top_k(x, k)", "histogram": "histogram(x)", "bincount": "bincount(x)", "diff": "diff(x)",
}  # fmt: skip
# Functions that fold as an operator does, by its name.
_FUNCTIONS: Mapping[str, tuple[Callable[..., Any], ...]] = {
    "sum": (np.add, np.sum, builtins.sum, operator.add),
    "prod": (np.multiply, np.prod, operator.mul, math.prod),
    "mean": (np.mean,),
    "min": (np.minimum, np.min, np.amin, builtins.min),
    "max": (np.maximum, np.max, np.amax, builtins.max),
    "any": (np.logical_or, np.any, builtins.any),
    "all": (np.logical_and, np.all, builtins.all),
    "bitwise_and": (np.bitwise_and, operator.and_),
    "bitwise_or": (np.bitwise_or, operator.or_),
    "bitwise_xor": (np.bitwise_xor, operator.xor),
    "count_nonzero": (np.count_nonzero,),
    "norm": (np.linalg.norm,),
    "var": (np.var,),
    "std": (np.std,),
    "argmin": (np.argmin,),
    "argmax": (np.argmax,),
    "ptp": (np.ptp,),
    "nansum": (np.nansum,),
    "nanprod": (np.nanprod,),
    "nanmean": (np.nanmean,),
    "nanvar": (np.nanvar,),
    "nanstd": (np.nanstd,),
    "nanmin": (np.nanmin, np.fmin),
    "nanmax": (np.nanmax, np.fmax),
    "nanargmin": (np.nanargmin,),
    "nanargmax": (np.nanargmax,),
}
# By identity, because a caller's object may have no hash; these functions live as long as this module.
_NAMES = {id(function): name for name, functions in _FUNCTIONS.items() for function in functions}
_COMPENSATED: Mapping[str, Op] = {name: with_errors(OPERATORS[name]) for name in ("sum", "mean")}


def as_op(op: object) -> str | Op:
    """Return an operator, or the name of one; a function such as ``np.add`` becomes a name."""
    if isinstance(op, Op):
        return op
    name = op if isinstance(op, str) else _NAMES.get(id(op), "")
    if name in OPERATORS:
        return name
    called: object = op
    if not isinstance(op, str):
        with suppress(Exception):  # whatever the caller's object raises
            called = getattr(op, "__name__", None)
    if isinstance(called, str) and called in _OTHER_CALLS:
        hint = f" (write gpuprims.{_OTHER_CALLS[called]})"
    elif callable(op):  # a function means what it does, so only names of other libraries suggest an operator
        hint = did_you_mean(op, (), INSTEAD | {known: known for known in OPERATORS})
        hint = hint or " (make an operator of an associative function: gpuprims.Op(fn, identity=...))"
    elif isinstance(op, list | tuple):
        hint = " (one operator in each call)"
    else:
        hint = did_you_mean(op, OPERATORS, INSTEAD)
    rule = f"op: an Op or one of {', '.join(OPERATORS)}, or NumPy's function for one"
    raise UnknownOperatorError(f"{rule}; got {quoted(op)}{hint}")


def find_op(op: object, *, ddof: object = 0, compensated: bool = False) -> Op:
    """Return the operator of a call, with the keywords of ``reduce`` applied.

    ``var`` and ``std`` divide by the number of elements minus ``ddof``. ``compensated`` lets ``sum`` and ``mean`` carry
    their rounding errors.
    """
    found = as_op(op)
    chosen = OPERATORS[found] if isinstance(found, str) else found
    named = chosen.name if OPERATORS.get(chosen.name) is chosen else ""  # "" for the caller's own
    if (less := as_ddof(ddof)) != 0:
        if named not in SPREADS:
            raise ArgumentError(f"reduce with {chosen.name}: ddof for {', '.join(SPREADS)} only; got ddof={ddof}")
        chosen = spread(named, less)
    if compensated:
        if named not in _COMPENSATED:
            known = " and ".join(_COMPENSATED)
            raise ArgumentError(f"reduce with {chosen.name}: compensated=True for {known} only; got {quoted(op)}")
        chosen = _COMPENSATED[named]
    return chosen


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
