"""The spec of scans whose elements and results pass through local memory by bulk copies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from gpuprims.core.codegen.functions import vector_addresses
from gpuprims.core.codegen.operands import load, names_of, stored, times
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.kernel_spec import Access
from gpuprims.core.launch_plan import with_statuses
from gpuprims.core.layout import Layout
from gpuprims.expressions import TypedExpr, part
from gpuprims.operators import Folding
from gpuprims.operators.exact_pairs import IN_RUN
from gpuprims.primitives.fixed_scans import FIXED_TILES, RUN, TILE
from gpuprims.primitives.fold_spec import ScanSpec
from gpuprims.primitives.fold_variants import ScanVariant
from gpuprims.primitives.queues import ordered_queue_of, queue_of
from gpuprims.primitives.scan_tiles import BULK_BYTES, ScanTraits

_KERNELS = Path(__file__).parents[1] / "backends/cuda/kernels"


@dataclass(frozen=True, eq=False, kw_only=True)
class QueueSpec(ScanSpec):
    """The macros of a scan with a queue of tiles in local memory."""

    runs: int  # work-items that scan, each a run of ITEMS elements
    depth: int  # tiles of elements in local memory
    places: int  # tiles of results
    lookups: int  # tile statuses that a lane reads
    late: bool  # values of a run are loaded one vector after the other
    phased: bool  # operands may begin between multiples of 16 bytes
    one_scan: bool  # the outputs of the layout are rows of one scan
    in_run: TypedExpr | None  # see :class:`Folding`; None if a run has too many elements

    @classmethod
    def of(cls, folding: Folding, layout: Layout, **more: Any) -> Self:
        """See :class:`FoldSpec`."""
        in_run = folding.in_run if more.pop("items") <= IN_RUN else None
        return super().of(folding, layout, in_run=in_run, **more)

    @property
    def functions(self) -> tuple[TypedExpr | None, ...]:
        """See :class:`KernelSpec`."""
        return (*super().functions, self.in_run)

    # The held elements, before the other arguments of RESULT_VECTOR.
    beside: ClassVar[str] = "held, "

    def macros(self) -> dict[str, int | str]:
        """Define the queue's numbers, steps for each operand in it, and loads and stores of vectors there."""
        queued, begins, results = self._queued, self._elements_begin(), self._results_begin()
        brought = [_step("x", k, self.inputs[k], at) for k, at in zip(queued, begins, strict=False)]
        taken = [_step("y", k, one, begin) for (k, one), begin in zip(enumerate(self.outputs), results, strict=False)]
        names, vector = names_of("x", self.inputs), "queue, at, o, base, values"
        given = f"{names_of('y', self.outputs)}, layout, {self.beside if self.rereads else ''}{vector}"
        return super().macros() | {
            "RUNS": self.runs,
            "DEPTH": self.depth,
            "PLACES": self.places,
            "LOOKUPS": self.lookups,
            "LATE": int(self.late),
            "HOLDS": int(self.rereads),
            "PHASED": int(self.phased),
            "ONE_SCAN": int(self.one_scan),
            "OP_IN_RUN(a, b)": "gp_fold_in_run(a, b)" if self.in_run else "OP(a, b)",
            "SLOT_BYTES": begins[-1],
            "PLACE_BYTES": results[-1],
            "EACH_QUEUED(STEP, o, j)": " ".join(brought),
            "EACH_RESULT(STEP, o, j)": " ".join(taken),
            f"QUEUED_VECTOR({vector})": f"gp_queued_vector({names}, layout, {vector})",
            f"RESULT_VECTOR({self.beside}{vector})": f"gp_result_vector({given})",
        }

    def text(self) -> list[str]:
        """Write the functions of these macros."""
        fold = [] if self.in_run is None else [self.fold_text("gp_fold_in_run", self.in_run)]
        held = self._held_vector() if self.rereads else []
        return [*super().text(), *fold, *held, *self._queued_vector(), *self._result_vector()]

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (*super().headers(), _KERNELS / "queue.h")

    @property
    def _queued(self) -> list[int]:
        """The inputs with an element for each result; others are read from memory."""
        return [k for k, access in enumerate(self.inputs) if access.reduced != (0,)]

    def _elements_begin(self) -> list[str]:
        """Return the bytes of a slot before each queued input, and the slot's."""
        return self._begins("RUNS * ITEMS", [abs(step_of(self.inputs[k])) for k in self._queued])

    def _results_begin(self) -> list[str]:
        """Return the bytes of a warp's place before each result, and the place's."""
        return self._begins(f"WARP * {self._gathered}", [abs(step_of(access)) for access in self.outputs])

    @property
    def _gathered(self) -> str:
        """The results of a lane that lie side by side with those of its warp."""
        return "ITEMS"

    def _begins(self, elements: str, steps: Sequence[int]) -> list[str]:
        """Return where each operand's part begins, with so many elements each, and where the last ends."""
        return [f"({elements} * {sum(steps[:k])} + {BULK_BYTES * k * self.phased})" for k in range(len(steps) + 1)]

    def _held_vector(self) -> list[str]:
        """Write gp_hold_vector, which loads VECTOR elements of a tile in the queue, and gp_held_values."""
        widths, addresses = vector_addresses(self)
        counts = [width * access.lanes for width, access in zip(widths, self.inputs, strict=True)]
        members = [
            f"{stored(access.dtype)} e{k}[{n}];" for (k, access), n in zip(enumerate(self.inputs), counts, strict=True)
        ]
        layout, names = "layout, " if self.constants else "", names_of("x", self.inputs)
        return [
            f"typedef struct {{ {' '.join(members)} }} held_t;",
            "DEVICE void gp_hold_vector(INPUTS, const layout_t layout, LOCAL const u8 *queue, const int at, "
            "const i64 o, const i64 base, held_t *held)",
            "{",
            "    const i64 j = base + at;",
            *self._loads(),
            *(f"    held->e{k}[{n}] = e{k}[{n}];" for k, count in enumerate(counts) for n in range(count)),
            "}",
            f"#define HELD_VECTOR(queue, at, o, base, held) gp_hold_vector({names}, layout, queue, at, o, base, held)",
            "DEVICE void gp_held_values(const layout_t layout, const held_t *held, const i64 j, value_t *values)",
            "{",
            "#pragma unroll",
            "    for (int item = 0; item < VECTOR; item++)",
            f"        values[item] = gp_apply({layout}{', '.join(f'held->{one}' for one in addresses)}, j + item);",
            "}",
            "#define HELD_VALUES(held, j, values) gp_held_values(layout, held, j, values)",
        ]

    def _queued_vector(self) -> list[str]:
        """Write gp_queued_vector, which loads VECTOR elements of a tile in the queue, and returns their values."""
        addresses = vector_addresses(self)[1]
        layout = "layout, " if self.constants else ""
        return [
            "DEVICE void gp_queued_vector(INPUTS, const layout_t layout, LOCAL const u8 *queue, const int at, "
            "const i64 o, const i64 base, value_t *values)",
            "{",
            "    const i64 j = base + at;",
            *self._loads(),
            "#pragma unroll",
            "    for (int item = 0; item < VECTOR; item++)",
            f"        values[item] = gp_apply({layout}{', '.join(addresses)}, j + item);",
            "}",
        ]

    def _loads(self) -> list[str]:
        """Write the loads of VECTOR elements of a tile, which begins with element ``base``, from place ``at`` on."""
        queued, widths = self._queued, vector_addresses(self)[0]
        loads = [line for k, access in enumerate(self.inputs) if k not in queued for line in load(k, access, 1)]
        for k, begin in zip(queued, self._elements_begin(), strict=False):
            access = self.inputs[k]
            width, step = widths[k], step_of(access)
            loads.append(f"    {stored(access.dtype)} e{k}[{width * access.lanes}];")
            place, lowest = _place("at", step, "RUNS * ITEMS", "base")
            there = f"queue + {begin} + {self._phase('x', k, access, lowest)}{place}"
            loads.append(_move("READ", access, width, there, f"e{k}"))
        return loads

    def _result_vector(self) -> list[str]:
        """Write gp_result_vector, which writes VECTOR results to a warp's part of a tile of results."""
        outputs = self.outputs
        results = [f"r{k} + item{times(access.lanes)}" for k, access in enumerate(outputs)]
        given = [*(f"held->{one}" for one in vector_addresses(self)[1] if self.rereads), *results]
        held = "const held_t *held, " if self.rereads else ""
        moves = []
        for (k, access), begin in zip(enumerate(outputs), self._results_begin(), strict=False):
            place, lowest = _place("at", step_of(access), f"WARP * {self._gathered}", "base")
            there = f"queue + {begin} + {self._phase('y', k, access, lowest)}{place}"
            moves.append(_move("WRITE", access, self.vector, there, f"r{k}"))
        return [
            f"DEVICE void gp_result_vector(OUTPUTS, const layout_t layout, {held}LOCAL u8 *queue, "
            "const int at, const i64 o, const i64 base, const value_t *values)",
            "{",
            *(f"    {stored(access.dtype)} r{k}[{self.vector * access.lanes}];" for k, access in enumerate(outputs)),
            "#pragma unroll",
            "    for (int item = 0; item < VECTOR; item++)",
            f"        gp_finish(layout, base + at + item, values[item], {', '.join(given)});",
            *moves,
            "}",
        ]

    def _phase(self, letter: str, k: int, access: Access, index: str) -> str:
        """Return C text of the bytes between a multiple of 16 and the element at an index, before another term."""
        if not self.phased:
            return ""
        return f"((u32)(u64)({letter}{k} + gp_at_{letter}{k}(layout, o, {index}){times(access.lanes)}) & 15) + "


@dataclass(frozen=True, eq=False, kw_only=True)
class FixedQueueSpec(QueueSpec):
    """The macros of a scan with a queue in the order of fixed_scans.py, without contraction."""

    contracted: ClassVar[bool] = False
    beside: ClassVar[str] = ""

    def macros(self) -> dict[str, int | str]:
        """Define the order."""
        return super().macros() | {"RUN_ITEMS": RUN, "TILE_RUNS": TILE // RUN, "HALVES": (TILE // RUN).bit_length() - 1}

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (*super().headers(), FIXED_TILES)

    @property
    def _gathered(self) -> str:
        """A run, of one tile of several."""
        return str(RUN)


def plan_queue(
    device: Device,
    variant: ScanVariant,
    call: ScanTraits,
    layout: Layout,
    last: int,
    spec_of: Callable[..., QueueSpec],
) -> Launch:
    """Return the launch of a scan by a queue, for a layout whose outputs are the call's rows.

    ``last`` is the number of elements that ``STORE`` is given for the first result.
    """
    able = device.capabilities
    queue = (ordered_queue_of if variant.in_fixed_order else queue_of)(variant.geometry, able, call)
    queued, tiles, rows = (
        variant.resized(block=queue.block, items=queue.items),
        call.tiles(queue.tile),
        call.outputs * call.rows,
    )
    how = {"vector": call.vector, "phased": call.phased, "one_scan": call.rows > 1, "items": queue.items}
    spec = spec_of(**how, **queue.numbers)
    kernel, groups = device.kernel(queued, spec), queued.groups(tiles, able)
    launch = kernel.prepare(groups, layout.pack(last), rows, call.row, tiles // rows, local=queue.local)
    return with_statuses(device, launch, 1 + tiles * queued.told * call.words)


def step_of(access: Access) -> int:
    """Return the bytes from each element of an operand to the next one along the scanned axis."""
    return int(access.reduced[0] or 0) * access.dtype.itemsize * access.lanes


def _move(word: str, access: Access, width: int, place: str, own: str) -> str:
    """Write READ_LOCAL or WRITE_LOCAL of ``width`` elements of the queue; complex numbers are pairs of their parts."""
    kind, numbers = stored(part(access.dtype)), 1 + (access.dtype.kind == "c")
    count = width * access.lanes * numbers
    there = f"(LOCAL {kind} *)({place})"
    mine = f"({kind} *){own}"
    if count == 1:
        return f"    *({mine}) = *({there});" if word == "READ" else f"    *({there}) = *({mine});"
    return f"    {word}_LOCAL({kind}, {count}, {there}, {mine});"


def _place(at: str, step: int, elements: str, base: str) -> tuple[str, str]:
    """Return C text of the bytes before element ``at`` of a part, and the index of the element that lies lowest.

    The part begins with element ``base``. If the step is negative, its last element lies first.
    """
    if step >= 0:
        return f"{at} * {step}", base
    return f"({elements} - 1 - {at}) * {-step}", f"{base} + ({elements} - 1)"


def _step(letter: str, k: int, access: Access, begin: str) -> str:
    """Return a step for an operand: its address, where its part begins, bytes of an element and to the next one."""
    address = f"{letter}{k} + gp_at_{letter}{k}(layout, o, j){times(access.lanes)}"
    return f"STEP({address}, {begin}, {access.dtype.itemsize * access.lanes}, {step_of(access)})"
