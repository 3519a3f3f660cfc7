"""The dtype of every step of an expression, by NumPy's own promotion rules.

NumPy is asked (``ufunc.resolve_dtypes``, ``result_type``), not imitated, so a result dtype is NumPy's by construction,
Python scalars included (NEP 50).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpuprims.errors import DtypeError, ExpressionError, quoted, said
from gpuprims.expressions.expr import Expr, Instruction, cast, decode_constant, part
from gpuprims.expressions.functions import COMPARE, PARTS, UFUNCS
from gpuprims.expressions.powers import COMPUTED, shortcut

Dtype = np.dtype[Any]


@dataclass(frozen=True)
class Step:
    """One typed instruction. ``value`` holds an argument's position or a constant's text; ``dtype`` is the result's."""

    name: str
    operands: tuple[int, ...]
    value: str
    dtype: Dtype


@dataclass(frozen=True)
class TypedExpr:
    """An expression whose every step has a dtype; equal ones compile to the same C.

    Parameters
    ----------
    steps : tuple of Step
        The straight line, conversions written out.
    results : tuple of int
        Which steps are the results.
    arity : int
        Number of arguments.
    """

    steps: tuple[Step, ...]
    results: tuple[int, ...]
    arity: int

    @property
    def dtypes(self) -> tuple[Dtype, ...]:
        """Dtypes of the results."""
        return tuple(self.steps[k].dtype for k in self.results)

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        """Evaluate on NumPy arrays of the argument dtypes; the reference backend's way of running a kernel."""
        values: list[Any] = []
        for step in self.steps:
            values.append(_evaluate(step, values, arguments))
        return tuple(values[k] for k in self.results)


def _evaluate(step: Step, values: Sequence[Any], arguments: Sequence[Any]) -> Any:
    if step.name == "argument":
        return arguments[int(step.value)]
    if step.name == "constant":
        return constant_of(step)
    operands = [values[k] for k in step.operands]
    if step.name == "cast":
        return cast(operands[0], step.dtype)
    return COMPUTED[step.name].numpy(*operands)


def constant_of(step: Step) -> Any:
    """Return the NumPy scalar of a constant."""
    return decode_constant(Instruction("constant", value=f"{step.dtype.name}:{step.value}"))


def typed(expr: Expr, dtypes: Sequence[Dtype], results: Sequence[Dtype] | None = None) -> TypedExpr:
    """Give an expression the dtypes of its arguments.

    Parameters
    ----------
    expr : Expr
    dtypes : sequence of dtype
        One for each parameter.
    results : sequence of dtype, optional
        Convert the results to these; by default they keep NumPy's.

    Returns
    -------
    TypedExpr

    Raises
    ------
    DtypeError
        When NumPy, or this library, has no such function for such dtypes.
    """
    typist = _Typist(dtypes)
    with np.errstate(all="ignore"):  # constants may become infinite in a dtype
        for instruction in expr.code:
            typist.add(instruction)
        chosen = [typist.settle(k) for k in expr.results]
        if results is not None:
            chosen = [typist.convert(step, dtype) for step, dtype in zip(chosen, results, strict=True)]
    steps, chosen = _needed(typist.steps, chosen)
    return TypedExpr(steps, tuple(chosen), len(expr.parameters))


def _needed(steps: Sequence[Step], results: Sequence[int]) -> tuple[tuple[Step, ...], list[int]]:
    """Drop steps that no result needs, such as the exponent of a square; arguments keep their places."""
    needed = set(results)
    for k in reversed(range(len(steps))):
        if k in needed:
            needed.update(steps[k].operands)
    kept = [k for k, step in enumerate(steps) if k in needed or step.name == "argument"]
    place = {k: at for at, k in enumerate(kept)}
    left = (steps[k] for k in kept)
    return (
        tuple(replace(step, operands=tuple(place[k] for k in step.operands)) for step in left),
        [place[k] for k in results],
    )


# The comparison that holds with its sides exchanged.
_MIRRORED = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}


class _Weak:
    """A Python scalar that has not met a dtype yet."""

    def __init__(self, value: complex) -> None:
        self.value = value


class _Typist:
    """Writes typed steps; each instruction of the source is either the index of a step or a weak scalar."""

    def __init__(self, dtypes: Sequence[Dtype]) -> None:
        self.steps: list[Step] = []
        self._dtypes = dtypes
        self._known: dict[Step, int] = {}
        self._values: list[int | _Weak] = []

    def add(self, instruction: Instruction) -> None:
        self._values.append(self._typed(instruction))

    def settle(self, index: int) -> int:
        """Return the step of a source instruction."""
        return self.settled(self._values[index])

    def settled(self, value: int | _Weak) -> int:
        """Return the step of a value; a scalar that met nobody gets NumPy's default dtype."""
        if not isinstance(value, _Weak):
            return value
        scalar = np.asarray(value.value)[()]
        if not isinstance(scalar, np.generic):  # NumPy would take it for a Python object
            raise ExpressionError(
                f"constant in an expression: an integer of at most 64 bits; got {quoted(value.value)}"
            )
        return self._constant(scalar)

    def convert(self, step: int, dtype: Dtype) -> int:
        source = self.steps[step].dtype
        if source == dtype:
            return step
        if source.kind == "c" and dtype.kind not in "bc":
            raise DtypeError(
                f"conversion: of a complex number, a complex dtype, or real(x) or abs(x) first; got {source} to {dtype}"
            )
        return self._step("cast", (step,), "", dtype)

    def _step(self, name: str, operands: tuple[int, ...], value: str, dtype: Dtype) -> int:
        step = Step(name, operands, value, dtype)
        index = self._known.setdefault(step, len(self.steps))
        if index == len(self.steps):
            self.steps.append(step)
        return index

    def _constant(self, scalar: Any) -> int:
        return self._step("constant", (), repr(scalar.item()), scalar.dtype)

    def _typed(self, instruction: Instruction) -> int | _Weak:
        if instruction.name == "argument":
            return self._step("argument", (), instruction.value, self._dtypes[int(instruction.value)])
        if instruction.name == "constant":
            scalar = decode_constant(instruction)
            # Python's bool is NumPy's, and as strong; its numbers take the dtype of their company (NEP 50).
            return self._constant(np.asarray(scalar)[()]) if isinstance(scalar, np.generic | bool) else _Weak(scalar)
        if instruction.name == "cast":
            return self.convert(self.settle(instruction.operands[0]), np.dtype(instruction.value))
        operands = [self._values[k] for k in instruction.operands]
        if instruction.name in PARTS:
            return self._part(instruction.name, self.settled(operands[0]))
        return self._apply(instruction.name, operands)

    def _part(self, name: str, step: int) -> int:
        dtype = self.steps[step].dtype
        if name != "angle":
            return self._step(name, (step,), "", part(dtype))
        if dtype.kind == "c":
            return self._apply("arctan2", [self._part("imag", step), self._part("real", step)])
        return self._apply("arctan2", [_Weak(0), step])  # as NumPy has it, whose dtypes follow

    def _apply(self, name: str, operands: list[int | _Weak]) -> int:
        if name == "power" and self._squares_bool(*operands):
            return self._apply("square", operands[:1])
        if name in COMPARE:
            operands = [self._settled_beside(*operands), self._settled_beside(*reversed(operands))]
        wanted, result = self._resolve(name, operands)
        if {dtype.kind for dtype in wanted} == {"i", "u"}:
            return self._compare_signs(name, [self.settled(operand) for operand in operands])
        steps = [self._as(operand, dtype) for operand, dtype in zip(operands, wanted, strict=True)]
        if name == "power":
            self._check_power(steps)
            if (shorter := self._shorter_power(steps[0], operands[1], result)) is not None:
                return shorter
        return self._step(name, tuple(steps), "", result)

    def _resolve(self, name: str, operands: Sequence[int | _Weak]) -> tuple[list[Dtype], Dtype]:
        """Ask NumPy which dtypes a function computes in."""
        given: list[Any] = [type(v.value) if isinstance(v, _Weak) else self.steps[v].dtype for v in operands]
        if name == "where":
            branches = [v.value if isinstance(v, _Weak) else self.steps[v].dtype for v in operands[1:]]
            result = np.result_type(*branches)
            return [np.dtype(bool), result, result], result
        try:
            resolved = UFUNCS[name].numpy.resolve_dtypes((*given, None))  # type: ignore[attr-defined]  # a ufunc's method
        except TypeError as error:
            raise DtypeError(f"{name}: dtypes that NumPy computes it for; got {_names(given)} ({error})") from error
        *wanted, result = (_canonical(dtype) for dtype in resolved)
        if wanted[0].kind not in UFUNCS[name].templates:
            raise DtypeError(f"{name}: a kind of dtype it has a kernel for; got {_names(given)}")
        return wanted, result

    def _settled_beside(self, value: int | _Weak, other: int | _Weak) -> int | _Weak:
        """Comparisons are exact in NumPy: an integer that the other side's dtype cannot hold keeps one of its own."""
        if not (isinstance(value, _Weak) and isinstance(value.value, int)) or isinstance(other, _Weak):
            return value
        dtype = self.steps[other].dtype
        if dtype.kind not in "iu" or np.iinfo(dtype).min <= value.value <= np.iinfo(dtype).max:
            return value
        try:
            return self._constant(np.int64(value.value) if value.value < 2**63 else np.uint64(value.value))
        except OverflowError as error:
            raise DtypeError(f"comparison: an integer of at most 64 bits; got {quoted(value.value)}") from error

    def _compare_signs(self, name: str, operands: Sequence[int]) -> int:
        """Compare a signed integer with an unsigned one: a negative one is less, any other is compared as unsigned."""
        left, right = operands
        if self.steps[left].dtype.kind == "u":
            name, left, right = _MIRRORED.get(name, name), right, left
        boolean, signed, unsigned = np.dtype(bool), self.steps[left].dtype, np.dtype(np.uint64)
        negative = self._step("less", (left, self._constant(signed.type(0))), "", boolean)
        sides = (self.convert(left, unsigned), self.convert(right, unsigned))
        compared = self._step(name, sides, "", boolean)
        if name in ("less", "less_equal", "not_equal"):
            return self._step("logical_or", (negative, compared), "", boolean)
        return self._step("logical_and", (self._step("logical_not", (negative,), "", boolean), compared), "", boolean)

    def _as(self, value: int | _Weak, dtype: Dtype) -> int:
        if not isinstance(value, _Weak):
            return self.convert(value, dtype)
        try:
            return self._constant(dtype.type(value.value))
        except OverflowError as error:
            raise DtypeError(
                f"constant: a number that {dtype} holds; got {quoted(value.value)} ({said(error)})"
            ) from error

    def _check_power(self, steps: Sequence[int]) -> None:
        """NumPy raises at run time on a negative integer exponent; a kernel cannot, so it must be known not to be."""
        exponent = self.steps[steps[1]]
        if exponent.dtype.kind != "i":
            return
        if exponent.name != "constant" or int(exponent.value) < 0:
            got = f"the exponent {exponent.value}" if exponent.name == "constant" else f"a {exponent.dtype} exponent"
            raise DtypeError(
                f"power of integers: an unsigned or a constant exponent >= 0; got {got} (convert to float)"
            )

    def _squares_bool(self, base: int | _Weak, exponent: int | _Weak) -> bool:
        """Return True for a bool to the power of Python's 2, which NumPy computes as its square, in int8."""
        two = isinstance(exponent, _Weak) and type(exponent.value) is int and exponent.value == 2
        return two and not isinstance(base, _Weak) and self.steps[base].dtype == np.bool_

    def _shorter_power(self, base: int, exponent: int | _Weak, dtype: Dtype) -> int | None:
        """Return the step of a power by a constant, as NumPy computes it, or None if it needs ``power``."""
        name = None
        if isinstance(exponent, _Weak):
            name = shortcut(dtype, exponent.value)
        elif self.steps[exponent].name == "constant":
            name = shortcut(dtype, constant_of(self.steps[exponent]))
        if name is None or name == "positive":
            return None if name is None else base
        if name == "one":
            return self._constant(dtype.type(1))
        return self._step(name, (base,), "", dtype)


def _canonical(dtype: Dtype) -> Dtype:
    """One dtype per width: int64 where NumPy says longlong."""
    return np.dtype(f"{dtype.kind}{dtype.itemsize}") if dtype.kind in "iufc" else dtype


def _names(given: Sequence[Any]) -> str:
    return " and ".join(dtype.name if isinstance(dtype, np.dtype) else f"a Python {dtype.__name__}" for dtype in given)
