"""The specs of scans that move elements and results through local memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpuprims.core.codegen.functions import fetch_text, raw_members, vector_addresses
from gpuprims.core.codegen.operands import load, move_local, names_of, stored, times, write
from gpuprims.core.kernel_spec import Access
from gpuprims.primitives.fold_spec import ScanSpec


@dataclass(frozen=True, eq=False, kw_only=True)
class ExchangeSpec(ScanSpec):
    """The macros of a scan whose lanes exchange what they load side by side for neighbours, and results back."""

    chunk: int  # neighbours that a lane scans by itself

    def macros(self) -> dict[str, int | str]:
        """Define the chunk, and stores of results to local memory and from there."""
        names = names_of("y", self.outputs)
        return super().macros() | {
            "CHUNK": self.chunk,
            "RESULT_BYTES": sum(map(_bytes, self.outputs)),
            "RESULT_VECTOR(own, at, j, values)": "gp_result_vector(layout, own, at, j, values)",
            "GIVE(own, at, o, j)": f"gp_give({names}, layout, own, at, o, j)",
            "GIVE_VECTOR(own, at, o, j)": f"gp_give_vector({names}, layout, own, at, o, j)",
        }

    def text(self) -> list[str]:
        """Write the functions of these macros."""
        fetches = [] if self.packed else fetch_text(self)
        return [*super().text(), *fetches, *self._raw(), *self._results(), *self._give(), *self._give(whole=True)]

    def _raw(self) -> list[str]:
        """Write gp_put_raw and gp_get_raw, which copy fetched elements to local memory and back."""
        members = raw_members(self)
        whole = all(dtype.itemsize * count % 16 == 0 for _, dtype, count in members)
        lines: dict[str, list[str]] = {"put": [], "get": []}
        for k, dtype, count in members:
            each = max(16 // dtype.itemsize, 1) if whole else 1
            for first in range(0, count, each):
                to, own = f"there->e{k} + {first}", f"raw->e{k} + {first}"
                for way, verb in (("put", "WRITE"), ("get", "READ")):
                    lines[way].append(f"    {move_local(verb, dtype, each, to, own)}")
        return [
            "DEVICE void gp_put_raw(LOCAL raw_t *there, const raw_t *raw)",
            "{",
            *lines["put"],
            "}",
            "DEVICE void gp_get_raw(LOCAL const raw_t *there, raw_t *raw)",
            "{",
            *lines["get"],
            "}",
        ]

    def _results(self) -> list[str]:
        """Write gp_result_vector, which writes VECTOR results to a warp's part of local memory."""
        outputs, begins = self.outputs, self.begins
        elements = [f"r{k} + item{times(access.lanes)}" for k, access in enumerate(outputs)]
        return [
            "DEVICE void gp_result_vector(const layout_t layout, LOCAL u8 *own, const int at, const i64 j, "
            "const value_t *values)",
            "{",
            *(f"    {stored(access.dtype)} r{k}[{self.vector * access.lanes}];" for k, access in enumerate(outputs)),
            "#pragma unroll",
            "    for (int item = 0; item < VECTOR; item++)",
            f"        gp_finish(layout, j + item, values[item], {', '.join(elements)});",
            *(
                f"    {move_local('WRITE', access.dtype, self.vector * access.lanes, _there(access, begin), f'r{k}')}"
                for k, (access, begin) in enumerate(zip(outputs, begins, strict=True))
            ),
            "}",
        ]

    def _give(self, *, whole: bool = False) -> list[str]:
        """Write gp_give and gp_give_vector, which write results from a warp's part of local memory to their arrays."""
        outputs, begins, width = self.outputs, self.begins, self.vector if whole else 1
        lines = []
        for k, (access, begin) in enumerate(zip(outputs, begins, strict=True)):
            count = width * access.lanes
            lines.append(f"    {stored(access.dtype)} r{k}[{count}];")
            lines.append(f"    {move_local('READ', access.dtype, count, _there(access, begin), f'r{k}')}")
        return [
            f"DEVICE void gp_give{'_vector' if whole else ''}(OUTPUTS, const layout_t layout, LOCAL const u8 *own, "
            "const int at, const i64 o, const i64 j)",
            "{",
            *lines,
            *(write(k, access, width, "j") for k, access in enumerate(outputs)),
            "}",
        ]

    @property
    def begins(self) -> list[int]:
        """Bytes of an element's results before each, the widest first."""
        order = sorted(range(len(self.outputs)), key=lambda k: -_bytes(self.outputs[k]))
        return [sum(_bytes(self.outputs[m]) for m in order[: order.index(k)]) for k in range(len(self.outputs))]


@dataclass(frozen=True, eq=False, kw_only=True)
class QueueSpec(ExchangeSpec):
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
        """Define the queue's numbers, steps for each operand in it, and loads of vectors from there."""
        queued, begins = self.queued, _begins([self.inputs[k] for k in self.queued])
        names = names_of("x", self.inputs)
        return super().macros() | {
            "RUNS": self.runs,
            "DEPTH": self.depth,
            "PLACES": self.places,
            "LOOKUPS": self.lookups,
            "ELEMENT_BYTES": begins[-1],
            "EACH_QUEUED(STEP, o, j)": " ".join(
                _step("x", k, self.inputs[k], begin) for k, begin in zip(queued, begins, strict=False)
            ),
            "EACH_RESULT(STEP, o, j)": " ".join(
                _step("y", k, self.outputs[k], begin) for k, begin in enumerate(self.begins)
            ),
            "QUEUED_VECTOR(queue, at, o, j, values)": f"gp_queued_vector({names}, layout, queue, at, o, j, values)",
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
        ]


def _there(access: Access, begin: int) -> str:
    return f"(LOCAL {stored(access.dtype)} *)(own + WARP * CHUNK * {begin}) + at{times(access.lanes)}"


def _bytes(access: Access) -> int:
    return access.dtype.itemsize * access.lanes


def _step(letter: str, k: int, access: Access, begin: int) -> str:
    place = f"{letter}{k} + gp_at_{letter}{k}(layout, o, j){times(access.lanes)}"
    return f"STEP({place}, {begin}, {_bytes(access)})"


def _begins(accesses: Sequence[Access]) -> list[int]:
    """Return the bytes of an element that lie before each operand, and those of all operands."""
    begins = [0]
    for access in accesses:
        begins.append(begins[-1] + _bytes(access))
    return begins
