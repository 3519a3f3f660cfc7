"""Write typed expressions as C that is both CUDA C++ and OpenCL C.

Each backend's prelude defines the words in which the two differ: ``DEVICE``, ``ROUND_F16``, ``gp_times_f32``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuprims.expressions.expr import part
from gpuprims.expressions.powers import COMPUTED
from gpuprims.expressions.typing import Step, TypedExpr

# Types in registers. A float16 is a float there, rounded to half after each operation, as in NumPy.
C_TYPES = {
    "bool": "b8", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16",
    "uint32": "u32", "uint64": "u64", "float16": "f32", "float32": "f32", "float64": "f64",
    "complex64": "c64", "complex128": "c128",
}  # fmt: skip

# Results of comparing an integer with itself, which some compilers warn of.
_OF_ITSELF = {
    "equal": "1", "less_equal": "1", "greater_equal": "1", "not_equal": "0", "less": "0", "greater": "0",
}  # fmt: skip


def c_type(dtype: np.dtype[Any]) -> str:
    """Return the C type of a value in a register."""
    return C_TYPES[dtype.name]


def constant(text: str, dtype: np.dtype[Any]) -> str:
    """Return the C text of a constant, given its Python text, cast to its type."""
    if dtype.kind != "c":
        return f"({c_type(dtype)}){literal(text, dtype)}"
    value = complex(text)
    parts = ", ".join(literal(repr(number), part(dtype)) for number in (value.real, value.imag))
    return f"gp_make_{c_type(dtype)}({parts})"


def literal(text: str, dtype: np.dtype[Any]) -> str:
    """Return the C text of a real constant, given its Python text."""
    if dtype.kind == "b":
        return "1" if text == "True" else "0"
    if dtype.kind == "i":
        value = int(text)
        return f"(-{-(value + 1)} - 1)" if value < 0 else str(value)  # C has no literal for the smallest integer
    if dtype.kind == "u":
        return f"{int(text)}UL"
    value_f = float(text)
    suffix = "" if dtype.itemsize == 8 else "f"
    if np.isnan(value_f):
        return f"(0.0{suffix} / 0.0{suffix})"
    if np.isinf(value_f):
        return f"({'-' if value_f < 0 else ''}1.0{suffix} / 0.0{suffix})"
    spelled = repr(value_f) if "." in repr(value_f) or "e" in repr(value_f) else f"{value_f!r}.0"
    return f"({spelled}{suffix})"


def emit_function(head: str, expr: TypedExpr, arguments: Sequence[str], close: Callable[..., str]) -> str:
    """Write a C function that computes an expression.

    Parameters
    ----------
    head : str
        The function's head, such as ``"DEVICE f32 twice(const f32 a)"``.
    expr : TypedExpr
    arguments : sequence of str
        C text of each argument of the expression inside the body, such as ``"a"`` or ``"a.v0"``.
    close : callable
        Given the C names of the results, returns the body's last lines.

    Returns
    -------
    str
        The function, one statement a line.
    """
    body = [
        f"const {c_type(step.dtype)} t{k} = {_spell(step, expr.steps, arguments)};" for k, step in enumerate(expr.steps)
    ]
    body.append(close(*(f"t{k}" for k in expr.results)))
    return "\n".join([head, "{", *(f"    {line}" for line in body), "}"])


def _spell(step: Step, steps: Sequence[Step], arguments: Sequence[str]) -> str:
    if step.name == "argument":
        return arguments[int(step.value)]
    if step.name == "constant":
        return constant(step.value, step.dtype)
    if step.name == "parameter":
        return f"({c_type(step.dtype)})layout.c{step.value}"
    operands = [f"t{k}" for k in step.operands]
    source = steps[step.operands[-1]].dtype
    if step.name == "cast":
        text = converted(operands[0], source, step.dtype)
    elif step.name in _OF_ITSELF and step.operands == step.operands[:1] * 2 and source.kind in "biu":
        text = _OF_ITSELF[step.name]
    else:
        unsigned = f"u{8 * source.itemsize}"
        template = COMPUTED[step.name].templates[source.kind]
        text = template.format(*operands, T=c_type(source), U=unsigned)
    return f"ROUND_F16({text})" if step.dtype == np.float16 else text


def converted(operand: str, source: np.dtype[Any], target: np.dtype[Any]) -> str:
    """Return the C text of a conversion, except from complex to real."""
    if target.kind == "b":
        return f"gp_nonzero_{c_type(source)}({operand})" if source.kind == "c" else f"{operand} != 0"
    if source.kind == "f" and target.kind in "iu":
        return f"({c_type(target)})gp_{_reached(target)}_{c_type(source)}({operand})"
    if source == np.float64 and target == np.float16:
        return f"gp_odd_f32({operand})"  # a float32 that rounds to the same float16 as the float64
    if target.kind != "c":
        return f"({c_type(target)}){operand}"
    kind = c_type(part(target))
    parts = (f"{operand}.re", f"{operand}.im") if source.kind == "c" else (operand, "0")
    return f"gp_make_{c_type(target)}(({kind}){parts[0]}, ({kind}){parts[1]})"


def _reached(target: np.dtype[Any]) -> str:
    """Return the integer type to which NumPy converts a float first."""
    return "i32" if target.itemsize < 4 or target == np.int32 else "u64" if target == np.uint64 else "i64"
