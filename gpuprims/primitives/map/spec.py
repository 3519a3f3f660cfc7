"""The kernel specs of map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gpuprims.core.kernel_spec import KernelSpec


@dataclass(frozen=True, eq=False)
class MapSpec(KernelSpec):
    """Rounds as NumPy does; map is bound by memory, so that costs nothing."""

    contracted: ClassVar[bool] = False
