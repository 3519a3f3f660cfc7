"""The spec of kernels that descend by all samples at once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from gpuprims.primitives.logistic.spec import SamplesSpec


@dataclass(frozen=True, eq=False, kw_only=True)
class DescentSpec(SamplesSpec):
    """The macros of gradient descent over all rows; ``map`` takes a score, label and weight to loss and residual."""

    scratch_pointers: ClassVar[int] = 0

    @property
    def pointers(self) -> int:
        """See :class:`KernelSpec`; kernels for CPUs copy the samples to scratch memory."""
        return super().pointers + (self.vector_rows > 1)

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (*super().headers(), Path(__file__).parent / "kernels" / "batch.h")
