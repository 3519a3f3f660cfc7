"""The spec of scans whose elements and results pass through local memory by bulk copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpuprims.core.codegen.functions import vector_addresses
from gpuprims.core.codegen.operands import load, names_of, stored, times
from gpuprims.core.kernel_spec import Access
from gpuprims.expressions import part
from gpuprims.primitives.fold_spec import ScanSpec


@dataclass(frozen=True, eq=False, kw_only=True)
class QueueSpec(ScanSpec):
    """The macros of a scan with a queue of tiles in local memory."""

    runs: int  # work-items that scan, each a run of ITEMS elements
    depth: int  # tiles of elements in local memory
    places: int  # tiles of results
    lookups: int  # tile statuses that a lane reads

    def macros(self) -> dict[str, int | str]:
        """Define the queue's numbers, steps for each operand in it, and loads and stores of vectors there."""
        queued, begins = self._queued, _begins([self.inputs[k] for k in self._queued])
        results = _begins(self.outputs)
        brought = [_step("x", k, self.inputs[k], begin) for k, begin in zip(queued, begins[:-1], strict=True)]
        taken = [_step("y", k, self.outputs[k], begin) for k, begin in enumerate(results[:-1])]
        names = names_of("x", self.inputs)
        return super().macros() | {
            "RUNS": self.runs,
            "DEPTH": self.depth,
            "PLACES": self.places,
            "LOOKUPS": self.lookups,
            "ELEMENT_BYTES": begins[-1],
            "RESULT_BYTES": results[-1],
            "EACH_QUEUED(STEP, o, j)": " ".join(brought),
            "EACH_RESULT(STEP, o, j)": " ".join(taken),
            "QUEUED_VECTOR(queue, at, o, j, values)": f"gp_queued_vector({names}, layout, queue, at, o, j, values)",
            "RESULT_VECTOR(queue, at, j, values)": "gp_result_vector(layout, queue, at, j, values)",
        }

    def text(self) -> list[str]:
        """Write the functions of these macros."""
        return [*super().text(), *self._queued_vector(), *self._result_vector()]

    @property
    def _queued(self) -> list[int]:
        """The inputs with an element for each result; others are read where they lie."""
        return [k for k, access in enumerate(self.inputs) if access.reduced == (1,)]

    def _queued_vector(self) -> list[str]:
        """Write gp_queued_vector, which loads VECTOR elements of a tile in the queue, and returns their values."""
        queued, begins = self._queued, _begins([self.inputs[k] for k in self._queued])
        widths, addresses = vector_addresses(self)
        loads = [line for k, access in enumerate(self.inputs) if k not in queued for line in load(k, access, 1)]
        for k, begin in zip(queued, begins[:-1], strict=True):
            access = self.inputs[k]
            loads.append(f"    {stored(access.dtype)} e{k}[{widths[k] * access.lanes}];")
            loads.append(_move("READ", access, widths[k], f"RUNS * ITEMS * {begin}", f"e{k}"))
        layout = "layout, " if self.constants else ""
        return [
            "DEVICE void gp_queued_vector(INPUTS, const layout_t layout, LOCAL const u8 *queue, const int at, "
            "const i64 o, const i64 j, value_t *values)",
            "{",
            *loads,
            "#pragma unroll",
            "    for (int item = 0; item < VECTOR; item++)",
            f"        values[item] = gp_apply({layout}{', '.join(addresses)}, j + item);",
            "}",
        ]

    def _result_vector(self) -> list[str]:
        """Write gp_result_vector, which writes VECTOR results to a warp's part of a tile of results."""
        outputs, begins = self.outputs, _begins(self.outputs)[:-1]
        results = [f"r{k} + item{times(access.lanes)}" for k, access in enumerate(outputs)]
        return [
            "DEVICE void gp_result_vector(const layout_t layout, LOCAL u8 *queue, const int at, const i64 j, "
            "const value_t *values)",
            "{",
            *(f"    {stored(access.dtype)} r{k}[{self.vector * access.lanes}];" for k, access in enumerate(outputs)),
            "#pragma unroll",
            "    for (int item = 0; item < VECTOR; item++)",
            f"        gp_finish(layout, j + item, values[item], {', '.join(results)});",
            *(
                _move("WRITE", access, self.vector, f"WARP * ITEMS * {begin}", f"r{k}")
                for k, (access, begin) in enumerate(zip(outputs, begins, strict=True))
            ),
            "}",
        ]


def _move(word: str, access: Access, width: int, begin: str, own: str) -> str:
    """Write READ_LOCAL or WRITE_LOCAL of ``width`` elements of the queue; complex numbers are pairs of their parts."""
    kind, numbers = stored(part(access.dtype)), 1 + (access.dtype.kind == "c")
    count = width * access.lanes * numbers
    there = f"(LOCAL {kind} *)(queue + {begin}) + at{times(access.lanes * numbers)}"
    mine = f"({kind} *){own}"
    if count == 1:
        return f"    *({mine}) = *({there});" if word == "READ" else f"    *({there}) = *({mine});"
    return f"    {word}_LOCAL({kind}, {count}, {there}, {mine});"


def _step(letter: str, k: int, access: Access, begin: int) -> str:
    """Return a step for an operand: its address, the bytes of an element before it in a tile, and its own."""
    address = f"{letter}{k} + gp_at_{letter}{k}(layout, o, j){times(access.lanes)}"
    return f"STEP({address}, {begin}, {access.dtype.itemsize * access.lanes})"


def _begins(accesses: Sequence[Access]) -> list[int]:
    """Return the bytes of an element that lie before each operand, and those of all operands."""
    begins = [0]
    for access in accesses:
        begins.append(begins[-1] + access.dtype.itemsize * access.lanes)
    return begins
