"""Write the functions of rows: elements of an output that lie at one stride, so that one position is enough."""

from __future__ import annotations

from gpuprims.core.codegen.functions import layout_of
from gpuprims.core.codegen.operands import load, names_of, stored, write
from gpuprims.core.kernel_spec import KernelSpec, StrideClass


def row_text(spec: KernelSpec) -> list[str]:
    """Write row_t, ROW, ROW_DENSE, ROW_LENGTH, ROW_END, MAP_ROW and STORE_ROW."""
    operands = (*spec.inputs, *spec.outputs)
    names = [f"x{k}" for k in range(len(spec.inputs))] + [f"y{k}" for k in range(len(spec.outputs))]
    last = len(spec.inputs[0].reduced) - 1
    # Each position is that of element 0, if the row went back so far.
    moved = {
        name: _along(access.reduced, f"reduced_stride[{k}]")
        for k, (name, access) in enumerate(zip(names, operands, strict=True))
    }
    found = [f"row.{name} = gp_at_{name}(layout, o, j)" for name in names]
    index = "j"
    if spec.index is not None:
        moved["index"] = _along(spec.index, "index_stride")
        found.append("row.index = gp_index(layout, j)")
        index = f"row.index + {moved['index']}"
    places = {name: f"(row.{name} + {along})" for name, along in moved.items()}
    inputs, outputs = names_of("x", spec.inputs), names_of("y", spec.outputs)
    length = f"layout.reduced[{last}]"
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
        f"#define ROW_DENSE {int(all(access.reduced[-1:] != (None,) for access in operands))}",
        f"#define ROW_LENGTH(n) {length if last > 0 else '(n)'}",
        f"#define ROW_END(j, last) {f'min(last, ((j) / {length} + 1) * {length})' if last > 0 else '(last)'}",
        "DEVICE value_t gp_map_row(INPUTS, const layout_t layout, const row_t row, const i64 j)",
        "{",
        *(line for k, access in enumerate(spec.inputs) for line in load(k, access, 1, places[f"x{k}"])),
        f"    return gp_apply({layout_of(spec)}{names_of('e', spec.inputs)}, {index});",
        "}",
        f"#define MAP_ROW(row, j) gp_map_row({inputs}, layout, row, j)",
        *_store_row(spec, outputs, places),
    ]


def _store_row(spec: KernelSpec, names: str, places: dict[str, str]) -> list[str]:
    if spec.place is not None:
        return ["#define STORE_ROW(row, j, value) STORE((row).o, j, value)"]
    return [
        "DEVICE void gp_store_row(OUTPUTS, const layout_t layout, const row_t row, const i64 j, const value_t value)",
        "{",
        *(f"    {stored(access.dtype)} r{k}[{access.lanes}];" for k, access in enumerate(spec.outputs)),
        f"    gp_finish(layout, j, value, {names_of('r', spec.outputs)});",
        *(write(k, access, 1, "j", places[f"y{k}"]) for k, access in enumerate(spec.outputs)),
        "}",
        f"#define STORE_ROW(row, j, value) gp_store_row({names}, layout, row, j, value)",
    ]


def _along(strides: tuple[StrideClass, ...], array: str) -> str:
    """Return C text of the distance of ``j`` elements along the last axis."""
    if strides[-1:] in ((), (0,)):
        return "0"
    known = {1: "j", -1: "-j", 2: "2 * j"}
    return known.get(strides[-1] or 0, f"j * layout.{array}[{len(strides) - 1}]")
