"""Write the functions of a call: MAP, from elements to a value, and STORE, from a value to elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gpuprims.core.codegen.operands import (
    bits_of,
    elements_of,
    fields_of,
    index_of,
    load,
    load_along,
    names_of,
    numbers_of,
    return_value,
    stored,
    times,
    write,
)
from gpuprims.core.kernel_spec import Access, KernelSpec, unchanged
from gpuprims.expressions import TypedExpr, converted, emit_function


def map_text(spec: KernelSpec) -> list[str]:
    """Write MAP, for one element, and MAP_VECTOR, for VECTOR neighbours in one load.

    ``gp_apply`` takes the address of each element in registers, so its signature is the same for any number of lanes.
    """
    inputs = spec.inputs
    layout = f"const layout_t {layout_of(spec)}" if spec.constants else ""
    head = f"DEVICE value_t gp_apply({layout}{elements_of(inputs)}, const i64 j)"
    names = names_of("x", inputs)
    return [
        emit_function(
            head, spec.map, [*numbers_of(inputs), "j"], return_value, stored=spec.finish == unchanged(spec.values)
        ),
        "DEVICE value_t gp_map(INPUTS, const layout_t layout, const i64 o, const i64 j)",
        "{",
        *(line for k, access in enumerate(inputs) for line in load(k, access, 1)),
        f"    return gp_apply({layout_of(spec)}{names_of('e', inputs)}, {index_of(spec)});",
        "}",
        f"#define MAP(o, j) gp_map({names}, layout, o, j)",
        *(_map_vector(spec, names) if spec.vector > 1 else _MAP_ALONE),
        *(_map_across(spec, names) if spec.vector_across > 1 else ()),
    ]


def layout_of(spec: KernelSpec) -> str:
    """Return the layout argument of gp_apply, which only maps with constants need: a struct is slow if not inlined."""
    return "layout, " if spec.constants else ""


_MAP_ALONE = ["#define MAP_VECTOR(o, j, values) (values)[0] = MAP(o, j)"]  # kernels loop over elements
_STORE_ALONE = ["#define STORE_VECTOR(o, j, values) STORE(o, j, (values)[0])"]


def vector_addresses(spec: KernelSpec) -> tuple[list[int], list[str]]:
    """Return each input's width in a vector, and C text for the address of its element ``item``."""
    inputs = spec.inputs
    widths = [spec.vector if access.reduced and access.reduced[-1] in spec.vector_strides else 1 for access in inputs]
    return widths, [
        f"e{k}" if width == 1 else f"e{k} + item{times(access.lanes)}"
        for k, (access, width) in enumerate(zip(inputs, widths, strict=True))
    ]


def _map_vector(spec: KernelSpec, names: str) -> list[str]:
    inputs, (widths, elements) = spec.inputs, vector_addresses(spec)
    return [
        "DEVICE void gp_map_vector(INPUTS, const layout_t layout, const i64 o, const i64 j, value_t *values)",
        "{",
        *(line for k, access in enumerate(inputs) for line in load_along(k, access, widths[k])),
        "#pragma unroll",
        f"    for (int item = 0; item < VECTOR; item++) "
        f"values[item] = gp_apply({layout_of(spec)}{', '.join(elements)}, {index_of(spec, 'item')});",
        "}",
        f"#define MAP_VECTOR(o, j, values) gp_map_vector({names}, layout, o, j, values)",
    ]


def _map_across(spec: KernelSpec, names: str) -> list[str]:
    widths = [spec.vector_across if access.kept[-1:] == (1,) else 1 for access in spec.inputs]
    elements = [
        f"e{k}" if width == 1 else f"e{k} + item{times(access.lanes)}"
        for k, (access, width) in enumerate(zip(spec.inputs, widths, strict=True))
    ]
    return [
        "DEVICE void gp_map_across(INPUTS, const layout_t layout, const i64 o, const i64 j, value_t *values)",
        "{",
        *(line for k, access in enumerate(spec.inputs) for line in load(k, access, widths[k])),
        "#pragma unroll",
        f"    for (int item = 0; item < ACROSS; item++) "
        f"values[item] = gp_apply({layout_of(spec)}{', '.join(elements)}, {index_of(spec)});",
        "}",
        f"#define MAP_ACROSS(o, j, values) gp_map_across({names}, layout, o, j, values)",
    ]


def store_text(spec: KernelSpec) -> list[str]:
    """Write STORE, for one value, and STORE_VECTOR, for VECTOR neighbours in one store."""
    if spec.finish is None:
        return []
    if spec.place is not None:
        return _store_at_places(spec, spec.finish, spec.place)
    outputs, inputs = spec.outputs, reread(spec)
    elements = f"{names_of('e', inputs)}, " if inputs else ""
    return [
        _finish(spec, spec.finish, inputs),
        f"DEVICE void gp_store({operands_of(spec)}, const layout_t layout, const i64 o, const i64 j, "
        "const value_t value)",
        "{",
        *(line for k, access in enumerate(inputs) for line in load(k, access, 1)),
        *(f"    {stored(access.dtype)} r{k}[{access.lanes}];" for k, access in enumerate(outputs)),
        f"    gp_finish(layout, j, value, {elements}{names_of('r', outputs)});",
        *(write(k, access, 1, "j") for k, access in enumerate(outputs)),
        "}",
        f"#define STORE(o, j, value) gp_store({operand_names(spec)}, layout, o, j, value)",
        *(_store_vector(spec) if spec.vector > 1 and spec.stores_vectors else _STORE_ALONE),
    ]


def reread(spec: KernelSpec) -> Sequence[Access]:
    """Return the inputs whose elements ``STORE`` reads again."""
    return spec.inputs if spec.rereads else ()


def operands_of(spec: KernelSpec) -> str:
    """Return the parameters of a function that stores results."""
    return "INPUTS, OUTPUTS" if spec.rereads else "OUTPUTS"


def operand_names(spec: KernelSpec) -> str:
    """Return the arguments for these parameters."""
    outputs = names_of("y", spec.outputs)
    return f"{names_of('x', spec.inputs)}, {outputs}" if spec.rereads else outputs


def _finish(spec: KernelSpec, finish: TypedExpr, inputs: Sequence[Access]) -> str:
    """Write gp_finish, from a value and an element of each input to an element of each output."""
    outputs = spec.outputs
    targets = ", ".join(f"{stored(access.dtype)} *r{k}" for k, access in enumerate(outputs))
    places = [(f"r{k}[{lane}]", access.dtype) for k, access in enumerate(outputs) for lane in range(access.lanes)]

    def close(*results: str) -> str:
        return " ".join(
            f"{place} = {bits_of(result, dtype)};" for (place, dtype), result in zip(places, results, strict=True)
        )

    elements = f"{elements_of(inputs)}, " if inputs else ""
    head = f"DEVICE void gp_finish(const layout_t layout, const i64 j, const value_t value, {elements}{targets})"
    # Results that need elements, as gradients do, round once, where they are stored: instructions bound such scans.
    return emit_function(head, finish, _of_value(spec, finish, inputs), close, stored=spec.rereads)


def _of_value(spec: KernelSpec, function: TypedExpr, inputs: Sequence[Access]) -> list[str]:
    """Return the arguments of a function of a value, the number of elements folded, and an element of each input."""
    values = spec.values
    # The count is converted to the dtype in which the function divides. It grows with j: a scan has a result at each j,
    # folded from one element more. A reduction's result is at j = 0, and the layout has its whole count.
    count = converted("(layout.count + j)", np.dtype(np.int64), function.nodes[len(values)].dtype)
    return [*(f"value{field}" for field in fields_of(values)), count, *numbers_of(inputs)]


def _store_at_places(spec: KernelSpec, finish: TypedExpr, place: TypedExpr) -> list[str]:
    """Write STORE for results whose index is computed from the value."""
    inputs, outputs, vector = spec.inputs, spec.outputs, spec.vector
    names, elements = f"{names_of('x', inputs)}, {names_of('y', outputs)}", names_of("e", inputs)
    places = ", ".join(f"i64 *at{k}" for k in range(len(outputs)))
    taken = f"const layout_t layout, const i64 j, const value_t value, {elements_of(inputs)}"
    parameters = "INPUTS, OUTPUTS, const layout_t layout, const i64 o, const i64 j"
    return [
        "#define PLACED",
        _finish(spec, finish, inputs),
        emit_function(
            f"DEVICE void gp_place({taken}, {places})",
            place,
            _of_value(spec, place, inputs),
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
        *(_put_vector(spec, names, parameters) if vector > 1 else _STORE_ALONE),
    ]


def fetch_text(spec: KernelSpec) -> list[str]:
    """Write gp_fetch_vector, which loads elements ahead of use, and FETCHED and ELEMENT, which read them.

    FETCHED is the value of the loaded elements, ELEMENT the first input's element.

    Elements of fewer than 32 bits are kept in whole words, which needs fewer registers.
    """
    widths, addresses = vector_addresses(spec)
    fetched = [_fetched(k, access, width) for k, (access, width) in enumerate(zip(spec.inputs, widths, strict=True))]
    arguments = ", ".join(
        f"{own.elements}{address.removeprefix(f'e{k}')}"
        for k, (own, address) in enumerate(zip(fetched, addresses, strict=True))
    )
    return [
        f"typedef struct {{ {'; '.join(own.member for own in fetched)}; }} raw_t;",
        "DEVICE void gp_fetch_vector(INPUTS, const layout_t layout, const i64 o, const i64 j, raw_t *raw)",
        "{",
        *(line for own in fetched for line in own.whole),
        "}",
        "DEVICE void gp_fetch_part(INPUTS, const layout_t layout, const i64 o, const i64 first, const i64 n, "
        "raw_t *raw)",
        "{",
        "#pragma unroll",
        "    for (int item = 0; item < VECTOR; item++) {",
        "        const i64 j = first + item;",
        "        if (j >= n) break;",
        *(own.part for own in fetched),
        "    }",
        "}",
        f"#define FETCHED(raw, item, j) gp_apply({layout_of(spec)}{arguments}, j)",
        f"#define ELEMENT(raw, item) {fetched[0].elements}[item]",
    ]


class _Fetched(NamedTuple):
    """The C text for one input's elements between their load and their use."""

    member: str  # the member of raw_t that keeps them
    elements: str  # the array of elements
    whole: list[str]  # lines that load a vector
    part: str  # a line that loads element `item`


def _fetched(k: int, access: Access, width: int) -> _Fetched:
    kind, words = stored(access.dtype), access.dtype.itemsize * width // 4
    narrow = access.dtype.itemsize < 4 and words > 0
    member = f"u32 e{k}[{words}]" if narrow else f"{kind} e{k}[{width}]"
    elements = f"(({kind} *)(raw)->e{k})" if narrow else f"(raw)->e{k}"
    place = f"x{k} + gp_at_x{k}(layout, o, j)"
    if access.reduced[-1:] == (2,) and width > 1:
        whole = [*load_along(k, access, width), *(f"    {elements}[{n}] = e{k}[{n}];" for n in range(width))]
    elif narrow and words > 1:
        whole = [f"    READ_VECTOR(u32, {words}, (GLOBAL const u32 *)({place}), raw->e{k});"]
    elif narrow:
        whole = [f"    raw->e{k}[0] = *(GLOBAL const u32 *)({place});"]
    else:
        whole = [*load_along(k, access, width), *(f"    raw->e{k}[{n}] = e{k}[{n}];" for n in range(width))]
    return _Fetched(member, elements, whole, f"        {elements}[{'item' if width > 1 else 0}] = *({place});")


def _put_vector(spec: KernelSpec, names: str, parameters: str) -> list[str]:
    inputs, (widths, elements) = spec.inputs, vector_addresses(spec)
    outputs, addresses = names_of("y", spec.outputs), ", ".join(elements)
    return [
        f"DEVICE void gp_store_vector({parameters}, const value_t *values)",
        "{",
        *(line for k, access in enumerate(inputs) for line in load_along(k, access, widths[k])),
        "#pragma unroll",
        "    for (int item = 0; item < VECTOR; item++)",
        f"        gp_put({outputs}, layout, o, j + item, {addresses}, values[item]);",
        "}",
        f"#define STORE_VECTOR(o, j, values) gp_store_vector({names}, layout, o, j, values)",
    ]


def _store_vector(spec: KernelSpec) -> list[str]:
    outputs, inputs, vector, (widths, addresses) = spec.outputs, reread(spec), spec.vector, vector_addresses(spec)
    elements = [f"r{k} + item{times(access.lanes)}" for k, access in enumerate(outputs)]
    given = [*(addresses if inputs else ()), *elements]
    return [
        f"DEVICE void gp_store_vector({operands_of(spec)}, const layout_t layout, const i64 o, const i64 j, "
        "const value_t *values)",
        "{",
        *(line for k, access in enumerate(inputs) for line in load_along(k, access, widths[k])),
        *(f"    {stored(access.dtype)} r{k}[{vector * access.lanes}];" for k, access in enumerate(outputs)),
        "#pragma unroll",
        "    for (int item = 0; item < VECTOR; item++)",
        f"        gp_finish(layout, j + item, values[item], {', '.join(given)});",
        *(write(k, access, vector, "j") for k, access in enumerate(outputs)),
        "}",
        f"#define STORE_VECTOR(o, j, values) gp_store_vector({operand_names(spec)}, layout, o, j, values)",
    ]
