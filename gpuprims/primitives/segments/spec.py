"""The spec of kernels that fold segments."""

from __future__ import annotations

from dataclasses import dataclass

from gpuprims.primitives.fold_spec import FoldSpec


@dataclass(frozen=True, eq=False, kw_only=True)
class SegmentSpec(FoldSpec):
    """The macros of a fold of segments; the last input is the offsets."""

    def macros(self) -> dict[str, int | str]:
        """Define where a segment begins."""
        k = len(self.inputs) - 1
        return super().macros() | {"BEGIN(o)": f"x{k}[gp_at_x{k}(layout, o, 0)]"}
