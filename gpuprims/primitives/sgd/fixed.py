"""Steps by single samples with the same bits on every device."""

from __future__ import annotations

from typing import ClassVar

from gpuprims.core.codegen.operands import return_value
from gpuprims.core.counters import with_counters
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.expressions import TypedExpr, emit_function
from gpuprims.primitives.fixed_lanes import lane_macros, lanes_of, settled, settled_text
from gpuprims.primitives.sgd.steps import SgdSpec, Steps
from gpuprims.primitives.sgd.variants import SgdVariant


class FixedSgdSpec(SgdSpec):
    """Macros for steps without contraction; ``map`` is a portable sigmoid."""

    contracted: ClassVar[bool] = False

    @property
    def functions(self) -> tuple[TypedExpr | None, ...]:
        """See :class:`KernelSpec`."""
        return *super().functions, settled(self.values[0])

    def macros(self) -> dict[str, int | str]:
        """See :class:`KernelSpec`."""
        return super().macros() | lane_macros(self.values[0], lanes_of(self.features))

    def text(self) -> list[str]:
        """Write the sigmoid, and what settles NaN."""
        head = "DEVICE value_t gp_sigmoid(const value_t score)"
        sigmoid = emit_function(head, self.map, ["score"], return_value)
        return [*super().text(), sigmoid, settled_text(self.values[0])]


def in_fixed_order(steps: Steps, chosen: SgdVariant, device: Device) -> Launch:
    """Return the launch of a group; of one work-item on CPUs, whose work-items take turns."""
    block = 1 if device.capabilities.kind == "cpu" else min(chosen.block, lanes_of(steps.features))
    kernel = device.kernel(chosen.resized(block=block), steps.spec(FixedSgdSpec, lanes=1))
    launch = kernel.prepare(1, steps.layout.pack(0), steps.total, steps.stretch)
    return with_counters(device, launch, 1)
