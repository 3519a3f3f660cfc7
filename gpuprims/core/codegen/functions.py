"""The functions of a call: MAP, from elements to a value, and STORE, from a value to elements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuprims.core.codegen.folds import Packing
from gpuprims.core.codegen.operands import elements_of, load, names_of, numbers_of, stored, times, write
from gpuprims.core.kernel_spec import Access, Definitions
from gpuprims.expressions import TypedExpr, converted, emit_function


def map_text(definitions: Definitions) -> list[str]:
    """Write MAP, of one element, and MAP_VECTOR, of VECTOR neighbours read in one load.

    An element comes as its address in registers, so that one of several lanes is passed on like one of one.
    """
    inputs, pack = definitions.inputs, Packing(definitions.values)
    layout = (
        "const layout_t layout, " if definitions.constants else ""
    )  # passing a struct costs where nothing is inlined
    head = f"DEVICE value_t gp_apply({layout}{elements_of(inputs)}, const i64 j)"
    names = names_of("x", inputs)
    return [
        emit_function(head, definitions.map, [*numbers_of(inputs), "j"], pack.close),
        "DEVICE value_t gp_map(INPUTS, const layout_t layout, const i64 o, const i64 j)",
        "{",
        *(line for k, access in enumerate(inputs) for line in load(k, access, 1)),
        f"    return gp_apply({_layout(definitions)}{names_of('e', inputs)}, j);",
        "}",
        f"#define MAP(o, j) gp_map({names}, layout, o, j)",
        *(_map_vector(definitions, names) if definitions.vector > 1 else _MAP_ALONE),
        *([_begin(len(inputs) - 1)] if definitions.segmented else []),
    ]


def _layout(definitions: Definitions) -> str:
    """Return the first argument of a map with constants."""
    return "layout, " if definitions.constants else ""


def _begin(k: int) -> str:
    """Write BEGIN, the first element of a segment, which an input says."""
    return f"#define BEGIN(o) x{k}[gp_at_x{k}(layout, o, 0)]"


# Where a vector is one element, the kernels' loops over vectors are loops over elements.
_MAP_ALONE = ["#define MAP_VECTOR(o, j, values) (values)[0] = MAP(o, j)"]


_STORE_ALONE = ["#define STORE_VECTOR(o, j, values) STORE(o, j, (values)[0])"]


def _in_vectors(definitions: Definitions) -> tuple[list[int], list[str]]:
    """Return how many elements of each input a vector takes, and C text of the address of its ``item``-th."""
    inputs = definitions.inputs
    widths = [definitions.vector if access.reduced[-1:] == (1,) else 1 for access in inputs]
    return widths, [
        f"e{k}" if width == 1 else f"e{k} + item{times(access.lanes)}"
        for k, (access, width) in enumerate(zip(inputs, widths, strict=True))
    ]


def _map_vector(definitions: Definitions, names: str) -> list[str]:
    inputs, (widths, elements) = definitions.inputs, _in_vectors(definitions)
    return [
        "DEVICE void gp_map_vector(INPUTS, const layout_t layout, const i64 o, const i64 j, value_t *values)",
        "{",
        *(line for k, access in enumerate(inputs) for line in load(k, access, widths[k])),
        "#pragma unroll",
        f"    for (int item = 0; item < VECTOR; item++) "
        f"values[item] = gp_apply({_layout(definitions)}{', '.join(elements)}, j + item);",
        "}",
        f"#define MAP_VECTOR(o, j, values) gp_map_vector({names}, layout, o, j, values)",
    ]


def store_text(definitions: Definitions) -> list[str]:
    """Write STORE, of one value, and STORE_VECTOR, of VECTOR neighbours written at once."""
    if definitions.finish is None:
        return []
    if definitions.place is not None:
        return _store_at_places(definitions, definitions.finish, definitions.place)
    outputs, names = definitions.outputs, names_of("y", definitions.outputs)
    # A reduce stores no neighbours, and a stencil by itself.
    one_each = (definitions.op is not None and definitions.inclusive is None) or definitions.stencil is not None
    return [
        _finish(definitions, definitions.finish, ()),
        "DEVICE void gp_store(OUTPUTS, const layout_t layout, const i64 o, const i64 j, const value_t value)",
        "{",
        *(f"    {stored(access.dtype)} r{k}[{access.lanes}];" for k, access in enumerate(outputs)),
        f"    gp_finish(layout, j, value, {names_of('r', outputs)});",
        *(write(k, access, 1, "j") for k, access in enumerate(outputs)),
        "}",
        f"#define STORE(o, j, value) gp_store({names}, layout, o, j, value)",
        *(_STORE_ALONE if definitions.vector == 1 or one_each else _store_vector(outputs, names, definitions.vector)),
    ]


def _finish(definitions: Definitions, finish: TypedExpr, inputs: Sequence[Access]) -> str:
    """Write gp_finish, from a value, and elements of such inputs, to the elements that are stored."""
    outputs = definitions.outputs
    targets = ", ".join(f"{stored(access.dtype)} *r{k}" for k, access in enumerate(outputs))
    places = [(f"r{k}[{lane}]", access.dtype) for k, access in enumerate(outputs) for lane in range(access.lanes)]

    def close(*results: str) -> str:
        return " ".join(
            f"{place} = {f'gp_half_bits({result})' if dtype == np.float16 else result};"
            for (place, dtype), result in zip(places, results, strict=True)
        )

    elements = f"{elements_of(inputs)}, " if inputs else ""
    head = f"DEVICE void gp_finish(const layout_t layout, const i64 j, const value_t value, {elements}{targets})"
    return emit_function(head, finish, _of_value(definitions, finish, inputs), close)


def _of_value(definitions: Definitions, function: TypedExpr, inputs: Sequence[Access]) -> list[str]:
    """Return the arguments of a function of a value, the number of elements folded, and elements of inputs."""
    values = definitions.values
    # The count is an integer, and to the function a number of the dtype that it divides. A scan counts up to each j;
    # of a reduce, whose result is at the first j, the layout has the whole count.
    count = converted("(layout.count + j)", np.dtype(np.int64), function.steps[len(values)].dtype)
    return [*(f"value{field}" for field in Packing(values).fields), count, *numbers_of(inputs)]


def _store_at_places(definitions: Definitions, finish: TypedExpr, place: TypedExpr) -> list[str]:
    """Write STORE where each value says by itself where it goes, if anywhere."""
    inputs, outputs, vector = definitions.inputs, definitions.outputs, definitions.vector
    names, elements = f"{names_of('x', inputs)}, {names_of('y', outputs)}", names_of("e", inputs)
    places = ", ".join(f"i64 *at{k}" for k in range(len(outputs)))
    taken = f"const layout_t layout, const i64 j, const value_t value, {elements_of(inputs)}"
    parameters = "INPUTS, OUTPUTS, const layout_t layout, const i64 o, const i64 j"
    return [
        _finish(definitions, finish, inputs),
        emit_function(
            f"DEVICE void gp_place({taken}, {places})",
            place,
            _of_value(definitions, place, inputs),
            lambda *found: " ".join(f"*at{k} = {at};" for k, at in enumerate(found)),
        ),
        f"DEVICE void gp_put(OUTPUTS, const layout_t layout, const i64 o, const i64 j, {elements_of(inputs)}, "
        "const value_t value)",
        "{",
        *(f"    i64 at{k}; {stored(access.dtype)} r{k}[{access.lanes}];" for k, access in enumerate(outputs)),
        f"    gp_place(layout, j, value, {elements}, {names_of('&at', outputs)});",
        f"    gp_finish(layout, j, value, {elements}, {names_of('r', outputs)});",
        *(f"    if (at{k} >= 0) {{ {write(k, access, 1, f'at{k}').strip()} }}" for k, access in enumerate(outputs)),
        "}",
        f"DEVICE void gp_store({parameters}, const value_t value)",
        "{",
        *(line for k, access in enumerate(inputs) for line in load(k, access, 1)),
        f"    gp_put({names_of('y', outputs)}, layout, o, j, {elements}, value);",
        "}",
        f"#define STORE(o, j, value) gp_store({names}, layout, o, j, value)",
        *(_put_vector(definitions, names, parameters) if vector > 1 else _STORE_ALONE),
        *(_stage(definitions, names, parameters) if definitions.packed else []),
    ]


def _stage(definitions: Definitions, names: str, parameters: str) -> list[str]:
    """Write STAGE, which gathers what goes to the first output in local memory, and WRITE_STAGED, which writes it."""
    inputs, outputs, (widths, addresses) = definitions.inputs, definitions.outputs, _in_vectors(definitions)
    elements = names_of("e", inputs)
    staged = "const i64 first, LOCAL staged_t *staging"
    others = list(enumerate(outputs))[1:]
    return [
        f"typedef {stored(outputs[0].dtype)} staged_t;",
        f"DEVICE value_t gp_stage_one(OUTPUTS, const layout_t layout, const i64 o, const i64 j, {elements_of(inputs)}, "
        f"const value_t value, {staged})",
        "{",
        *(f"    i64 at{k}; {stored(access.dtype)} r{k}[1];" for k, access in enumerate(outputs)),
        f"    gp_place(layout, j, value, {elements}, {names_of('&at', outputs)});",
        f"    gp_finish(layout, j, value, {elements}, {names_of('r', outputs)});",
        "    if (at0 >= 0) staging[at0 - first] = r0[0];",
        *(f"    if (at{k} >= 0) {{ {write(k, access, 1, f'at{k}').strip()} }}" for k, access in others),
        "    return value + (at0 >= 0);",
        "}",
        f"DEVICE value_t gp_stage({parameters}, const value_t value, {staged})",
        "{",
        *(line for k, access in enumerate(inputs) for line in load(k, access, 1)),
        f"    return gp_stage_one({names_of('y', outputs)}, layout, o, j, {elements}, value, first, staging);",
        "}",
        f"DEVICE value_t gp_stage_vector({parameters}, const value_t *values, {staged})",
        "{",
        *(line for k, access in enumerate(inputs) for line in load(k, access, widths[k])),
        "    value_t next = values[0];",
        "#pragma unroll",
        "    for (int item = 0; item < VECTOR; item++)",
        f"        next = gp_stage_one({names_of('y', outputs)}, layout, o, j + item, {', '.join(addresses)}, "
        "values[item], first, staging);",
        "    return next;",
        "}",
        f"#define STAGE(o, j, value, first, to) gp_stage({names}, layout, o, j, value, first, to)",
        f"#define STAGE_VECTOR(o, j, values, first, to) gp_stage_vector({names}, layout, o, j, values, first, to)",
        "#define WRITE_STAGED(o, j, element) y0[gp_at_y0(layout, o, j)] = element",
        "#define WRITE_NUMBER(number) y1[gp_at_y1(layout, 0, 0)] = number",
        *fetch_text(definitions),
    ]


def fetch_text(definitions: Definitions) -> list[str]:
    """Write fetch_vector, which loads elements that are looked at later, FETCHED, their value, and ELEMENT, the first.

    Elements of fewer than 32 bits wait in whole words, which are as many registers fewer.
    """
    inputs, (widths, addresses) = definitions.inputs, _in_vectors(definitions)
    kinds = [stored(access.dtype) for access in inputs]
    words = [access.dtype.itemsize * width // 4 for access, width in zip(inputs, widths, strict=True)]
    narrow = [access.dtype.itemsize < 4 and count > 0 for access, count in zip(inputs, words, strict=True)]
    members, whole, part, elements = [], [], [], []
    for k, access in enumerate(inputs):
        members.append(f"u32 e{k}[{words[k]}]" if narrow[k] else f"{kinds[k]} e{k}[{widths[k]}]")
        elements.append(f"(({kinds[k]} *)(raw)->e{k})" if narrow[k] else f"(raw)->e{k}")
        place = f"x{k} + gp_at_x{k}(layout, o, j)"
        if narrow[k] and words[k] > 1:
            whole.append(f"    READ_VECTOR(u32, {words[k]}, (GLOBAL const u32 *)({place}), raw->e{k});")
        elif narrow[k]:
            whole.append(f"    raw->e{k}[0] = *(GLOBAL const u32 *)({place});")
        else:
            whole += [*load(k, access, widths[k]), *(f"    raw->e{k}[{n}] = e{k}[{n}];" for n in range(widths[k]))]
        part.append(f"        {elements[k]}[{'item' if widths[k] > 1 else 0}] = *({place});")
    arguments = ", ".join(
        f"{own}{address.removeprefix(f'e{k}')}"
        for k, (own, address) in enumerate(zip(elements, addresses, strict=True))
    )
    return [
        f"typedef struct {{ {'; '.join(members)}; }} raw_t;",
        "DEVICE void fetch_vector(INPUTS, const layout_t layout, const i64 o, const i64 j, raw_t *raw)",
        "{",
        *whole,
        "}",
        "DEVICE void fetch_part(INPUTS, const layout_t layout, const i64 o, const i64 first, const i64 n, raw_t *raw)",
        "{",
        "#pragma unroll",
        "    for (int item = 0; item < VECTOR; item++) {",
        "        const i64 j = first + item;",
        "        if (j >= n) break;",
        *part,
        "    }",
        "}",
        f"#define FETCHED(raw, item, j) gp_apply({_layout(definitions)}{arguments}, j)",
        f"#define ELEMENT(raw, item) {elements[0]}[item]",
    ]


def _put_vector(definitions: Definitions, names: str, parameters: str) -> list[str]:
    inputs, (widths, elements) = definitions.inputs, _in_vectors(definitions)
    outputs, addresses = names_of("y", definitions.outputs), ", ".join(elements)
    return [
        f"DEVICE void gp_store_vector({parameters}, const value_t *values)",
        "{",
        *(line for k, access in enumerate(inputs) for line in load(k, access, widths[k])),
        "#pragma unroll",
        "    for (int item = 0; item < VECTOR; item++)",
        f"        gp_put({outputs}, layout, o, j + item, {addresses}, values[item]);",
        "}",
        f"#define STORE_VECTOR(o, j, values) gp_store_vector({names}, layout, o, j, values)",
    ]


def _store_vector(outputs: Sequence[Access], names: str, vector: int) -> list[str]:
    elements = [f"r{k} + item{times(access.lanes)}" for k, access in enumerate(outputs)]
    return [
        "DEVICE void gp_store_vector(OUTPUTS, const layout_t layout, const i64 o, const i64 j, const value_t *values)",
        "{",
        *(f"    {stored(access.dtype)} r{k}[{vector * access.lanes}];" for k, access in enumerate(outputs)),
        "#pragma unroll",
        "    for (int item = 0; item < VECTOR; item++)",
        f"        gp_finish(layout, j + item, values[item], {', '.join(elements)});",
        *(write(k, access, vector, "j") for k, access in enumerate(outputs)),
        "}",
        f"#define STORE_VECTOR(o, j, values) gp_store_vector({names}, layout, o, j, values)",
    ]
