"""The kernel spec of batch gradient descent."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from gpuprims.primitives.logistic.spec import SamplesSpec


@dataclass(frozen=True, eq=False, kw_only=True)
class DescentSpec(SamplesSpec):
    """Macros for batch gradient descent; ``map`` returns a row's loss and residual, as for the gradient."""

    scratch_pointers: ClassVar[int] = 0

    @property
    def columns(self) -> int:
        """Number of weights: one for each feature, and the intercept."""
        return self.features + self.intercept

    @property
    def pointers(self) -> int:
        """Number of pointer arguments: kernels for CPUs copy the samples to scratch memory."""
        return super().pointers + (self.vector_rows > 1)

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (*super().headers(), Path(__file__).parent / "kernels" / "batch.h")
