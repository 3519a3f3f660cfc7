"""The spec of scans whose tiles come and go through queues in local memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpuprims.core.codegen.functions import vector_addresses
from gpuprims.core.codegen.operands import load, move_local, stored, times
from gpuprims.core.kernel_spec import Access
from gpuprims.primitives.fold_spec import ScanSpec


@dataclass(frozen=True, eq=False, kw_only=True)
class QueueSpec(ScanSpec):
    """The macros of a scan whose elements come through local memory by bulk copies, and whose results leave so."""

    runs: int  # work-items that scan, each a run of ITEMS elements
    depth: int  # tiles of elements in local memory
    places: int  # tiles of results
    lookups: int  # tile statuses that a lane reads

    @property
    def queued(self) -> list[int]:
        """The inputs that have an element for each result; others are read where they lie."""
        return [k for k, access in enumerate(self.inputs) if access.reduced == (1,)]

    def macros(self) -> dict[str, int | str]:
        """Define the queue's numbers, steps for each operand in it, and loads and stores of vectors there."""
        queued, begins = self.queued, _begins([self.inputs[k] for k in self.queued])
        results = _begins(self.outputs)
        names = ", ".join(f"x{k}" for k in range(len(self.inputs)))
        return super().macros() | {
            "RUNS": self.runs,
            "DEPTH": self.depth,
            "PLACES": self.places,
            "LOOKUPS": self.lookups,
            "ELEMENT_BYTES": begins[-1],
            "RESULT_BYTES": results[-1],
            "EACH_QUEUED(STEP, o, j)": " ".join(
                _step("x", k, self.inputs[k], begin) for k, begin in zip(queued, begins, strict=False)
            ),
            "EACH_RESULT(STEP, o, j)": " ".join(
                _step("y", k, access, begin) for k, (access, begin) in enumerate(zip(self.outputs, begins_of(results)))
            ),
            "QUEUED_VECTOR(queue, at, o, j, values)": f"gp_queued_vector({names}, layout, queue, at, o, j, values)",
            "RESULT_VECTOR(queue, at, j, values)": "gp_result_vector(layout, queue, at, j, values)",
        }

    def text(self) -> list[str]:
        """Write the functions of these macros."""
        queued, begins = self.queued, _begins([self.inputs[k] for k in self.queued])
        widths, addresses = vector_addresses(self)
        loads = [line for k, access in enumerate(self.inputs) if k not in queued for line in load(k, access, 1)]
        for k, begin in zip(queued, begins, strict=False):
            access, kind = self.inputs[k], stored(self.inputs[k].dtype)
            at = f"(LOCAL const {kind} *)(queue + RUNS * ITEMS * {begin}) + at{times(access.lanes)}"
            loads.append(f"    {kind} e{k}[{widths[k] * access.lanes}];")
            loads.append(f"    {move_local('READ', access.dtype, widths[k] * access.lanes, at, f'e{k}')}")
        elements = [f"r{k} + item{times(access.lanes)}" for k, access in enumerate(self.outputs)]
        stores = []
        for k, (access, begin) in enumerate(zip(self.outputs, _begins(self.outputs), strict=False)):
            to = f"(LOCAL {stored(access.dtype)} *)(queue + WARP * ITEMS * {begin}) + at{times(access.lanes)}"
            stores.append(f"    {move_local('WRITE', access.dtype, self.vector * access.lanes, to, f'r{k}')}")
        layout = "layout, " if self.constants else ""
        return [
            *super().text(),
            "DEVICE void gp_queued_vector(INPUTS, const layout_t layout, LOCAL const u8 *queue, const int at, "
            "const i64 o, const i64 j, value_t *values)",
            "{",
            *loads,
            "#pragma unroll",
            "    for (int item = 0; item < VECTOR; item++)",
            f"        values[item] = gp_apply({layout}{', '.join(addresses)}, j + item);",
            "}",
            "DEVICE void gp_result_vector(const layout_t layout, LOCAL u8 *queue, const int at, const i64 j, "
            "const value_t *values)",
            "{",
            *(
                f"    {stored(access.dtype)} r{k}[{self.vector * access.lanes}];"
                for k, access in enumerate(self.outputs)
            ),
            "#pragma unroll",
            "    for (int item = 0; item < VECTOR; item++)",
            f"        gp_finish(layout, j + item, values[item], {', '.join(elements)});",
            *stores,
            "}",
        ]


def begins_of(begins: list[int]) -> list[int]:
    return begins[:-1]


def _step(letter: str, k: int, access: Access, begin: int) -> str:
    place = f"{letter}{k} + gp_at_{letter}{k}(layout, o, j){times(access.lanes)}"
    return f"STEP({place}, {begin}, {access.dtype.itemsize * access.lanes})"


def _begins(accesses: Sequence[Access]) -> list[int]:
    """Return the bytes of an element that lie before each operand, and those of all operands."""
    begins = [0]
    for access in accesses:
        begins.append(begins[-1] + access.dtype.itemsize * access.lanes)
    return begins
