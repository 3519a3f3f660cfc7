"""What a kernel file is compiled with: the types, functions and operand places that its macros stand for.

A kernel says ``MAP(o, j)``, ``OP(a, b)``, ``IDENTITY``, ``STORE(at, value)``; :class:`Definitions` holds what they mean
for one call, free of any backend, and writes them as C text that is the same in CUDA and OpenCL. The reference backend
reads the same record and computes with NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from gpuprims.expressions import TypedExpr, c_type, emit_function, literal

Dtype = np.dtype[Any]
# The step of an operand along one axis, as far as the compiler needs to know it: 0, 1, or None for any other.
StepClass = int | None


@dataclass(frozen=True)
class Access:
    """How a kernel reads one operand: its stored dtype, and its step along each kept and each reduced axis."""

    dtype: Dtype
    kept: tuple[StepClass, ...]
    reduced: tuple[StepClass, ...]


def value_dtype(dtypes: Sequence[Dtype]) -> Dtype:
    """Return the dtype of a stored ``value_t``: the one dtype, or a C-aligned record ``v0``, ``v1``, ..."""
    if len(dtypes) == 1:
        return dtypes[0]
    return np.dtype([(f"v{k}", dtype) for k, dtype in enumerate(dtypes)], align=True)


@dataclass(frozen=True)
class Definitions:
    """The meaning of a kernel's macros for one call.

    Parameters
    ----------
    inputs : tuple of Access
        The operands ``x0``, ``x1``, ...
    outputs : tuple of dtype
        The results ``y0``, ``y1``, ...; a record dtype stores ``value_t`` whole.
    values : tuple of dtype
        Components of ``value_t``, what ``MAP`` gives, ``OP`` folds and ``STORE`` takes.
    map : TypedExpr or None
        From one element of each input (and its index among the reduced, when it has one argument more) to the values;
        None when the one input holds ``value_t``.
    finish : TypedExpr or None
        From the values and the number of elements folded to the outputs; None when the output holds ``value_t``.
    op : TypedExpr or None
        From two values, all components of the first before those of the second, to one.
    identity : tuple of scalar
        The identity's components, NumPy scalars of the values' dtypes.
    commutative : bool
        Whether ``OP`` may fold elements out of their order.
    """

    inputs: tuple[Access, ...]
    outputs: tuple[Dtype, ...]
    values: tuple[Dtype, ...]
    map: TypedExpr | None
    finish: TypedExpr | None
    op: TypedExpr | None = None
    identity: tuple[Any, ...] = ()
    commutative: bool = True

    @cached_property
    def _hash(self) -> int:
        return hash((self.inputs, self.outputs, self.values, self.map, self.finish, self.op, self.identity))

    def __hash__(self) -> int:  # kernels are looked up by their definitions at every call, so it is computed once
        return self._hash

    @property
    def uses_float64(self) -> bool:
        """Whether any step needs double precision."""
        return any(dtype == np.float64 for dtype in self._dtypes())

    def _dtypes(self) -> set[Dtype]:
        expressions = [e for e in (self.map, self.finish, self.op) if e is not None]
        steps = {step.dtype for expression in expressions for step in expression.steps}
        return steps | set(self.values) | set(self.outputs) | {access.dtype for access in self.inputs}

    def source(self, prelude: Path, kernel: Path, block: int, items: int) -> str:
        """Write the whole text that a vendor's compiler gets.

        Parameters
        ----------
        prelude, kernel : Path
            The backend's dialect words, and the kernel file, which keeps its own line numbers in errors.
        block, items : int
            Work-items a group, elements a work-item.
        """
        arithmetic = files("gpuprims.expressions").joinpath("arithmetic.h").read_text()
        constants = {"BLOCK": block, "ITEMS": items, "COMMUTATIVE": int(self.commutative)}
        if self.uses_float64:
            constants["HAS_F64"] = 1
        parts = [
            *(f"#define {name} {value}" for name, value in constants.items()),
            prelude.read_text(),
            arithmetic,
            *self._types(),
            *self._map(),
            *(self._fold(self.op) if self.op else ()),
            *self._store(),
            f'#line 1 "{kernel.name}"',
            kernel.read_text(),
        ]
        return "\n".join(parts)

    def _types(self) -> list[str]:
        fields = " ".join(f"{c_type(dtype)} v{k};" for k, dtype in enumerate(self.values))
        value_t = c_type(self.values[0]) if len(self.values) == 1 else f"struct {{ {fields} }}"
        kept, reduced, operands = len(self.inputs[0].kept), len(self.inputs[0].reduced), len(self.inputs)
        members = [f"kept[{kept}]", f"reduced[{reduced}]", f"offset[{operands}]"]
        members += [f"kept_step[{operands}][{kept}]", f"reduced_step[{operands}][{reduced}]"]
        shaped = "; ".join(f"i64 {member}" for member in members if "[0]" not in member)
        inputs = ", ".join(f"GLOBAL const {self._stored(a.dtype)} *RESTRICT x{k}" for k, a in enumerate(self.inputs))
        outputs = ", ".join(f"GLOBAL {self._stored(dtype)} *RESTRICT y{k}" for k, dtype in enumerate(self.outputs))
        return [
            f"typedef {value_t} value_t;",
            f"typedef struct {{ i64 count; {shaped}; }} layout_t;",
            f"#define INPUTS {inputs}",
            f"#define OUTPUTS {outputs}",
        ]

    def _stored(self, dtype: Dtype) -> str:
        if dtype.names:
            return "value_t"
        return "u16" if dtype == np.float16 else c_type(dtype)

    def _map(self) -> list[str]:
        places = [_place(k, access) for k, access in enumerate(self.inputs)]
        names = ", ".join(f"x{k}" for k in range(len(self.inputs)))
        head = "DEVICE value_t gp_map(INPUTS, const layout_t layout, const i64 o, const i64 j)"
        loads = [_load(k, access.dtype) for k, access in enumerate(self.inputs)]
        if self.map is None:
            body = "\n".join([head, "{", f"    return {loads[0]};", "}"])
        else:
            body = emit_function(head, self.map, [*loads, "j"], self._pack)
        return [*places, body, f"#define MAP(o, j) gp_map({names}, layout, o, j)"]

    def _fold(self, op: TypedExpr) -> list[str]:
        arguments = [f"{side}{field}" for side in "ab" for field in self._fields()]
        constants = [
            f"({c_type(d)}){literal(repr(s.item()), d)}" for s, d in zip(self.identity, self.values, strict=True)
        ]
        return [
            emit_function("DEVICE value_t gp_fold(const value_t a, const value_t b)", op, arguments, self._pack),
            "\n".join(["DEVICE value_t gp_identity(void)", "{", f"    {self._pack(*constants)}", "}"]),
            "#define OP(a, b) gp_fold(a, b)",
            "#define IDENTITY gp_identity()",
        ]

    def _store(self) -> list[str]:
        names = ", ".join(f"y{k}" for k in range(len(self.outputs)))
        head = "DEVICE void gp_store(OUTPUTS, const layout_t layout, const i64 at, const value_t value)"
        if self.finish is None:
            body = "\n".join([head, "{", "    y0[at] = value;", "}"])
        else:
            arguments = [*(f"value{field}" for field in self._fields()), "layout.count"]
            body = emit_function(head, self.finish, arguments, self._write)
        return [body, f"#define STORE(at, value) gp_store({names}, layout, at, value)"]

    def _fields(self) -> list[str]:
        return [""] if len(self.values) == 1 else [f".v{k}" for k in range(len(self.values))]

    def _pack(self, *results: str) -> str:
        if len(results) == 1:
            return f"return {results[0]};"
        assigned = " ".join(f"packed.v{k} = {result};" for k, result in enumerate(results))
        return f"value_t packed; {assigned} return packed;"

    def _write(self, *results: str) -> str:
        written = [
            f"STORE_F16(y{k}, at, {result});" if dtype == np.float16 else f"y{k}[at] = {result};"
            for k, (dtype, result) in enumerate(zip(self.outputs, results, strict=True))
        ]
        return " ".join(written)


def _load(k: int, dtype: Dtype) -> str:
    """C text of one element of operand ``k``."""
    at = f"gp_at{k}(layout, o, j)"
    if dtype == np.float16:
        return f"LOAD_F16(x{k}, {at})"
    return f"(x{k}[{at}] != 0)" if dtype == np.bool_ else f"x{k}[{at}]"


def _place(k: int, access: Access) -> str:
    """C function from a kept index ``o`` and a reduced index ``j`` to a position in operand ``k``."""
    lines = [f"    i64 at = layout.offset[{k}];"]
    lines += _walk(k, "kept", "o", access.kept) + _walk(k, "reduced", "j", access.reduced)
    head = f"DEVICE i64 gp_at{k}(const layout_t layout, i64 o, i64 j)"
    return "\n".join([head, "{", *lines, "    return at;", "}"])


def _walk(k: int, axes: str, index: str, steps: tuple[StepClass, ...]) -> list[str]:
    """Split a flat index into its axes, last first, and add up the steps; axes without a step cost nothing."""
    lines: list[str] = []
    for axis in reversed(range(len(steps))):
        if all(step == 0 for step in steps[: axis + 1]):
            break
        here = index if axis == 0 else f"({index} % layout.{axes}[{axis}])"
        step = steps[axis]
        if step != 0:
            lines.append(f"    at += {here}{'' if step == 1 else f' * layout.{axes}_step[{k}][{axis}]'};")
        if axis:
            lines.append(f"    {index} /= layout.{axes}[{axis}];")
    return lines
