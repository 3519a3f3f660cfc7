"""Expr: a function of elements as a list of instructions.

In a list, unlike a tree, a value that is used twice is computed once, and hashing and comparing take one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gpuprims.errors import DtypeError, ExpressionError, did_you_mean, quoted, shortened
from gpuprims.expressions.functions import COMPUTED
from gpuprims.expressions.narrow import STORAGE, is_storage, storage_dtype

Dtype = np.dtype[Any]
# Most bits of an integer constant; float64 holds no larger integers.
MOST_BITS = 1024
_NUMBERS: dict[str, Callable[[str], Any]] = {"b": "True".__eq__, "i": int, "u": int, "f": float, "c": complex}


@dataclass(frozen=True)
class Instruction:
    """A function of earlier instructions, or ``argument``, ``constant`` or ``cast`` with a ``value``.

    ``operands`` are indices of earlier instructions. ``value`` is an argument's position, a constant's ``type:repr`` or
    a dtype's name. It is text because 1, 1.0 and True are equal in Python but differ in an expression.
    """

    name: str
    operands: tuple[int, ...] = ()
    value: str = ""

    @property
    def scalar(self) -> Any:
        """The value of a constant: a Python number, or a NumPy scalar if it has a dtype."""
        kind, text = self.value.split(":", 1)
        number = _NUMBERS[np.dtype(kind).kind](text)
        return number if kind in ("int", "float", "complex") else np.dtype(kind).type(number)


def encode_constant(value: object) -> Instruction:
    """Return the instruction of a NumPy scalar, or of a Python number, whose dtype depends on the other operands."""
    item = value.item() if isinstance(value, np.generic) else value
    if type(item) not in (bool, int, float, complex):
        raise ExpressionError(
            f"constant in an expression: a bool, int, float, complex or NumPy scalar; "
            f"got {shortened(type(value).__name__)} {quoted(value)}"
        )
    if type(item) is int and item.bit_length() > MOST_BITS:
        raise ExpressionError(f"constant in an expression: an integer of at most {MOST_BITS} bits; got a larger one")
    kind = value.dtype.name if isinstance(value, np.generic) else type(value).__name__
    return Instruction("constant", value=f"{kind}:{item!r}")


def evaluate(code: Sequence[Instruction], results: Sequence[int], arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Compute instructions on NumPy arrays or tracers, and return the results."""
    values: list[Any] = []
    for instruction in code:
        operands = [values[k] for k in instruction.operands]
        match instruction.name:
            case "argument":
                values.append(arguments[int(instruction.value)])
            case "constant":
                values.append(instruction.scalar)
            case "cast":
                values.append(_cast(operands[0], np.dtype(instruction.value)))
            case name:
                values.append(COMPUTED[name].numpy(*operands))
    return tuple(values[k] for k in results)


def _cast(value: Any, dtype: Dtype) -> Any:
    """Convert a tracer, an array or a scalar."""
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind == "f" and dtype == np.uint32:
        # For floats out of range, NumPy's result depends on their alignment. Kernels convert by int64.
        return value.astype(np.int64).astype(dtype)
    return value.astype(dtype) if hasattr(value, "astype") else dtype.type(value)


@dataclass(frozen=True)
class Expr:
    """A function of elements. Each instruction may use the results of earlier ones.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims.expressions import expression
    >>> square = expression(lambda x: x * x + 1)
    >>> square(np.arange(3))
    array([1, 2, 5])
    """

    parameters: tuple[str, ...]  # names of the arguments
    code: tuple[Instruction, ...]
    results: tuple[int, ...]  # indices of instructions
    single: bool = True  # the function returns its one result without a tuple

    @cached_property
    def _hash(self) -> int:
        return hash((self.parameters, self.code, self.results, self.single))

    def __hash__(self) -> int:  # computed once: each call looks up its plan by its expression
        return self._hash

    def __call__(self, *arguments: Any) -> Any:
        """Evaluate on NumPy arrays, or on tracers to inline this expression in another."""
        if len(arguments) != len(self.parameters):
            names = shortened(", ".join(self.parameters))
            raise ExpressionError(f"expression of ({names}): as many arguments as parameters; got {len(arguments)}")
        results = evaluate(self.code, self.results, arguments)
        return results[0] if self.single else results


_CODES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
COMPUTABLE = tuple(map(np.dtype, _CODES))
COMPUTABLE_SET = frozenset(COMPUTABLE)
# Names of other languages and libraries.
_DTYPES_INSTEAD = {
    "half2": "float16", "float2": "complex64", "double2": "complex128", "char": "int8",
    "uchar": "uint8", "ushort": "uint16", "real": "float64", "integer": "int64", "number": "float64",
}  # fmt: skip
_DTYPE_CLASSES = frozenset(type(dtype) for dtype in COMPUTABLE)


def part(dtype: Dtype) -> Dtype:
    """Return the dtype of the real part."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def computable(dtype: Any, label: str, *, stored: bool = False) -> Dtype:
    """Return ``dtype`` in native byte order, or raise :class:`DtypeError` if no kernel computes with it.

    Calls that take the dtypes of ml_dtypes, which kernels only load and store, are ``stored``.
    """
    if type(dtype) in _DTYPE_CLASSES and dtype.isnative:
        return dtype  # type: ignore[no-any-return]  # one of COMPUTABLE
    if isinstance(dtype, str) and dtype in STORAGE:
        dtype = storage_dtype(label, dtype)
    try:
        native: Dtype = np.dtype(dtype).newbyteorder("=")
    except (TypeError, ValueError, SyntaxError) as error:
        hint = did_you_mean(dtype, [one.name for one in COMPUTABLE], _DTYPES_INSTEAD)
        raise DtypeError(f"{label}: a dtype that NumPy knows; got {quoted(dtype)}{hint}") from error
    if is_storage(native):
        if stored:
            return native
        raise DtypeError(f"{label}: a dtype that it computes in; got {native} (pass x.astype(np.float32))")
    if native not in COMPUTABLE_SET:
        raise DtypeError(
            f"{label}: bool, an integer, float16 to float64, complex64 or complex128; got {shortened(str(native))}"
            f" (pass {'complex128' if native.kind == 'c' else 'float64'})"
        )
    return native
