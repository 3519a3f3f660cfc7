"""The kernel specs of map."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

from gpuprims.core.kernel_spec import KernelSpec


@dataclass(frozen=True, eq=False)
class MapSpec(KernelSpec):
    """Rounds as NumPy does; map is bound by memory, so that costs nothing."""

    in_place: bool = False  # a result has the elements of an input

    contracted: ClassVar[bool] = False

    @property
    def aliases(self) -> bool:
        """See :class:`KernelSpec`."""
        return self.in_place

    @classmethod
    def of(cls, spec: MapSpec, **more: Any) -> Self:
        """Return the spec of a map with what its kernel needs beside."""
        return cls(**{one.name: getattr(spec, one.name) for one in fields(MapSpec)}, **more)
