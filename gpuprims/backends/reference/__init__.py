"""NumPy behind the same registry: the oracle that kernels are held against, asked for by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuprims.backends.reference.device import DRIVER
from gpuprims.core.driver import Driver
from gpuprims.core.variant import Variant
from gpuprims.errors import ArrayError


class ReferenceBackend:
    """The backend ``reference``: always there, never chosen unasked."""

    name = "reference"
    array_library = None
    dlpack_device = None
    variants: Sequence[Variant] = ()

    def from_dlpack(self, array: Any) -> Any:
        """Refuse: no DLPack producer lends memory of this kind."""
        raise ArrayError(f"reference: an array of its own or of the host; got {type(array).__name__} by DLPack")

    def drivers(self) -> Sequence[Driver]:
        """List the one device."""
        return (DRIVER,)

    def driver_of(self, array: Any) -> Driver | None:
        """Claim no arrays: host arrays belong to whichever device a call chooses."""
        return None


BACKEND = ReferenceBackend()
