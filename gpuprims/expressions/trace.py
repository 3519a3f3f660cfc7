"""Trace a Python function to an :class:`Expr`: call it once with tracers, which record its operations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from gpuprims.errors import ExpressionError, GpuprimsError, quoted, said, shortened
from gpuprims.expressions.captured import keeps_traces
from gpuprims.expressions.expr import Expr, Instruction, computable, encode_constant
from gpuprims.expressions.functions import COMPARE, FUNCTIONS, OPERATORS, PARTS
from gpuprims.expressions.hints import instead_of

# Limits of a function: operations (a stencil of 31 x 31 x 31 weights has half as many) and results.
MOST_INSTRUCTIONS = 2**17
MOST_RESULTS = 256

_PARTS = {function.numpy: name for name, function in PARTS.items()}
# NumPy's names of the bounds of np.clip.
_LOW, _HIGH = ("a_min", "min"), ("a_max", "max")
# Python calls these methods in constructs that cannot be traced: the construct, and what to write instead.
_REFUSED = {
    "__bool__": (
        "if, while, and, or, not, max, min, or a chained comparison",
        "np.where(condition, a, b), (a < x) & (x < b), | and ~, np.maximum and np.minimum",
    ),
    "__float__": (
        "float() or a function of the math module", "x.astype(np.float64) or NumPy's function of that name",
    ),
    "__int__": ("int()", "x.astype(np.int64)"),
    "__index__": ("range() or an index", "arithmetic on the element"),
    "__round__": ("round()", "np.rint(x)"),
    "__floor__": ("math.floor()", "np.floor(x)"),
    "__ceil__": ("math.ceil()", "np.ceil(x)"),
    "__trunc__": ("math.trunc()", "np.trunc(x)"),
    "__complex__": ("complex()", "x.astype(np.complex128)"),
    "__hash__": ("a key of a dictionary or a set", "np.where(condition, a, b)"),
    "__contains__": ("in", "comparisons such as (x == a) | (x == b)"),
    "__setitem__": ("an assignment to an element", "np.where(condition, a, b), and the value to return"),
    "__len__": ("len()", "one element at a time; it has no length"),
    "__iter__": ("iteration or unpacking", "one element at a time"),
}  # fmt: skip


class Recorder:
    """The instructions so far, without duplicates."""

    def __init__(self) -> None:
        self.code: list[Instruction] = []
        self._known: dict[Instruction, int] = {}

    def add(self, instruction: Instruction) -> Tracer:
        """Append an instruction unless it exists, and return the tracer of its result."""
        index = self._known.get(instruction)
        if index is None:
            if len(self.code) == MOST_INSTRUCTIONS:
                raise ExpressionError(f"function of elements: at most {MOST_INSTRUCTIONS:,} operations; got more")
            index = self._known[instruction] = len(self.code)
            self.code.append(instruction)
        return Tracer(self, index)

    def argument(self, number: int) -> Tracer:
        """Return the tracer of an argument."""
        return self.add(Instruction("argument", value=str(number)))

    def apply(self, name: str, *operands: object) -> Tracer:
        """Append a call of a function in ``functions.FUNCTIONS``."""
        return self.add(Instruction(name, tuple(self._index(operand) for operand in operands)))

    def clip(self, value: Any, low: object = None, high: object = None) -> Any:
        """Append ``np.clip``; a bound of None does not bound."""
        if low is not None:
            value = self.apply("maximum", value, low)
        return value if high is None else self.apply("minimum", value, high)

    def divmod(self, value: object, divisor: object) -> tuple[Tracer, Tracer]:
        """Append a quotient, rounded down, and the remainder."""
        return self.apply("floor_divide", value, divisor), self.apply("remainder", value, divisor)

    def finish(self, parameters: Sequence[str], returned: object) -> Expr:
        """Return the expression whose results the traced function returned."""
        single = not isinstance(returned, tuple)
        values = returned if isinstance(returned, tuple) else (returned,)
        if len(values) > MOST_RESULTS:
            raise ExpressionError(f"function of elements: at most {MOST_RESULTS} results; got {len(values):,}")
        if isinstance(returned, list):
            raise ExpressionError("traced function: a value or a tuple of values; got a list (return a tuple)")
        results = tuple(self._index(value) for value in values)
        if not results:
            raise ExpressionError("traced function: a value or a tuple of values to return; got an empty tuple")
        return Expr(tuple(parameters), tuple(self.code), results, single)

    def _index(self, operand: object) -> int:
        if isinstance(operand, Tracer):
            if operand.recorder is not self:
                raise ExpressionError("traced function: values of this call; got a value kept from another trace")
            return operand.index
        if isinstance(operand, np.ndarray) and operand.ndim == 0:
            operand = operand[()]
        if isinstance(operand, np.ndarray):
            raise ExpressionError(
                f"traced function: scalars and its own arguments; got a captured array of shape {operand.shape}"
                " (pass it as an argument of the call)"
            )
        if operand is None:
            raise ExpressionError("traced function: a value; got None (is a return missing?)")
        return self.add(encode_constant(operand)).index


class Tracer:
    """An element of a traced function. It records the operations on it."""

    __slots__ = ("index", "recorder")

    def __init__(self, recorder: Recorder, index: int) -> None:
        self.recorder = recorder
        self.index = index

    def astype(self, dtype: Any) -> Tracer:
        """Convert the element, as ``numpy.ndarray.astype`` does."""
        name = computable(dtype, "astype in a traced function", stored=True).name
        return self.recorder.add(Instruction("cast", (self.index,), name))

    @property
    def real(self) -> Tracer:
        """The element's real part."""
        return self.recorder.apply("real", self)

    @property
    def imag(self) -> Tracer:
        """The element's imaginary part; 0 for a real number."""
        return self.recorder.apply("imag", self)

    def conjugate(self) -> Tracer:
        """Return the complex conjugate, as ``numpy.ndarray.conjugate`` does."""
        return self.recorder.apply("conjugate", self)

    conj = conjugate

    def __divmod__(self, divisor: object) -> tuple[Tracer, Tracer]:
        return self.recorder.divmod(self, divisor)

    def __rdivmod__(self, value: object) -> tuple[Tracer, Tracer]:
        return self.recorder.divmod(value, self)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **keywords: object) -> Any:
        if method != "__call__":
            _refuse(f"np.{ufunc.__name__}.{method}", "call the function itself")
        if keywords:
            _refuse(f"np.{ufunc.__name__}({', '.join(keywords)}=...)", "positional operands only")
        name = ufunc.__name__
        if ufunc is np.divmod:
            return self.recorder.divmod(*inputs)
        if name not in FUNCTIONS or FUNCTIONS[name].numpy is not ufunc:
            _refuse_function(ufunc.__name__, "the functions listed in gpuprims.expressions.functions")
        return self.recorder.apply(name, *inputs)

    def __array_function__(self, function: Callable[..., Any], types: object, args: Any, keywords: Any) -> Any:
        if function is np.where and len(args) == 3 and not keywords:
            return self.recorder.apply("where", *args)
        if function is np.clip and (bounds := _bounds(args[1:], keywords)) is not None:
            return self.recorder.clip(args[0], *bounds)
        if function in _PARTS and len(args) == 1 and not keywords:
            return self.recorder.apply(_PARTS[function], args[0])
        rule = "element-wise functions, np.where(c, a, b) and np.clip(x, low, high)"
        return _refuse_function(function.__name__, rule)

    def __abs__(self) -> Tracer:
        return self.recorder.apply("absolute", self)

    def __getitem__(self, key: object) -> NoReturn:
        _refuse(f"indexing with [{quoted(key)}]", "one element at a time; pass each array as an argument")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # protocols that NumPy and copy look for
            raise AttributeError(name)
        _refuse_function(name, "operators, NumPy functions and .astype(dtype)", "the attribute .")

    def __repr__(self) -> str:
        return "<element of a traced function>"


def _bounds(given: Sequence[object], named: dict[str, object]) -> tuple[object, object] | None:
    """Return the bounds of a call of np.clip; None if it has other arguments, or one of them twice."""
    bounds: list[object] = []
    for place, names in enumerate((_LOW, _HIGH)):
        found = [*given[place : place + 1], *(named[name] for name in names if name in named)]
        if len(found) > 1:
            return None
        bounds += found or [None]
    return None if len(given) > 2 or set(named) - {*_LOW, *_HIGH} else (bounds[0], bounds[1])


def _refuse(construct: str, instead: str) -> NoReturn:
    raise ExpressionError(f"traced function: {instead}; got {shortened(construct)}, which cannot be traced")


def _refuse_function(name: str, rule: str, before: str = "np.") -> NoReturn:
    signatures = {"clip": "x, low, high", "where": "condition, a, b"}
    if name in FUNCTIONS or name in signatures:
        hint = f" (write np.{name}({signatures.get(name, 'x')}))"
    else:
        hint = instead_of(name, prefix="np.")
    raise ExpressionError(f"traced function: {rule}; got {before}{shortened(name)}, which cannot be traced{hint}")


def _install_methods() -> None:
    """Add Python's operators to Tracer, with the ufuncs that ndarray uses, and the methods that raise."""
    for name, method in OPERATORS.items():
        if FUNCTIONS[name].arity == 1:
            setattr(Tracer, f"__{method}__", lambda self, *, name=name: self.recorder.apply(name, self))
            continue
        setattr(Tracer, f"__{method}__", lambda self, other, *, name=name: self.recorder.apply(name, self, other))
        if name not in COMPARE:
            setattr(Tracer, f"__r{method}__", lambda self, other, *, name=name: self.recorder.apply(name, other, self))
    for method, (construct, instead) in _REFUSED.items():
        setattr(Tracer, method, lambda self, *given, got=construct, instead=instead: _refuse(got, instead))


_install_methods()


@keeps_traces
def trace(function: object, arity: int | None = None) -> Expr:
    """Record the operations of a Python function of elements, which is called once.

    A later call with the same function, or an equal one, calls it again only if something changed that it reads.

    It may call NumPy ufuncs, ``np.where`` and ``np.clip``; scalars that it captures become constants. Branches, loops
    over elements, ``math`` functions and indexing raise :class:`ExpressionError`. ``arity`` is the number of arguments;
    by default, the number of positional parameters without a default.

    Examples
    --------
    >>> trace(lambda x, y: x + 2 * y).parameters
    ('x', 'y')
    """
    if not callable(function):
        hint = " (the function is the first argument, before the arrays)" if hasattr(function, "__array__") else ""
        raise ExpressionError(
            f"function of elements: a Python function or a string; got {type(function).__name__}{hint}"
        )
    parameters = _parameters(function, arity)
    recorder = Recorder()
    arguments = map(recorder.argument, range(len(parameters)))
    try:
        returned = function(*arguments)
    except GpuprimsError:
        raise
    except Exception as error:
        kind = "" if isinstance(error, TypeError) else f"{type(error).__name__}: "
        raise ExpressionError(
            f"traced function: operators and NumPy functions of elements; got {kind}{said(error)}"
        ) from error
    return recorder.finish(parameters, returned)


def _parameters(function: Callable[..., Any], arity: int | None) -> tuple[str, ...]:
    if isinstance(function, np.ufunc):
        return tuple(f"x{k}" for k in range(function.nin))
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise ExpressionError(f"traced function: one with a signature; got {quoted(function)}") from error
    positional = [p for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    names = [p.name for p in positional if p.default is p.empty or (arity is not None and len(positional) <= arity)]
    if any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values()) and arity is not None:
        names += [f"x{k}" for k in range(len(names), arity)]
    return tuple(names)
