"""From definitions to the text that a vendor's compiler gets: C that is the same in CUDA and OpenCL.

Around the kernel file, in this order: constants, the backend's prelude, NumPy's arithmetic, complex numbers where there
are any, the types of the call, its functions ``MAP``, ``OP`` and ``STORE``, the backend's way of passing values between
groups, the steps that reductions, or scans, share, and the file itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np

from gpuprims.definitions import Access, Definitions, Dtype, StepClass, value_words
from gpuprims.expressions import TypedExpr, c_type, constant, converted, emit_function, part


def kernel_source(
    definitions: Definitions, kernel: Path, prelude: Path, exchange: Path, block: int, items: int, warp: int
) -> str:
    """Write the whole text of a kernel.

    Parameters
    ----------
    definitions : Definitions
    kernel : Path
        The kernel file; errors name its own lines.
    prelude, exchange : Path
        The backend's dialect words, and its functions that pass values between groups.
    block, items : int
        Work-items a group, elements a work-item.
    warp : int
        Work-items whose registers shuffles reach; 0 where there are no shuffles.

    Returns
    -------
    str
    """
    constants = {
        "BLOCK": block,
        "ITEMS": max(items, definitions.vector),
        "COMMUTATIVE": int(definitions.commutative),
        "VECTOR": definitions.vector,
        "WARP": warp,
        "WORDS": value_words(definitions.values),
    }
    if definitions.uses_float64:
        constants["HAS_F64"] = 1
    if definitions.inclusive is not None:
        constants["INCLUSIVE"] = int(definitions.inclusive)
    fold = []
    if definitions.op:
        steps = "folding.h" if definitions.inclusive is None else "scanning.h"
        shared = [files("gpuprims").joinpath(name).read_text() for name in ("shuffling.h", steps)]
        fold = [*_fold(definitions), *_words(definitions), exchange.read_text(), *shared]
    parts = [
        *(f"#define {name} {value}" for name, value in constants.items()),
        prelude.read_text(),
        files("gpuprims.expressions").joinpath("arithmetic.h").read_text(),
        *_complex(definitions),
        *_types(definitions),
        *_map(definitions),
        *_store(definitions),
        *fold,
        f'#line 1 "{kernel.name}"',
        kernel.read_text(),
    ]
    return "\n".join(parts)


def _complex(definitions: Definitions) -> list[str]:
    """Write the arithmetic of each width of complex numbers that the kernel computes in."""
    widths = sorted((dtype for dtype in definitions.dtypes if dtype.kind == "c"), key=lambda dtype: dtype.itemsize)
    if not widths:
        return []
    text, parts = files("gpuprims.expressions").joinpath("complex.h").read_text(), []
    for dtype in widths:
        parts += [f"#define COMPLEX {c_type(dtype)}", f"#define REAL {c_type(part(dtype))}", text]
        parts += ["#undef COMPLEX", "#undef REAL"]
    return parts


def _types(definitions: Definitions) -> list[str]:
    operands = (*definitions.inputs, *definitions.outputs)
    kept, reduced = len(operands[0].kept), len(operands[0].reduced)
    members = [f"kept[{kept}]", f"reduced[{reduced}]", f"offset[{len(operands)}]"]
    members += [f"kept_step[{len(operands)}][{kept}]", f"reduced_step[{len(operands)}][{reduced}]"]
    shaped = "; ".join(f"i64 {member}" for member in members if "[0]" not in member)
    alone = "RESTRICT " if definitions.inclusive is None else ""  # a scan may write where it reads
    inputs = [f"GLOBAL const {_stored(a.dtype)} *{alone}x{k}" for k, a in enumerate(definitions.inputs)]
    outputs = [f"GLOBAL {_stored(a.dtype)} *{alone}y{k}" for k, a in enumerate(definitions.outputs)]
    fields = " ".join(f"{c_type(dtype)} v{k};" for k, dtype in enumerate(definitions.values))
    value_t = c_type(definitions.values[0]) if len(definitions.values) == 1 else f"struct {{ {fields} }}"
    return [
        f"typedef {value_t} value_t;",
        f"typedef struct {{ i64 count; {shaped}; }} layout_t;",
        f"#define INPUTS {', '.join(inputs)}",
        f"#define INPUT_NAMES {_names('x', definitions.inputs)}",
        f"#define OUTPUTS {', '.join(outputs)}",
        f"#define OUTPUT_NAMES {_names('y', definitions.outputs)}",
        *(_place(f"gp_at_x{k}", k, access) for k, access in enumerate(definitions.inputs)),
        *(_place(f"gp_at_y{k}", len(definitions.inputs) + k, a) for k, a in enumerate(definitions.outputs)),
    ]


def _names(letter: str, operands: Sequence[Access]) -> str:
    return ", ".join(f"{letter}{k}" for k in range(len(operands)))


def _stored(dtype: Dtype) -> str:
    """Return the C type that holds one number in memory."""
    return "u16" if dtype == np.float16 else c_type(dtype)


def _map(definitions: Definitions) -> list[str]:
    """Write MAP, of one element, and MAP_VECTOR, of VECTOR neighbours read in one load.

    An element comes as its address in registers, so that one of several lanes is passed on like one of one.
    """
    inputs, pack = definitions.inputs, _Packing(definitions.values)
    head = f"DEVICE value_t gp_apply({_elements(inputs)}, const i64 j)"
    names = _names("x", inputs)
    return [
        emit_function(head, definitions.map, [*_numbers(inputs), "j"], pack.close),
        "DEVICE value_t gp_map(INPUTS, const layout_t layout, const i64 o, const i64 j)",
        "{",
        *(line for k, access in enumerate(inputs) for line in _load(k, access, 1)),
        f"    return gp_apply({_names('e', inputs)}, j);",
        "}",
        f"#define MAP(o, j) gp_map({names}, layout, o, j)",
        *(_map_vector(inputs, names, definitions.vector) if definitions.vector > 1 else _MAP_ALONE),
    ]


def _elements(inputs: Sequence[Access]) -> str:
    """Return the parameters that stand for one element of each input."""
    return ", ".join(f"const {_stored(access.dtype)} *e{k}" for k, access in enumerate(inputs))


def _numbers(inputs: Sequence[Access]) -> list[str]:
    """Return C text of the numbers that such elements hold."""
    return [_number(f"e{k}[{lane}]", access.dtype) for k, access in enumerate(inputs) for lane in range(access.lanes)]


# Where a vector is one element, the kernels' loops over vectors are loops over elements.
_MAP_ALONE = ["#define MAP_VECTOR(o, j, values) (values)[0] = MAP(o, j)"]
_STORE_ALONE = ["#define STORE_VECTOR(o, j, values) STORE(o, j, (values)[0])"]


def _map_vector(inputs: Sequence[Access], names: str, vector: int) -> list[str]:
    widths = [vector if access.reduced[-1] == 1 else 1 for access in inputs]
    elements = [
        f"e{k}" if width == 1 else f"e{k} + item{_times(access.lanes)}"
        for k, (access, width) in enumerate(zip(inputs, widths, strict=True))
    ]
    return [
        "DEVICE void gp_map_vector(INPUTS, const layout_t layout, const i64 o, const i64 j, value_t *values)",
        "{",
        *(line for k, access in enumerate(inputs) for line in _load(k, access, widths[k])),
        "#pragma unroll",
        f"    for (int item = 0; item < VECTOR; item++) values[item] = gp_apply({', '.join(elements)}, j + item);",
        "}",
        f"#define MAP_VECTOR(o, j, values) gp_map_vector({names}, layout, o, j, values)",
    ]


def _load(k: int, access: Access, width: int) -> list[str]:
    """Read ``width`` neighbouring elements of an operand into registers, in one load."""
    kind, count = _stored(access.dtype), width * access.lanes
    at = f"x{k} + gp_at_x{k}(layout, o, j){_times(access.lanes)}"
    if count == 1:
        return [f"    {kind} e{k}[1];", f"    e{k}[0] = *({at});"]
    read = _vector("READ", access.dtype, count, ("GLOBAL const ", at), ("", f"e{k}"))
    return [f"    {kind} e{k}[{count}];", f"    {read}"]


def _times(lanes: int) -> str:
    return f" * {lanes}" if lanes > 1 else ""


def _number(name: str, dtype: Dtype) -> str:
    """Return C text of a stored number as a value in registers."""
    if dtype == np.float16:
        return f"gp_half_value({name})"
    return f"({name} != 0)" if dtype == np.bool_ else name


def _store(definitions: Definitions) -> list[str]:
    """Write STORE, of one value, and STORE_VECTOR, of VECTOR neighbours written at once."""
    if definitions.place is not None:
        return _store_at_places(definitions, definitions.place)
    outputs, names = definitions.outputs, _names("y", definitions.outputs)
    return [
        _finish(definitions, ()),
        "DEVICE void gp_store(OUTPUTS, const layout_t layout, const i64 o, const i64 j, const value_t value)",
        "{",
        *(f"    {_stored(access.dtype)} r{k}[{access.lanes}];" for k, access in enumerate(outputs)),
        f"    gp_finish(layout, j, value, {_names('r', outputs)});",
        *(_write(k, access, 1, "j") for k, access in enumerate(outputs)),
        "}",
        f"#define STORE(o, j, value) gp_store({names}, layout, o, j, value)",
        *(_store_vector(outputs, names, definitions.vector) if definitions.vector > 1 else _STORE_ALONE),
    ]


def _finish(definitions: Definitions, inputs: Sequence[Access]) -> str:
    """Write gp_finish, from a value, and elements of such inputs, to the elements that are stored."""
    outputs = definitions.outputs
    targets = ", ".join(f"{_stored(access.dtype)} *r{k}" for k, access in enumerate(outputs))
    places = [(f"r{k}[{lane}]", access.dtype) for k, access in enumerate(outputs) for lane in range(access.lanes)]

    def close(*results: str) -> str:
        return " ".join(
            f"{place} = {f'gp_half_bits({result})' if dtype == np.float16 else result};"
            for (place, dtype), result in zip(places, results, strict=True)
        )

    elements = f"{_elements(inputs)}, " if inputs else ""
    head = f"DEVICE void gp_finish(const layout_t layout, const i64 j, const value_t value, {elements}{targets})"
    return emit_function(head, definitions.finish, _of_value(definitions, definitions.finish, inputs), close)


def _of_value(definitions: Definitions, function: TypedExpr, inputs: Sequence[Access]) -> list[str]:
    """Return the arguments of a function of a value, the number of elements folded, and elements of inputs."""
    values = definitions.values
    # The count is an integer, and to the function a number of the dtype that it divides. A scan counts up to each j;
    # of a reduce, whose result is at the first j, the layout has the whole count.
    count = converted("(layout.count + j)", np.dtype(np.int64), function.steps[len(values)].dtype)
    return [*(f"value{field}" for field in _Packing(values).fields), count, *_numbers(inputs)]


def _store_at_places(definitions: Definitions, place: TypedExpr) -> list[str]:
    """Write STORE where each value says by itself where it goes, if anywhere."""
    inputs, outputs = definitions.inputs, definitions.outputs
    elements = _names("e", inputs)
    head = f"DEVICE i64 gp_place(const layout_t layout, const i64 j, const value_t value, {_elements(inputs)})"
    return [
        _finish(definitions, inputs),
        emit_function(head, place, _of_value(definitions, place, inputs), lambda at: f"return {at};"),
        "DEVICE void gp_store(INPUTS, OUTPUTS, const layout_t layout, const i64 o, const i64 j, const value_t value)",
        "{",
        *(line for k, access in enumerate(inputs) for line in _load(k, access, 1)),
        f"    const i64 at = gp_place(layout, j, value, {elements});",
        "    if (at < 0) return;",
        *(f"    {_stored(access.dtype)} r{k}[{access.lanes}];" for k, access in enumerate(outputs)),
        f"    gp_finish(layout, j, value, {elements}, {_names('r', outputs)});",
        *(_write(k, access, 1, "at") for k, access in enumerate(outputs)),
        "}",
        f"#define STORE(o, j, value) gp_store({_names('x', inputs)}, {_names('y', outputs)}, layout, o, j, value)",
        "#define STORE_VECTOR(o, j, values) "
        + " ".join(f"STORE(o, (j) + {item}, (values)[{item}]);" for item in range(definitions.vector)),
    ]


def _store_vector(outputs: Sequence[Access], names: str, vector: int) -> list[str]:
    elements = [f"r{k} + item{_times(access.lanes)}" for k, access in enumerate(outputs)]
    return [
        "DEVICE void gp_store_vector(OUTPUTS, const layout_t layout, const i64 o, const i64 j, const value_t *values)",
        "{",
        *(f"    {_stored(access.dtype)} r{k}[{vector * access.lanes}];" for k, access in enumerate(outputs)),
        "#pragma unroll",
        "    for (int item = 0; item < VECTOR; item++)",
        f"        gp_finish(layout, j + item, values[item], {', '.join(elements)});",
        *(_write(k, access, vector, "j") for k, access in enumerate(outputs)),
        "}",
        f"#define STORE_VECTOR(o, j, values) gp_store_vector({names}, layout, o, j, values)",
    ]


def _write(k: int, access: Access, width: int, index: str) -> str:
    """Write ``width`` neighbouring elements of an operand from registers, in one store."""
    count = width * access.lanes
    at = f"y{k} + gp_at_y{k}(layout, o, {index}){_times(access.lanes)}"
    if count == 1:
        return f"    *({at}) = r{k}[0];"
    return f"    {_vector('WRITE', access.dtype, count, ('GLOBAL ', at), ('', f'r{k}'))}"


def _vector(word: str, dtype: Dtype, count: int, first: tuple[str, str], second: tuple[str, str]) -> str:
    """Write READ_VECTOR or WRITE_VECTOR of as many numbers, complex ones as pairs of their parts.

    Each place is what qualifies its type, and a pointer.
    """
    kind = _stored(part(dtype))
    if dtype.kind != "c":
        return f"{word}_VECTOR({kind}, {count}, {first[1]}, {second[1]});"
    places = ", ".join(f"({qualifier}{kind} *)({pointer})" for qualifier, pointer in (first, second))
    return f"{word}_VECTOR({kind}, {2 * count}, {places});"


def _fold(definitions: Definitions) -> list[str]:
    """Write OP and IDENTITY."""
    if definitions.op is None:
        return []
    pack = _Packing(definitions.values)
    arguments = [f"{side}{field}" for side in "ab" for field in pack.fields]
    scalars = zip(definitions.identity, definitions.values, strict=True)
    constants = [constant(repr(scalar.item()), dtype) for scalar, dtype in scalars]
    return [
        emit_function(
            "DEVICE value_t gp_fold(const value_t a, const value_t b)", definitions.op, arguments, pack.close
        ),
        "\n".join(["DEVICE value_t gp_identity(void)", "{", f"    {pack.close(*constants)}", "}"]),
        *_arrays(pack, definitions.values),
        "#define OP(a, b) gp_fold(a, b)",
        "#define IDENTITY gp_identity()",
    ]


def _arrays(pack: _Packing, values: Sequence[Dtype]) -> list[str]:
    """Write VALUES, an array of values, VALUE, one of them, and SET_VALUE: each component an array of its own."""
    numbers = range(len(values))
    parameters = ", ".join(f"const {c_type(dtype)} c{k}" for k, dtype in enumerate(values))
    arrays = "; ".join(f"{c_type(dtype)} name##_v{k} places" for k, dtype in enumerate(values))
    sets = " ".join(f"name##_v{k} place = gp_set{field};" for k, field in enumerate(pack.fields))
    return [
        "\n".join(
            [f"DEVICE value_t gp_pack({parameters})", "{", f"    {pack.close(*(f'c{k}' for k in numbers))}", "}"]
        ),
        f"#define VALUES(name, places) {arrays}",
        f"#define VALUE(name, place) gp_pack({', '.join(f'name##_v{k} place' for k in numbers)})",
        f"#define SET_VALUE(name, place, value) do {{ const value_t gp_set = value; {sets} }} while (0)",
    ]


def _words(definitions: Definitions) -> list[str]:
    """Write a value as 32-bit words, and back: what lanes and groups pass on."""
    pack = _Packing(definitions.values)
    split: list[str] = []
    joined: list[str] = []
    for field, dtype in zip(pack.fields, definitions.values, strict=True):
        parts = (".re", ".im") if dtype.kind == "c" else ("",)
        bits = [_split_number(f"value{field}{name}", part(dtype), split) for name in parts]
        joined.append(f"gp_make_{c_type(dtype)}({', '.join(bits)})" if dtype.kind == "c" else bits[0])
    return [
        "\n".join(["DEVICE void gp_split(const value_t value, u32 *words)", "{", *split, "}"]),
        "\n".join(["DEVICE value_t gp_join(const u32 *words)", "{", f"    {pack.close(*joined)}", "}"]),
    ]


def _split_number(value: str, dtype: Dtype, lines: list[str]) -> str:
    """Append the lines that write a real number's words behind those before it; return C text of it, joined again."""
    kind, word = c_type(dtype), len(lines)
    if dtype.itemsize < 8:
        lines.append(f"    words[{word}] = gp_bits_{kind}({value});")
        return f"gp_from_bits_{kind}(words[{word}])"
    lines.append(f"    words[{word}] = (u32)gp_bits_{kind}({value});")
    lines.append(f"    words[{word + 1}] = (u32)(gp_bits_{kind}({value}) >> 32);")
    return f"gp_from_bits_{kind}((u64)words[{word}] | ((u64)words[{word + 1}] << 32))"


class _Packing:
    """How a value's components are written: bare when there is one, else fields of a struct."""

    def __init__(self, values: Sequence[Dtype]) -> None:
        self.fields = [""] if len(values) == 1 else [f".v{k}" for k in range(len(values))]

    def close(self, *results: str) -> str:
        """Return the last line of a function that gives a value."""
        if len(results) == 1:
            return f"return {results[0]};"
        assigned = " ".join(f"packed{field} = {result};" for field, result in zip(self.fields, results, strict=True))
        return f"value_t packed; {assigned} return packed;"


def _place(name: str, k: int, access: Access) -> str:
    """C function from a kept index ``o`` and a reduced index ``j`` to a position in operand ``k``, in elements."""
    lines = [f"    i64 at = layout.offset[{k}];"]
    lines += _walk(k, "kept", "o", access.kept) + _walk(k, "reduced", "j", access.reduced)
    head = f"DEVICE i64 {name}(const layout_t layout, i64 o, i64 j)"
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
