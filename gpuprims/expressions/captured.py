"""Trace a Python function once for all calls in which everything that it reads is the same.

Tracing takes longer than a small kernel, so the result is kept by the function's code, its defaults, and the values of
the variables that it reads from outside: captured ones, globals, and attributes of modules. A function that may read or
change anything else is traced in each call, such as one that calls a method of a captured object.
"""

from __future__ import annotations

import builtins
import cmath
import dis
import math
import operator
from collections.abc import Callable, Hashable
from functools import lru_cache, wraps
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import numpy as np

from gpuprims.expressions.expr import COMPUTABLE, COMPUTABLE_SET, Expr
from gpuprims.expressions.functions import FUNCTIONS

P = ParamSpec("P")
T = TypeVar("T")

# Most traces that a decorated function keeps, and most elements of a captured list or array that are compared.
_MOST_TRACES, _MOST_ELEMENTS = 1024, 256
_IMMUTABLE = frozenset({int, bool, str, bytes, type(None), type(Ellipsis), Expr})
_CONTAINERS = frozenset({tuple, list, dict})
# Functions and classes whose results depend on nothing but their arguments.
_BUILTINS = (
    "abs all any bool complex dict divmod enumerate filter float int isinstance iter len list map max min next pow"
    " range reversed round set slice sorted str sum tuple zip"
)
_PURE = {id(one): one for one in (getattr(builtins, name) for name in _BUILTINS.split())}
_PURE |= {id(one): one for one in (np.clip, *(f.numpy for f in FUNCTIONS.values()), *(d.type for d in COMPUTABLE))}
_PURE |= {
    id(one): one
    for module in (math, cmath, operator)
    for one in vars(module).values()
    if isinstance(one, BuiltinFunctionType)
}

# Python's instructions with names or captured variables, and those of them that only read.
_NAMED, _FREE = frozenset(dis.hasname), frozenset(dis.hasfree)
_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_READS = _ATTRIBUTES | {"LOAD_GLOBAL", "LOAD_DEREF", "LOAD_CLOSURE"}
_ABSENT = object()


class _Path(NamedTuple):
    """How code reads a value: a captured variable or a global one, and the attributes that follow its name."""

    captured: bool
    name: str
    attributes: tuple[str, ...] = ()


class _UnknownError(Exception):
    """A function reads something that has no key."""


def keeps_traces(record: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """Keep what ``record`` returns for a Python function, its first argument, until something changes that it reads."""
    kept: dict[Hashable, T] = {}

    @wraps(record)
    def find(function: Any, /, *more: P.args, **named: P.kwargs) -> T:
        state = state_of(function)
        if state is None:
            return record(function, *more, **named)
        key = state, more, *named.items()
        found = kept.get(key)
        if found is None:
            found = record(function, *more, **named)
            if state_of(function) == state:  # else another thread, or the function itself, changed what it reads
                if len(kept) >= _MOST_TRACES:
                    kept.clear()
                kept[key] = found
        return found

    return find


def state_of(function: Any) -> Hashable | None:
    """Return a key of everything that decides what a function does with its arguments; None if that is unknown."""
    if type(function) is not FunctionType:
        return id(function) if id(function) in _PURE else None
    functions = [function]  # and those that it calls, each once
    parts: list[Hashable] = []
    try:
        for one in functions:
            _collect(one, functions, parts)
    except (_UnknownError, RecursionError):  # a list may contain itself
        return None
    return tuple(parts)


def _collect(function: FunctionType, functions: list[FunctionType], parts: list[Hashable]) -> None:
    """Append a function's code, its defaults and the values of the variables that it reads."""
    code = function.__code__
    reads = _reads(code)
    if reads is None or function.__dict__:  # attributes such as __wrapped__ change the signature
        raise _UnknownError
    parts.append(code)
    if function.__defaults__:
        parts.append(_key(function.__defaults__, functions))
    if function.__kwdefaults__:
        parts.append(_key(function.__kwdefaults__, functions))
    parts += [_key(_value_of(path, function), functions) for path in reads]


@lru_cache(maxsize=1024)
def _reads(code: CodeType) -> tuple[_Path, ...] | None:
    """Return what code reads from outside; None if it may change something there, or read it in another way."""
    found: dict[_Path, None] = {}  # in order
    parts = [code]
    for part in parts:
        parts += [constant for constant in part.co_consts if isinstance(constant, CodeType)]
        path: _Path | None = None
        for one in dis.get_instructions(part):
            name, captured = one.opname, one.opcode in _FREE and one.argval in code.co_freevars
            if name not in _READS and (captured or one.opcode in _NAMED):
                return None
            if path is not None and name in _ATTRIBUTES:
                path = path._replace(attributes=(*path.attributes, one.argval))
            elif name != "EXTENDED_ARG":
                if path is not None:
                    found[path] = None
                path = None
                if name == "LOAD_GLOBAL" or (name == "LOAD_DEREF" and captured):
                    path = _Path(captured, one.argval)
    return tuple(found)


def _value_of(path: _Path, function: FunctionType) -> Any:
    captured, name, attributes = path
    if captured:
        try:
            value = (function.__closure__ or ())[function.__code__.co_freevars.index(name)].cell_contents
        except ValueError as error:  # not assigned yet
            raise _UnknownError from error
    elif type(function.__globals__) is not dict:  # may compute its values
        raise _UnknownError
    elif (value := function.__globals__.get(name, _ABSENT)) is _ABSENT:
        value = function.__builtins__.get(name, _ABSENT)  # type: ignore[attr-defined]  # missing in typeshed
    for attribute in attributes:
        if type(value) is not ModuleType:
            break
        value = vars(value).get(attribute, _ABSENT)
    return value


def _key(value: Any, functions: list[FunctionType]) -> Hashable:
    """Return a key of a value; equal keys have equal types, bits and contents."""
    kind = type(value)
    if id(value) in _PURE:
        return id(value)
    if kind in _IMMUTABLE:
        return kind, value
    if kind is float:
        return kind, value.hex()
    if kind is complex:
        return kind, value.real.hex(), value.imag.hex()
    if kind is FunctionType:
        if value not in functions:
            functions.append(value)
        return kind, functions.index(value)
    if kind in _CONTAINERS and len(value) <= _MOST_ELEMENTS:
        return kind, *[_key(one, functions) for one in (list(value.items()) if kind is dict else value)]
    if isinstance(value, np.dtype) and value in COMPUTABLE_SET:
        return kind, value
    few = kind is np.ndarray and value.size <= _MOST_ELEMENTS
    if (few or isinstance(value, np.generic)) and value.dtype in COMPUTABLE_SET:
        return kind, value.dtype, value.shape, value.tobytes()
    raise _UnknownError
