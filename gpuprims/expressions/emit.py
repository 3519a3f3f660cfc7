"""Write typed expressions as C that is both CUDA C++ and OpenCL C.

Each backend's prelude defines the words in which the two differ: ``DEVICE``, ``gp_half_bits``, ``gp_times_f32``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gpuprims.expressions.expr import Dtype, part
from gpuprims.expressions.functions import COMPARE, COMPUTED, SELECTIONS
from gpuprims.expressions.narrow import computed, narrow
from gpuprims.expressions.typing import Node, TypedExpr


def c_type(dtype: Dtype) -> str:
    """Return the C type of a value in a register; a narrow float is a float32 there, rounded after each operation."""
    return "f32" if narrow(dtype) else f"{dtype.kind}{8 * dtype.itemsize}"


def constant(scalar: np.generic) -> str:
    """Return the C text of a NumPy scalar."""
    if scalar.dtype.kind == "c":
        return f"gp_make_{c_type(scalar.dtype)}({literal(scalar.real)}, {literal(scalar.imag)})"
    return f"({c_type(scalar.dtype)}){literal(scalar)}"


def literal(scalar: np.generic) -> str:
    """Return the C text of a real NumPy scalar, without its type."""
    value, suffix = scalar.item(), "" if scalar.itemsize == 8 else "f"
    match scalar.dtype.kind:
        case "b":
            return str(int(value))
        case "i":  # C has no literal for the smallest integer
            return f"(-{-(value + 1)} - 1)" if value < 0 else str(value)
        case "u":
            return f"{value}UL"
    if not np.isfinite(value):  # as bits, because NVRTC leaves 1.0f / 0.0f to the GPU, which divides each time
        if scalar.itemsize == 8:
            return f"gp_from_bits_f64({np.float64(value).view(np.uint64):#x}UL)"
        return f"gp_from_bits_f32({np.float32(value).view(np.uint32):#x}u)"
    return f"({value!r}{suffix})"


def emit_function(
    head: str, expr: TypedExpr, arguments: Sequence[str], close: Callable[..., str], *, stored: bool = False
) -> str:
    """Write a C function that computes an expression, one statement a line.

    ``head`` is the function's head, such as ``"DEVICE f32 twice(const f32 a)"``. ``arguments`` is the C text of each
    argument inside the body, such as ``"a"`` or ``"a.v0"``. Given the C names of the results, ``close`` returns the
    last line, such as ``"return t1;"``. With ``stored``, narrow floats are rounded where they are stored.
    """
    rounded = {k for node in expr.nodes for k in node.operands} if stored else set(range(len(expr.nodes)))
    body = [
        f"    const {c_type(node.dtype)} t{k} = {_spell(node, expr.nodes, arguments, rounds=k in rounded)};"
        for k, node in enumerate(expr.nodes)
    ]
    return "\n".join([head, "{", *body, f"    {close(*(f't{k}' for k in expr.results))}", "}"])


def _spell(node: Node, nodes: Sequence[Node], arguments: Sequence[str], *, rounds: bool) -> str:
    if node.name == "argument":
        return arguments[int(node.value)]
    if node.name == "constant":
        return constant(node.scalar)
    if node.name == "parameter":
        return f"({c_type(node.dtype)})layout.c{node.value}"
    operands = [f"t{k}" for k in node.operands]
    source = nodes[node.operands[-1]].dtype
    if node.name == "cast":
        text = converted(operands[0], source, node.dtype)
    elif node.name in COMPARE and node.operands == node.operands[:1] * 2 and source.kind in "biu":
        text = str(int(COMPUTED[node.name].numpy(0, 0)))  # some compilers warn of a comparison with itself
    else:
        unsigned = f"u{8 * source.itemsize}"
        template = COMPUTED[node.name].templates[source.kind]
        text = template.format(*operands, T=c_type(source), U=unsigned, C=f"c{16 * source.itemsize}")
    rounds = rounds and node.name not in SELECTIONS  # which return an operand
    row = narrow(node.dtype) if rounds else None
    return f"{row.value}({row.bits}({text}))" if row else text


def converted(operand: str, source: Dtype, target: Dtype) -> str:
    """Return the C text of a conversion, except from complex to real."""
    source, target = computed(source), computed(target)
    if target.kind == "b":
        return f"gp_nonzero_{c_type(source)}({operand})" if source.kind == "c" else f"{operand} != 0"
    if source.kind == "f" and target.kind in "iu":
        # NumPy converts by int32, or by 64 bits to wider integers and uint32.
        wide = "i32" if target.itemsize < 4 or target == np.int32 else "u64" if target == np.uint64 else "i64"
        return f"({c_type(target)})gp_{wide}_{c_type(source)}({operand})"
    if source == np.float64 and target == np.float16:
        return f"gp_odd_f32({operand})"  # a float32 that rounds to the same float16 as the float64
    if target.kind == "f" and source.kind in "iu" and source.itemsize == 8:
        return f"gp_{c_type(target)}_{c_type(source)}({operand})"
    if target.kind != "c":
        return f"({c_type(target)}){operand}"
    kind = c_type(part(target))
    parts = (f"{operand}.re", f"{operand}.im") if source.kind == "c" else (operand, "0")
    return f"gp_make_{c_type(target)}(({kind}){parts[0]}, ({kind}){parts[1]})"
