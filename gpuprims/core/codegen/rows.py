"""Write the functions of rows: elements of an output at one constant stride, addressed from one position."""

from __future__ import annotations

from gpuprims.core.codegen.functions import layout_of, operand_names, operands_of, reread
from gpuprims.core.codegen.operands import load, names_of, stored, write
from gpuprims.core.kernel_spec import KernelSpec, StrideClass


def row_text(spec: KernelSpec) -> list[str]:
    """Write row_t, ROW, ROWS_JOIN, ROW_DENSE, ROW_LENGTH, ROW_END, MAP_ROW and STORE_ROW."""
    operands = (*spec.inputs, *spec.outputs)
    names = [f"x{k}" for k in range(len(spec.inputs))] + [f"y{k}" for k in range(len(spec.outputs))]
    # A row keeps the position of element 0, extrapolated along its stride, so that index `j` can be added to it.
    moved = {
        name: along_axis(access.reduced, f"reduced_stride[{k}]")
        for k, (name, access) in enumerate(zip(names, operands, strict=True))
    }
    found = [f"row.{name} = gp_at_{name}(layout, o, j)" for name in names]
    index = "j"
    if spec.index is not None:
        moved["index"] = along_axis(spec.index, "index_stride")
        found.append("row.index = gp_index(layout, j)")
        index = f"row.index + {moved['index']}"
    places = {name: f"(row.{name} + {along})" for name, along in moved.items()}
    inputs = names_of("x", spec.inputs)
    return [
        f"typedef struct {{ i64 o, {', '.join(moved)}; }} row_t;",
        "DEVICE row_t gp_row(const layout_t layout, const i64 o, const i64 j)",
        "{",
        "    row_t row;",
        "    row.o = o;",
        *(f"    {text} - ({along});" for text, along in zip(found, moved.values(), strict=True)),
        "    return row;",
        "}",
        "#define ROW(o, j) gp_row(layout, o, j)",
        f"#define ROWS_JOIN(length) ({_rows_join(spec)})",
        f"#define ROW_DENSE {int(all(access.reduced[-1:] != (None,) for access in operands))}",
        *_length_text(spec),
        "DEVICE value_t gp_map_row(INPUTS, const layout_t layout, const row_t row, const i64 j)",
        "{",
        *(line for k, access in enumerate(spec.inputs) for line in load(k, access, 1, places[f"x{k}"])),
        f"    return gp_apply({layout_of(spec)}{names_of('e', spec.inputs)}, {index});",
        "}",
        f"#define MAP_ROW(row, j) gp_map_row({inputs}, layout, row, j)",
        f"#define ELEMENT_ROW(row, j) x0[(row).x0 + {along_axis(spec.inputs[0].reduced, 'reduced_stride[0]', '(j)')}]",
        *_store(spec, "row", "j", places, "j"),
        *_beside_text(spec, names, inputs),
    ]


def _length_text(spec: KernelSpec) -> list[str]:
    """Write MANY_ROWS, ROW_LENGTH and ROW_END."""
    last = len(spec.inputs[0].reduced) - 1
    length = f"layout.reduced[{last}]"
    above = f"gp_divided((u32)(j), layout.reduced_divider[{last}])" if spec.inputs[0].narrow else f"(j) / {length}"
    return [
        f"#define MANY_ROWS {int(last > 0)}",
        f"#define ROW_LENGTH(n) {length if last > 0 else '(n)'}",
        f"#define ROW_END(j, last) {f'min(last, ((i64)({above}) + 1) * {length})' if last > 0 else '(last)'}",
    ]


def _rows_join(spec: KernelSpec) -> str:
    """Return C text that is true if rows of ``length`` elements follow each other in every operand; none is counted."""
    counted = spec.map.takes(len(spec.inputs)) or spec.place is not None
    if counted or spec.finish is None or spec.finish.takes(len(spec.values)):
        return "0"
    operands = (*spec.inputs, *spec.outputs)
    if any((len(access.kept), access.reduced, access.lanes) != (1, (1,), 1) for access in operands):
        return "0"
    apart = [along_axis(access.kept, f"kept_stride[{k}]", "1") for k, access in enumerate(operands)]
    return " && ".join(f"{one} == (length)" for one in apart)


def _beside_text(spec: KernelSpec, names: list[str], inputs: str) -> list[str]:
    """Write BESIDE, BESIDE_LENGTH, BESIDE_JOINS, MAP_BESIDE and STORE_BESIDE: element ``j`` of neighbouring outputs."""
    operands = (*spec.inputs, *spec.outputs)
    last = len(spec.inputs[0].kept) - 1
    moved = {
        name: along_axis(access.kept, f"kept_stride[{k}]", "o")
        for k, (name, access) in enumerate(zip(names, operands, strict=True))
    }
    places = {name: f"(row.{name} + {along})" for name, along in moved.items()}
    indexed = spec.index is not None
    return [
        "DEVICE row_t gp_beside(const layout_t layout, const i64 o, const i64 j)",
        "{",
        "    row_t row;",
        "    row.o = j;",
        *(f"    row.{name} = gp_at_{name}(layout, o, j) - ({along});" for name, along in moved.items()),
        *(("    row.index = gp_index(layout, j);",) if indexed else ()),
        "    return row;",
        "}",
        "#define BESIDE(o, j) gp_beside(layout, o, j)",
        f"#define BESIDE_LENGTH(outputs) {f'layout.kept[{last}]' if last > 0 else '(outputs)'}",
        f"#define BESIDE_JOINS(length) ({_joins(spec)})",
        "DEVICE row_t gp_row_beside(const layout_t layout, row_t row, const i64 o)",
        "{",
        "    row.o += o;",
        *(f"    row.{name} += {along};" for name, along in moved.items() if along != "0"),
        "    return row;",
        "}",
        "#define ROW_BESIDE(row, o) gp_row_beside(layout, row, o)",
        "DEVICE value_t gp_map_beside(INPUTS, const layout_t layout, const row_t row, const i64 o)",
        "{",
        *(line for k, access in enumerate(spec.inputs) for line in load(k, access, 1, places[f"x{k}"])),
        f"    return gp_apply({layout_of(spec)}{names_of('e', spec.inputs)}, row.{'index' if indexed else 'o'});",
        "}",
        f"#define MAP_BESIDE(row, o) gp_map_beside({inputs}, layout, row, o)",
        *_store(spec, "beside", "o", places, "row.o"),
    ]


def _joins(spec: KernelSpec) -> str:
    """Return C text that is true if rows of ``length`` outputs follow each other in memory, in every input."""
    if not spec.inputs or spec.map.takes(len(spec.inputs)):  # the index of each element
        return "0"
    if any((len(access.reduced), access.kept, access.lanes) != (1, (1,), 1) for access in spec.inputs):
        return "0"
    apart = [along_axis(access.reduced, f"reduced_stride[{k}]", "1") for k, access in enumerate(spec.inputs)]
    return " && ".join(f"{one} == (length)" for one in apart)


def _store(spec: KernelSpec, word: str, along: str, places: dict[str, str], index: str) -> list[str]:
    """Write STORE_ROW or STORE_BESIDE, which name the index along the row ``along``."""
    if spec.finish is None:  # the kernel stores in its own way
        return []
    head = f"#define STORE_{word.upper()}(row, to, value)"  # not `o`, which the row has too
    if spec.place is not None:
        return [f"{head} STORE({'(row).o, to' if along == 'j' else 'to, (row).o'}, value)"]
    inputs = reread(spec)
    elements = f"{names_of('e', inputs)}, " if inputs else ""
    return [
        f"DEVICE void gp_store_{word}({operands_of(spec)}, const layout_t layout, const row_t row, const i64 {along}, "
        "const value_t value)",
        "{",
        *(line for k, access in enumerate(inputs) for line in load(k, access, 1, places[f"x{k}"])),
        *(f"    {stored(access.dtype)} r{k}[{access.lanes}];" for k, access in enumerate(spec.outputs)),
        f"    gp_finish(layout, {index}, value, {elements}{names_of('r', spec.outputs)});",
        *(write(k, access, 1, "", places[f"y{k}"]) for k, access in enumerate(spec.outputs)),
        "}",
        f"{head} gp_store_{word}({operand_names(spec)}, layout, row, to, value)",
    ]


def along_axis(strides: tuple[StrideClass, ...], array: str, index: str = "j") -> str:
    """Return C text for the offset of an index along the last axis."""
    if strides[-1:] in ((), (0,)):
        return "0"
    known = {1: index, -1: f"-{index}"} | {k: f"{k} * {index}" for k in (2, 3, 4)}
    return known.get(strides[-1] or 0, f"{index} * layout.{array}[{len(strides) - 1}]")
