"""Steps by single samples with the same bits on every device."""

from __future__ import annotations

from gpuprims.core.codegen.operands import return_value
from gpuprims.core.counters import with_counters
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.expressions import emit_function
from gpuprims.primitives.fixed_lanes import FixedLanesSpec, lanes_of
from gpuprims.primitives.sgd.steps import SgdSpec, Steps
from gpuprims.primitives.sgd.variants import SgdVariant


class FixedSgdSpec(FixedLanesSpec, SgdSpec):
    """Macros for steps whose scores a fixed tree adds; ``map`` is a portable sigmoid."""

    @property
    def tree_lanes(self) -> int:
        """See :class:`FixedLanesSpec`."""
        return lanes_of(self.features)

    def text(self) -> list[str]:
        """Write the sigmoid."""
        head = "DEVICE value_t gp_sigmoid(const value_t score)"
        sigmoid = emit_function(head, self.map, ["score"], return_value)
        return [*super().text(), sigmoid]


def in_fixed_order(steps: Steps, chosen: SgdVariant, device: Device) -> Launch:
    """Return the launch of a group; of one work-item on CPUs, whose work-items take turns."""
    block = 1 if device.capabilities.kind == "cpu" else min(chosen.block, lanes_of(steps.features))
    kernel = device.kernel(chosen.resized(block=block), steps.spec(FixedSgdSpec, lanes=1))
    launch = kernel.prepare(1, steps.layout.pack(0), steps.total, steps.stretch)
    return with_counters(device, launch, 1)
