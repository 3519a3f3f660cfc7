"""The spec of scans whose tiles come and go through queues in local memory."""

from __future__ import annotations

from dataclasses import dataclass

from gpuprims.core.codegen.operands import names_of, stored, times, write
from gpuprims.core.kernel_spec import Access
from gpuprims.primitives.fold_spec import ScanSpec


@dataclass(frozen=True, eq=False, kw_only=True)
class QueueSpec(ScanSpec):
    """The macros of a scan that copies tiles to a queue in local memory, and results from there."""

    depth: int  # tiles of elements in the queue
    looks: int  # tile statuses that a lane reads

    def macros(self) -> dict[str, int | str]:
        """Define where operands lie in the queue, and steps for each operand that does."""
        queued = [k for k, access in enumerate(self.inputs) if access.reduced == (1,)]
        begins = _begins([self.inputs[k] for k in queued])
        elements = {k: begin for k, begin in zip(queued, begins, strict=False)}
        results = _begins(self.outputs)
        inputs = [
            f"(const {stored(access.dtype)} *)((queue) + TILE * {elements[k]})"
            f" - gp_at_x{k}(layout, o, j){times(access.lanes)}"
            if k in elements
            else f"x{k}"
            for k, access in enumerate(self.inputs)
        ]
        bring = [
            f"STEP(x{k} + gp_at_x{k}(layout, o, j){times(self.inputs[k].lanes)}, {begin}, {_bytes(self.inputs[k])})"
            for k, begin in elements.items()
        ]
        take = [
            f"STEP(y{k} + gp_at_y{k}(layout, o, j){times(access.lanes)}, {results[k]}, {_bytes(access)})"
            for k, access in enumerate(self.outputs)
        ]
        return super().macros() | {
            "DEPTH": self.depth,
            "LOOKS_EACH": self.looks,
            "ELEMENT_BYTES": begins[-1],
            "RESULT_BYTES": results[-1],
            "QUEUED_INPUTS(queue, o, j)": ", ".join(inputs),
            "EACH_INPUT(STEP, o, j)": " ".join(bring),
            "EACH_OUTPUT(STEP, o, j)": " ".join(take),
            "QUEUE_VECTOR(queue, at, j, values)": "gp_queue_vector(layout, queue, at, j, values)",
        }

    def text(self) -> list[str]:
        """Write gp_queue_vector, which writes VECTOR results to a warp's part of local memory."""
        begins, outputs = _begins(self.outputs), self.outputs
        elements = [f"r{k} + item{times(access.lanes)}" for k, access in enumerate(outputs)]
        return [
            *super().text(),
            "DEVICE void gp_queue_vector(const layout_t layout, u8 *queue, const int at, const i64 j, "
            "const value_t *values)",
            "{",
            *(f"    {stored(access.dtype)} r{k}[{self.vector * access.lanes}];" for k, access in enumerate(outputs)),
            "#pragma unroll",
            "    for (int item = 0; item < VECTOR; item++)",
            f"        gp_finish(layout, j + item, values[item], {', '.join(elements)});",
            *(
                _local(k, access, self.vector, begin)
                for k, (access, begin) in enumerate(zip(outputs, begins, strict=False))
            ),
            "}",
        ]


def _bytes(access: Access) -> int:
    return access.dtype.itemsize * access.lanes


def _begins(accesses: list[Access] | tuple[Access, ...]) -> list[int]:
    """Return the bytes an element before each operand, and of all."""
    begins = [0]
    for access in accesses:
        begins.append(begins[-1] + _bytes(access))
    return begins


def _local(k: int, access: Access, width: int, begin: int) -> str:
    count, kind = width * access.lanes, stored(access.dtype)
    to = f"({kind} *)((queue) + WARP * ITEMS * {begin}) + at{times(access.lanes)}"
    if access.dtype.kind == "c":
        real = stored(access.dtype.type(0).real.dtype)
        return f"    gp_write_local<{real}, {2 * count}>(({real} *)({to}), ({real} *)r{k});"
    return f"    gp_write_local<{kind}, {count}>({to}, r{k});"
