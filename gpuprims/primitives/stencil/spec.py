"""The spec of stencil kernels: the macros for elements, borders, and the function of a neighbourhood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np

from gpuprims.core.codegen.functions import store_text
from gpuprims.core.codegen.operands import number_of, return_value, stored
from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.expressions import TypedExpr, c_type, constant, emit_function, lift
from gpuprims.primitives.stencil.blocks import Block
from gpuprims.primitives.stencil.refusals import CPU_ROWS, ROWS_AT_ONCE, TILE_WIDTH

# Where a kernel keeps the neighbours of an element: in an array, in a ring or a strip of rows or in planes in
# registers, in a tile in local memory. Kernels that read weights from memory keep them in a dense tile in local memory,
# in columns in registers, in rows of a tile in a CPU's cache, in a part of a row, or in a strip whose rows and then
# columns they filter; or in a plane in local memory and sums of planes in registers.
Window = Literal[
    "listed", "ring", "strip", "planes", "tile", "dense", "columns", "rows", "long row", "separable", "volume"
]
# How an array continues beyond its borders, as in SciPy.
Mode = Literal["nearest", "reflect", "mirror", "wrap", "constant"]
_IN_LINES = ("ring", "strip", "planes", "tile", "dense", "columns", "rows", "long row", "separable", "volume")
READING = ("table", "dense", "columns", "rows", "long row", "separable")
_AXES = "ZYX"
_WORD = 4
_ALONE = Block(1)


def reach_of(offsets: Sequence[int]) -> tuple[int, int]:
    """Return the least and the greatest offset, 0 included."""
    return min(0, *offsets), max(0, *offsets)


def columns_of(offsets: Sequence[int], times: int) -> tuple[int, int]:
    """Return the reach along a row; if applied several times it is symmetric, because modes reflect rows."""
    low, high = reach_of(offsets)
    return (low, high) if times == 1 else (-max(-low, high), max(-low, high))


@dataclass(frozen=True, eq=False, kw_only=True)
class StencilSpec(KernelSpec):
    """The macros of a stencil; ``map`` takes several elements of the first input."""

    # Offset of each argument of ``map`` along planes, rows and columns. With ``across``, arguments are values.
    offsets: tuple[tuple[int, ...], ...]
    mode: Mode
    # The element beyond the borders in mode "constant", a NumPy scalar.
    beyond: Any
    # Elements of a pixel, which lie side by side, for kernels that compute along rows.
    channels: int = 1
    # The first of two passes of a separable stencil, and the column offset of each of its arguments.
    across: TypedExpr | None = None
    columns: tuple[int, ...] = ()
    # With "table", a kernel loads each neighbour and its weight from memory.
    window: Window | Literal["table"] = "listed"
    # Elements that one instruction moves: in a row in local memory, at its ends, to the results,
    # and to those kept in local memory.
    vector_local: int = 1
    vector_halo: int = 1
    vector_out: int = 1
    vector_kept: int = 1
    # The elements that a work-item computes, and whether weights are zero, for kernels that read them from memory.
    block: Block = _ALONE
    some_zero: bool = False
    # The number of equal weights, and of zeros before them, for a CPU's kernel that adds sums of many.
    alike: tuple[int, int] | None = None
    # True if lanes load or store neighbouring words of rows that begin at any address.
    loose_in: bool = False
    loose_out: bool = False
    # True if a kernel adds integers as float32, which holds all sums exactly, and converts sums to integers.
    summed_in_floats: bool = False
    # True if 32 bits cannot count the elements between rows of a plane.
    far: bool = False
    # How many times one launch applies the stencil.
    times: int = 1
    # Weights of planes, of rows and of a row.
    lines: tuple[tuple[np.floating[Any], ...], ...] = ()
    # ``map`` and ``across`` of two bytes at once, in the halves of a uint32.
    paired: tuple[TypedExpr, TypedExpr | None] | None = None
    # ``map`` written another way, for every second element of a row.
    beside: TypedExpr | None = None
    # True if the weights are arguments, so that stencils that differ only in weights share a kernel.
    shares_weights: bool = False

    maps: ClassVar[bool] = False
    stores_vectors: ClassVar[bool] = False
    # Constants let the compiler optimise weights.
    lifts_constants: ClassVar[bool] = False

    def reach(self, axis: int) -> tuple[int, int]:
        """Return the least and the greatest offset along planes, rows or columns, 0 included."""
        if axis < 2:
            return reach_of([offset[axis] for offset in self.offsets])
        return columns_of(self.columns or [offset[2] for offset in self.offsets], self.times)

    def macros(self) -> dict[str, int | str]:
        """Define types, the neighbourhood and its borders, strides, and how a kernel holds a window."""
        return {**self._types(), **self._neighbourhood(), **self._layout(), **self._window()}

    def _types(self) -> dict[str, int | str]:
        element = self.inputs[0].dtype
        return {
            "number_t": c_type(element),
            "stored_t": stored(element),
            "result_t": stored(self.outputs[0].dtype),
            "item_t": "u32" if self.paired else "number_t",
            "sum_t": "u32" if self.paired else "f32" if self.summed_in_floats else c_type(self.values[0]),
            "word_t": "u32" if element.itemsize < 4 else stored(element),
            "IN_WORD": max(4 // element.itemsize, 1),
            "UNPACK(word, k)": self._unpacked(),
            "PACKED_OUT": max(4 // self.outputs[0].dtype.itemsize, 1),
            "LOOSE_IN": int(self.loose_in),
            "LOOSE_OUT": int(self.loose_out),
            "slot_t": "sum_t" if self.across else "item_t",
            "PLAIN": int(number_of("element", element) == "element"),
            "NUMBER(element)": f"({number_of('(element)', element)})",
            "BEYOND": constant(element.type(self.beyond)),
        }

    def _neighbourhood(self) -> dict[str, int | str]:
        value = self.values[0]
        return {
            "CHANNELS": self.channels,
            "SEPARABLE": int(self.across is not None),
            "TABLE": int(self.window == "table"),
            "PRODUCT_OF(a, b)": f"gp_times_{c_type(value)}(a, b)" if value.kind == "f" else "((a) * (b))",
            "LINES": int(self.window in _IN_LINES),
            "NEIGHBOURS": len(self.offsets),
            "VECTOR_OUT": self.vector_out,
            "VECTOR_LOCAL": self.vector_local,
            "VECTOR_HALO": self.vector_halo,
            "VECTOR_KEPT": self.vector_kept,
            "TIMES": self.times,
            "PAIRED": int(self.paired is not None),
            **{f"MODE_{mode.upper()}": int(self.mode == mode) for mode in get_args(Mode)},
        }

    def _layout(self) -> dict[str, int | str]:
        reach = {axis: self.reach(k) for k, axis in enumerate(_AXES)}
        result, out = len(self.inputs), self.outputs[0].reduced
        return {
            **{f"LOW_{axis}": f"({low})" for axis, (low, _) in reach.items()},
            **{f"HIGH_{axis}": f"({high})" for axis, (_, high) in reach.items()},
            **{f"STRIDE_{k}": _stride(0, k, stride) for k, stride in enumerate(self.inputs[0].reduced)},
            "RESULT": result,
            "STRIDE_OUT": _stride(result, 0, out[0]),
            "STRIDE_OUT_PLANE": _stride(result, 1, out[1]),
            "STRIDE_OUT_ROW": _stride(result, 2, out[2]),
        }

    def _window(self) -> dict[str, int | str]:
        loads = " ".join(f"window[{k}] = FETCH({dz}, {dy}, {dx});" for k, (dz, dy, dx) in enumerate(self.offsets))
        pitch = f"ITEMS + {self.times - (self.across is not None)} * HALO"
        if self.window == "tile":
            pitch = "TILE_WIDTH + HALO"
        return {
            "ROWS_EACH": self.block.rows,
            "PLANES_EACH": self.block.planes,
            "CHUNK": self.block.chunk,
            "VECTORS_EACH": self.block.vectors,
            "LANES_X": self.block.lanes,
            "SOME_ZERO": int(self.some_zero),
            "offset_t": "i64" if self.far else "i32",
            "SPAN": "(HIGH_Y - LOW_Y + 1)",
            "LEFT": "(LOW_X * CHANNELS)",
            "HALO": "((HIGH_X - LOW_X) * CHANNELS)",
            "TILE_WIDTH": TILE_WIDTH,
            "ROWS_AT_ONCE": ROWS_AT_ONCE,
            "CPU_ROWS": CPU_ROWS,
            "PITCH": f"({pitch})",
            **({"APPLY_TO(k, window, first)": self._applied()} if self.window == "strip" else {}),
            **({} if self.alike is None else {"ALIKE": self.alike[0], "SKIPPED": self.alike[1]}),
            **({"LATEST(row)": self._latest()} if self.window == "planes" else {}),
            **({"FETCH_ALL(window)": loads} if self.window == "listed" else {}),
            **({"gp_apply(window, first)": "gp_apply_weights(layout, window, first)"} if self.constants else {}),
        }

    def lifted(self) -> tuple[Self, np.ndarray]:
        """See :class:`KernelSpec`; weights become arguments if that costs no instructions; other constants never do."""
        (function,), dtypes, words = lift(self.map if self.shares_weights else None)
        return (self if function is None else replace(self, map=function, constants=dtypes)), words

    def _unpacked(self) -> str:
        """Return a C expression for element ``k`` of a word as a sum of one term.

        Integers become the low bits of a float that is a power of two, which is then subtracted: GPUs convert integers
        a few times slower.
        """
        element, summed = self.inputs[0].dtype, np.dtype(np.float32) if self.summed_in_floats else self.values[0]
        if element.itemsize >= _WORD:
            return f"(sum_t){number_of('(word)', element)}"
        bits = 8 * element.itemsize
        if element.kind not in "iu" or summed.kind != "f":
            return f"(sum_t){number_of(f'((stored_t)((word) >> (k) * {bits}))', element)}"
        below = 2 ** (bits - 1) if element.kind == "i" else 0  # added to make all numbers positive
        low = f"((word) >> (k) * {bits} & {2**bits - 1}u{f' ^ {below}u' if below else ''})"
        if summed.itemsize == 4:
            return f"(gp_from_bits_f32(0x4B000000u | {low}) - {2**23 + below}.0f)"
        return f"(gp_from_bits_f64((u64)0x43300000u << 32 | {low}) - {2**52 + below}.0)"

    def _applied(self) -> str:
        """Return a C expression for the function of the window of element ``k``, a constant for the compiler."""
        if self.beside is None:
            return "gp_apply(window, first)"
        return "((k) & 1 ? gp_apply_beside(window, first) : gp_apply(window, first))"

    def _latest(self) -> str:
        """Return a C expression for the greatest offset of a plane in which a row has neighbours."""
        low, high = self.reach(1)
        latest = {
            row: max([dz for dz, dy, _ in self.offsets if dy == row + low], default=0) for row in range(high - low + 1)
        }
        return "(" + " : ".join([*(f"(row) == {row} ? {dz}" for row, dz in latest.items() if dz), "0"]) + ")"

    def text(self) -> list[str]:
        """Write the types of a window, the functions of a neighbourhood, and the result of an element."""
        return [
            *self._functions(),
            *store_text(self),
            *(_RESULT if self.window in _IN_LINES else []),
        ]

    def _functions(self) -> list[str]:
        """Write the first of two passes, and the function of a window, whose first row in a ring is ``first``."""
        if self.window in READING:
            return []
        if self.lines:
            return [line for axis, weights in zip(_AXES, self.lines, strict=True) for line in _adding(axis, weights)]
        function, across = self.paired or (self.map, self.across)
        (low_z, _), (low_y, _), (low_x, _) = map(self.reach, range(3))
        if self.window == "listed":
            places = [f"window[{k}]" for k in range(len(self.offsets))]
        else:
            ring = " % SPAN" if self.window == "ring" else ""
            offsets = [low_x if across else dx for *_, dx in self.offsets]
            rows = [dy - low_y for _, dy, _ in self.offsets]
            planes = [f"{(dz - low_z)} * SPAN + " for dz, *_ in self.offsets]
            places = [
                f"window[({plane}(first + {row}){ring}) * PITCH + {(dx - low_x) * self.channels}]"
                for plane, row, dx in zip(planes, rows, offsets, strict=True)
            ]
        space = "LOCAL const" if self.window == "tile" else "const"
        head = f"DEVICE sum_t gp_apply({space} slot_t *window, const int first)"
        if self.constants:
            head = f"DEVICE sum_t gp_apply_weights(const layout_t layout, {space} slot_t *window, const int first)"
        apply = emit_function(head, function, [*places, "0"], return_value)
        if self.beside is not None:
            more = head.replace("gp_apply(", "gp_apply_beside(")
            return [apply, emit_function(more, self.beside, [*places, "0"], return_value)]
        if across is None:
            return [apply]
        places = [f"row[{(dx - low_x) * self.channels}]" for dx in self.columns]
        return [emit_function("DEVICE sum_t gp_across(const item_t *row)", across, places, return_value), apply]

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (Path(__file__).parent / "kernels" / "stencil.h",)


class RoundedSpec(StencilSpec):
    """The macros of a stencil that rounds each product and each sum."""

    contracted: ClassVar[bool] = False


def _stride(operand: int, axis: int, stride: int | None) -> str:
    return f"layout.reduced_stride[{operand}][{axis}]" if stride is None else str(stride)


def _adding(axis: str, weights: Sequence[np.floating[Any]]) -> list[str]:
    """Write the function that adds a number, times a weight, to a sum, which begins with the first product."""
    first = next(tap for tap, weight in enumerate(weights) if weight)
    return [
        f"DEVICE sum_t gp_plus_{axis.lower()}(const sum_t sum, const sum_t number, const int tap)",
        "{",
        f"    const sum_t weights[] = {{{', '.join(map(constant, weights))}}};",
        "    if (weights[tap] == 0) return sum;",
        "    const sum_t product = PRODUCT_OF(weights[tap], number);",
        f"    return tap == {first} ? product : sum + product;",
        "}",
    ]


_RESULT = [
    "DEVICE result_t gp_result(const layout_t layout, const value_t value)",
    "{",
    "    result_t found[1];",
    "    gp_finish(layout, 0, value, found);",
    "    return found[0];",
    "}",
]
