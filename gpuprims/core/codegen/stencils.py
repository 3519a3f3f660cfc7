"""What a stencil is written with: its elements, its borders, and the function of a neighbourhood."""

from __future__ import annotations

from typing import get_args

from gpuprims.core.codegen.folds import Packing
from gpuprims.core.codegen.functions import store_text
from gpuprims.core.codegen.operands import number_of, stored
from gpuprims.core.kernel_spec import Definitions, Mode, Stencil
from gpuprims.expressions import c_type, constant, emit_function

# Elements of a row in a tile in local memory.
TILE_WIDTH = 64
# Rows of a strip that are loaded before they are needed, all together.
ROWS_AT_ONCE = 4
_IN_LINES = ("ring", "strip", "tile")
_AXES = "ZYX"


def stencil_text(definitions: Definitions, stencil: Stencil) -> list[str]:
    """Write the types of elements, the macros that ``stencil.h`` is about, and the functions APPLY and ACROSS."""
    element = definitions.inputs[0].dtype
    steps = definitions.inputs[0].reduced
    reach = {axis: stencil.reach(k) for k, axis in enumerate(_AXES)}
    across = [] if stencil.across is None else [_across(definitions, stencil)]
    return [
        f"#define number_t {c_type(element)}",
        f"#define stored_t {stored(element)}",
        f"#define result_t {stored(definitions.outputs[0].dtype)}",
        f"#define PLAIN {int(number_of('element', element) == 'element')}",
        f"#define NUMBER(element) ({number_of('(element)', element)})",
        f"#define BEYOND {constant(repr(stencil.beyond.item()), element)}",
        f"#define CHANNELS {stencil.channels}",
        f"#define SEPARABLE {int(stencil.across is not None)}",
        f"#define TABLE {int(stencil.window == 'table')}",
        f"#define LINES {int(stencil.window in _IN_LINES)}",
        f"#define NEIGHBOURS {len(stencil.offsets)}",
        f"#define VECTOR_OUT {stencil.vector_out}",
        f"#define VECTOR_LOCAL {stencil.vector_local}",
        f"#define VECTOR_BESIDE {stencil.vector_beside}",
        f"#define TIMES {stencil.times}",
        f"#define PAIRED {int(stencil.paired is not None)}",
        f"typedef {'u32' if stencil.paired else 'number_t'} item_t;",
        f"typedef {'u32' if stencil.paired else 'value_t'} sum_t;",
        f"typedef {'sum_t' if stencil.across else 'item_t'} slot_t;",
        *(f"#define MODE_{mode.upper()} {int(stencil.mode == mode)}" for mode in get_args(Mode)),
        *(f"#define LOW_{axis} ({low})" for axis, (low, _) in reach.items()),
        *(f"#define HIGH_{axis} ({high})" for axis, (_, high) in reach.items()),
        *(f"#define STEP_{k} {_step(0, k, step)}" for k, step in enumerate(steps)),
        f"#define STEP_OUT {_step(len(definitions.inputs), 0, definitions.outputs[0].reduced[0])}",
        f"#define STEP_DOWN {_step(len(definitions.inputs), 1, definitions.outputs[0].reduced[1])}",
        "#define SPAN (HIGH_Y - LOW_Y + 1)",
        "#define LEFT (LOW_X * CHANNELS)",
        "#define BESIDE ((HIGH_X - LOW_X) * CHANNELS)",
        f"#define WIDE {TILE_WIDTH}",
        f"#define AT_ONCE {ROWS_AT_ONCE}",
        f"#define PITCH ({_pitch(stencil)})",
        *across,
        *([] if stencil.window == "table" else [_apply(definitions, stencil)]),
        *store_text(definitions),
        *([_offsets(stencil)] if stencil.window == "listed" else []),
        *(_RESULT if stencil.window in _IN_LINES else []),
    ]


def _pitch(stencil: Stencil) -> str:
    """Return C text of the numbers from one row of the window to the next."""
    if stencil.window == "tile":
        return "WIDE + BESIDE"
    beside = stencil.times - (stencil.across is not None)
    return f"ITEMS + {beside} * BESIDE"


def _step(operand: int, axis: int, step: int | None) -> str:
    return f"layout.reduced_step[{operand}][{axis}]" if step is None else str(step)


def _across(definitions: Definitions, stencil: Stencil) -> str:
    """Write the first of two steps, of neighbours in a row of elements."""
    if stencil.across is None:
        raise TypeError("a stencil in two steps; got one in one")
    places = [f"row[{(dx - stencil.reach(2)[0]) * stencil.channels}]" for dx in stencil.columns]
    head = "DEVICE sum_t gp_across(const item_t *row)"
    function = (stencil.paired and stencil.paired[1]) or stencil.across
    return emit_function(head, function, places, Packing(definitions.values).close)


def _apply(definitions: Definitions, stencil: Stencil) -> str:
    """Write the function of a window; its first row is at ``first``, in a ring or not."""
    space = "LOCAL const" if stencil.window == "tile" else "const"
    head = f"DEVICE sum_t gp_apply({space} slot_t *window, const int first)"
    places = [_place(stencil, k) for k in range(len(stencil.offsets))]
    function = stencil.paired[0] if stencil.paired else definitions.map
    return emit_function(head, function, [*places, "0"], Packing(definitions.values).close)


def _place(stencil: Stencil, k: int) -> str:
    """Return C text of an argument's place in the window."""
    (_, dy, dx), low = stencil.offsets[k], stencil.reach(1)[0]
    column = 0 if stencil.across else (dx - stencil.reach(2)[0]) * stencil.channels
    if stencil.window == "listed":
        return f"window[{k}]"
    row = f"(first + {dy - low})"
    return f"window[{f'{row} % SPAN' if stencil.window == 'ring' else row} * PITCH + {column}]"


def _offsets(stencil: Stencil) -> str:
    """Write how neighbours are loaded that are listed one by one."""
    loads = " ".join(f"window[{k}] = FETCH({dz}, {dy}, {dx});" for k, (dz, dy, dx) in enumerate(stencil.offsets))
    return f"#define FETCH_ALL(window) {loads}"


_RESULT = [
    "DEVICE result_t gp_result(const layout_t layout, const value_t value)",
    "{",
    "    result_t found[1];",
    "    gp_finish(layout, 0, value, found);",
    "    return found[0];",
    "}",
]
