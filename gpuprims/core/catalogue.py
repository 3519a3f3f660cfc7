"""Catalogues: the variants of a primitive, each kernel written once for all backends that compile it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from gpuprims.core.geometry import Geometry, Refusal, first_refusal
from gpuprims.core.variant import Variant

V = TypeVar("V", bound=Variant)

_WHOLE = 2**62  # more items than any array has elements: the reference backend computes an output in one part


class PerBackend(NamedTuple):
    """A field that differs between backends."""

    cuda: Any
    opencl: Any


@dataclass(frozen=True)
class Catalogue(Generic[V]):
    """Makes the variants, of class ``kind``, of one primitive.

    ``room`` is the primitive's package; its kernels are ``kernels/<primitive>_<name>.cl``.
    """

    kind: type[V]
    primitive: str
    room: Path

    def gpu(self, name: str, **fields: Any) -> tuple[V, V]:
        """Return a kernel's variants for CUDA and for OpenCL.

        Any field may be a :class:`PerBackend`. ``refuse`` maps the geometry to a refusal.
        """

        def of(backend: str) -> V:
            own = {key: getattr(one, backend) if isinstance(one, PerBackend) else one for key, one in fields.items()}
            return self._compiled(name, backend, own)

        return of("cuda"), of("opencl")

    def cpu(self, name: str, **fields: Any) -> V:
        """Return the variant of a kernel for CPUs, for OpenCL alone."""
        return self._compiled(name, "opencl", fields)

    def alone(self, name: str, backend: str, kernels: Path, **fields: Any) -> V:
        """Return the variant of a kernel that one backend alone can express, ``kernels/<primitive>_<name>.cu``."""
        return self._compiled(name, backend, fields | {"source": kernels / f"{self.primitive}_{name}.cu"})

    def numpy(
        self,
        function: Callable[..., None],
        geometry: Geometry = Geometry(1, _WHOLE),  # noqa: B008 - a tuple
        refuse: Refusal | None = None,
        name: str = "numpy",
        rank: int = 0,
        **fields: Any,
    ) -> V:
        """Return a variant of the reference backend."""
        named = self.primitive, name, "reference", function, rank
        return self.kind(*named, geometry=geometry, refuse=refuse or first_refusal(), **fields)

    def _compiled(self, name: str, backend: str, fields: dict[str, Any]) -> V:
        refuse = fields["refuse"](fields["geometry"])
        source = {"source": self.room / f"kernels/{self.primitive}_{name}.cl"}
        return self.kind(self.primitive, name, backend, **source | fields | {"refuse": refuse})
