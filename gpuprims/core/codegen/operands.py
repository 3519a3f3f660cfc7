"""Write a kernel's types and parameters, and the addresses, loads and stores of elements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuprims.core.kernel_spec import Access, Dtype, KernelSpec, StrideClass
from gpuprims.core.layout import VECTOR_BYTES
from gpuprims.expressions import c_type, member, part
from gpuprims.expressions.narrow import narrow


def types_text(spec: KernelSpec) -> list[str]:
    """Write value_t, layout_t, the parameters, and a function for the position of each operand's elements."""
    operands = (*spec.inputs, *spec.outputs)
    kept, reduced = len(operands[0].kept), len(operands[0].reduced)
    members = [f"kept[{kept}]", f"reduced[{reduced}]", f"offset[{len(operands)}]"]
    members += [f"kept_stride[{len(operands)}][{kept}]", f"reduced_stride[{len(operands)}][{reduced}]"]
    if spec.index is not None:
        members += ["index_offset", f"index_stride[{reduced}]"]
    if operands[0].narrow:
        members += [f"kept_divider[{kept}]", f"reduced_divider[{reduced}]"]
    shaped = "; ".join(f"i64 {one}" for one in members if "[0]" not in one)
    constants = "".join(f" {member(number, dtype)}" for number, dtype in enumerate(spec.constants))
    alone = "" if spec.aliases else "RESTRICT "
    inputs = [f"GLOBAL const {stored(a.dtype)} *{alone}x{k}" for k, a in enumerate(spec.inputs)]
    outputs = [f"GLOBAL {stored(a.dtype)} *{alone}y{k}" for k, a in enumerate(spec.outputs)]
    fields = " ".join(f"{c_type(dtype)} v{k};" for k, dtype in enumerate(spec.values))
    value_t = c_type(spec.values[0]) if len(spec.values) == 1 else f"struct {{ {fields} }}"
    return [
        f"typedef {value_t} value_t;",
        f"typedef struct {{ i64 count; {shaped};{constants} }} layout_t;",
        f"#define INPUTS {', '.join(inputs)}",
        f"#define INPUT_NAMES {names_of('x', spec.inputs)}",
        f"#define OUTPUTS {', '.join(outputs)}",
        f"#define OUTPUT_NAMES {names_of('y', spec.outputs)}",
        *(_place(f"gp_at_x{k}", k, access) for k, access in enumerate(spec.inputs)),
        *(_place(f"gp_at_y{k}", len(spec.inputs) + k, a) for k, a in enumerate(spec.outputs)),
        *_index(spec),
    ]


def fields_of(values: Sequence[Dtype]) -> list[str]:
    """Return C text that selects each component of a value: a struct's field, or nothing if the value is a number."""
    return [""] if len(values) == 1 else [f".v{k}" for k in range(len(values))]


def return_value(*components: str) -> str:
    """Return C statements that return a value with these components."""
    if len(components) == 1:
        return f"return {components[0]};"
    assigned = " ".join(f"packed.v{k} = {component};" for k, component in enumerate(components))
    return f"value_t packed; {assigned} return packed;"


def words_text(values: Sequence[Dtype]) -> list[str]:
    """Write gp_split, from a value to the 32-bit words that lanes and groups exchange, and gp_join, back."""
    split: list[str] = []
    joined: list[str] = []
    for field, dtype in zip(fields_of(values), values, strict=True):
        parts = (".re", ".im") if dtype.kind == "c" else ("",)
        bits = [_split_number(f"value{field}{name}", part(dtype), split) for name in parts]
        joined.append(f"gp_make_{c_type(dtype)}({', '.join(bits)})" if dtype.kind == "c" else bits[0])
    return [
        "\n".join(["DEVICE void gp_split(const value_t value, u32 *words)", "{", *split, "}"]),
        "\n".join(["DEVICE value_t gp_join(const u32 *words)", "{", f"    {return_value(*joined)}", "}"]),
    ]


def _split_number(value: str, dtype: Dtype, lines: list[str]) -> str:
    """Append lines that write a real number to the next words; return C text that reads it back."""
    kind, word = c_type(dtype), len(lines)
    if dtype.itemsize < 8:
        lines.append(f"    words[{word}] = gp_bits_{kind}({value});")
        return f"gp_from_bits_{kind}(words[{word}])"
    lines.append(f"    words[{word}] = (u32)gp_bits_{kind}({value});")
    lines.append(f"    words[{word + 1}] = (u32)(gp_bits_{kind}({value}) >> 32);")
    return f"gp_from_bits_{kind}((u64)words[{word}] | ((u64)words[{word + 1}] << 32))"


def names_of(letter: str, operands: Sequence[Access]) -> str:
    """Return the names of operands, such as ``x0, x1``."""
    return ", ".join(f"{letter}{k}" for k in range(len(operands)))


def stored(dtype: Dtype) -> str:
    """Return the C type of a number in memory."""
    row = narrow(dtype)
    return row.stored if row else c_type(dtype)


def number_of(name: str, dtype: Dtype) -> str:
    """Return C text that converts a stored number to the type in which it is computed."""
    row = narrow(dtype)
    if row:
        return f"{row.value}({name})"
    return f"({name} != 0)" if dtype == np.bool_ else name


def bits_of(number: str, dtype: Dtype) -> str:
    """Return C text that converts a computed number to its stored form."""
    row = narrow(dtype)
    return f"{row.bits}({number})" if row else number


def elements_of(inputs: Sequence[Access]) -> str:
    """Return C parameters: the address of one element of each input."""
    return ", ".join(f"const {stored(access.dtype)} *e{k}" for k, access in enumerate(inputs))


def numbers_of(inputs: Sequence[Access]) -> list[str]:
    """Return C text for each number of these elements, lane by lane."""
    return [number_of(f"e{k}[{lane}]", access.dtype) for k, access in enumerate(inputs) for lane in range(access.lanes)]


def load(k: int, access: Access, width: int, place: str = "") -> list[str]:
    """Write a load of ``width`` neighbouring elements into registers, as one instruction.

    ``place`` is C text for the position of the first element. The default is element ``j`` of output ``o``.
    """
    kind, count = stored(access.dtype), width * access.lanes
    at = f"x{k} + {place or f'gp_at_x{k}(layout, o, j)'}{times(access.lanes)}"
    if count == 1:
        value = f"gp_read_{kind}({at})" if access.dtype.kind == "c" else f"*({at})"
        return [f"    {kind} e{k}[1];", f"    e{k}[0] = {value};"]
    read = _vector("READ", access.dtype, count, ("GLOBAL const ", at), ("", f"e{k}"))
    return [f"    {kind} e{k}[{count}];", f"    {read}"]


def load_along(k: int, access: Access, width: int) -> list[str]:
    """Write a load of ``width`` neighbours along ``j``; at stride 2 it loads the elements between them too."""
    if width == 1 or access.reduced[-1] == 1:
        return load(k, access, width)
    dtype, at = access.dtype, f"x{k} + gp_at_x{k}(layout, o, j)"
    kind, most = stored(dtype), min(VECTOR_BYTES // dtype.itemsize, 2 * width)
    reads = [
        _vector("READ", dtype, most, ("GLOBAL const ", f"{at} + {n}"), ("", f"p{k} + {n}"))
        for n in range(0, 2 * width, most)
    ]
    taken = [f"    e{k}[{n}] = p{k}[{2 * n}];" for n in range(width)]
    return [f"    {kind} e{k}[{width}], p{k}[{2 * width}];", *(f"    {read}" for read in reads), *taken]


def write(k: int, access: Access, width: int, index: str, place: str = "") -> str:
    """Write a store of ``width`` neighbouring elements from registers, as one instruction.

    ``place`` is C text for the position of the first element. The default is element ``index`` of output ``o``.
    """
    count = width * access.lanes
    at = f"y{k} + {place or f'gp_at_y{k}(layout, o, {index})'}{times(access.lanes)}"
    if count == 1:
        return (
            f"    gp_write_{stored(access.dtype)}({at}, r{k}[0]);"
            if access.dtype.kind == "c"
            else f"    *({at}) = r{k}[0];"
        )
    return f"    {_vector('WRITE', access.dtype, count, ('GLOBAL ', at), ('', f'r{k}'))}"


def _vector(word: str, dtype: Dtype, count: int, first: tuple[str, str], second: tuple[str, str]) -> str:
    """Write READ_VECTOR or WRITE_VECTOR; complex numbers are moved as pairs of their parts.

    ``first``, in global memory, and ``second``, in registers, have the qualifiers of the type and a pointer.
    """
    kind = stored(part(dtype))
    if dtype.kind != "c":
        return f"{word}_VECTOR({kind}, {count}, {first[1]}, {second[1]});"
    places = ", ".join(f"({qualifier}{kind} *)({pointer})" for qualifier, pointer in (first, second))
    return f"{word}_VECTOR({kind}, {2 * count}, {places});"


def times(lanes: int) -> str:
    """Return C text that scales a position from elements to numbers."""
    return f" * {lanes}" if lanes > 1 else ""


def _place(name: str, k: int, access: Access) -> str:
    """Write a function that maps a kept index ``o`` and a reduced index ``j`` to a position in operand ``k``."""
    lines = [f"    i64 at = layout.offset[{k}];"]
    lines += _strides("kept", f"kept_stride[{k}]", "o", access.kept, narrow=access.narrow)
    lines += _strides("reduced", f"reduced_stride[{k}]", "j", access.reduced, narrow=access.narrow)
    head = f"DEVICE i64 {name}(const layout_t layout, i64 o, i64 j)"
    return "\n".join([head, "{", *lines, "    return at;", "}"])


def _index(spec: KernelSpec) -> list[str]:
    """Write a function that maps ``j``, which counts in memory order, to the index that the map function takes."""
    if spec.index is None:
        return []
    lines = _strides("reduced", "index_stride", "j", spec.index, narrow=spec.inputs[0].narrow)
    head = "DEVICE i64 gp_index(const layout_t layout, i64 j)"
    return ["\n".join([head, "{", "    i64 at = layout.index_offset;", *lines, "    return at;", "}"])]


def index_of(spec: KernelSpec, item: str = "") -> str:
    """Return C text for the index of element ``j`` as the map function takes it, or of element ``j + item``."""
    if spec.index is None:
        return f"j + {item}" if item else "j"
    stride = "" if spec.index[-1] == 1 else f" * layout.index_stride[{len(spec.index) - 1}]"
    return f"gp_index(layout, j) + {item}{stride}" if item else "gp_index(layout, j)"


def _strides(axes: str, array: str, index: str, strides: tuple[StrideClass, ...], *, narrow: bool) -> list[str]:
    """Write lines that split a flat index by axes, last axis first, and add strides; leading ones of 0 are skipped."""
    lines: list[str] = []
    first = next((axis for axis, stride in enumerate(strides) if stride != 0), len(strides))
    divided = narrow and len(strides) > max(first, 1)
    if divided:
        lines += ["    {", f"    u32 left = (u32){index};"]
    left = "left" if divided else index
    for axis in reversed(range(first, len(strides))):
        stride = "" if strides[axis] == 1 else f" * layout.{array}[{axis}]"
        length = f"layout.{axes}[{axis}]"
        if axis and divided:
            lines.append(f"    const u32 above{axis} = gp_divided(left, layout.{axes}_divider[{axis}]);")
            here = f"(left - above{axis} * (u32){length})"
        else:
            here = f"({left} % {length})" if axis else left
        if divided:
            stride = stride and f" * (i32)layout.{array}[{axis}]"
            here = f"(i32){here}"
        if strides[axis] != 0:
            lines.append(f"    at += {here}{stride};")
        if axis > first:
            lines.append(f"    left = above{axis};" if divided else f"    {index} /= {length};")
    return [*lines, "    }"] if divided else lines
