"""The kernel spec of steps by single samples."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gpuprims.primitives.logistic.spec import SamplesSpec


@dataclass(frozen=True, eq=False, kw_only=True)
class SgdSpec(SamplesSpec):
    """Macros for steps by single samples; ``map`` is the sigmoid of a score."""

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (*super().headers(), Path(__file__).parent / "kernels" / "single.h")
