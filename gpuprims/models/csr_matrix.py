"""A CSR matrix on a device, as the products of features read it."""

from __future__ import annotations

from typing import Any, NamedTuple

from gpuprims.core.device import Device
from gpuprims.primitives.csr import product_of_checked


class CsrMatrix(NamedTuple):
    """A CSR matrix on a device. If long rows are cut, ``whole`` is the matrix that adds the pieces of each row."""

    data: Any
    indices: Any
    indptr: Any
    whole: CsrMatrix | None = None

    def product(self, dense: Any, device: Device) -> Any:
        """Multiply by a dense vector or matrix."""
        found = product_of_checked(self.data, self.indices, self.indptr, dense, device=device)
        return found if self.whole is None else self.whole.product(found, device)
