"""The spec of kernels that descend by single samples."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gpuprims.primitives.logistic.spec import SamplesSpec


@dataclass(frozen=True, eq=False, kw_only=True)
class SgdSpec(SamplesSpec):
    """The macros of stochastic gradient descent; ``map`` is the sigmoid of a score.

    Parameters
    ----------
    lock_free : bool, default False
        Whether all groups update the weights at the same time, by atomic additions.
    """

    lock_free: bool = False

    def macros(self) -> dict[str, int | str]:
        """Define LOCK_FREE for kernels whose groups run without locks."""
        return super().macros() | ({"LOCK_FREE": ""} if self.lock_free else {})

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (*super().headers(), Path(__file__).parent / "kernels" / "single.h")
