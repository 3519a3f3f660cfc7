"""NumPy as a backend: tests compare kernels with it, and calls ask for it by name."""

from __future__ import annotations

from collections.abc import Sequence

from gpuprims.backends.reference.device import DRIVER
from gpuprims.core.driver import Backend, Driver


class ReferenceBackend(Backend):
    """The backend ``reference``: always there, never chosen unasked; host arrays belong to no backend."""

    name = "reference"

    def drivers(self) -> Sequence[Driver]:
        """List the one device."""
        return (DRIVER,)


BACKEND = ReferenceBackend()
