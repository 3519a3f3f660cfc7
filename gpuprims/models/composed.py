"""Features whose products are made of the primitives map, reduce and csr alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.models.features import DenseFeatures
from gpuprims.models.gram import gram_by_reduce
from gpuprims.models.sparse_features import Features, SparseFeatures


class ComposedFeatures(DenseFeatures):
    """Dense features that neither the logistic kernels nor a vendor's products read."""

    by_primitives = True

    def __init__(self, device: Device, array: Any, scale: Any = None) -> None:
        super().__init__(device, array, scale)
        self.dense = self.integers = None

    def _product(self, beside: Any) -> None:
        return None

    def gram(self, weights: Any) -> np.ndarray:
        """See :class:`DenseFeatures`."""
        return gram_by_reduce(self.device, self.array, weights) * np.outer(self._host_scale(), self._host_scale())


class ComposedSparse(SparseFeatures):
    """CSR features that are transposed on the host, without sorting on the device."""

    slab_class = ComposedFeatures
    by_primitives = True

    def _are_few(self, outputs: int) -> bool:
        return False

    def _transposed(self) -> Any:
        return self._transposed_on_host()


def composed(features: Features) -> Features:
    """Return the same features, with products made of primitives."""
    if isinstance(features, DenseFeatures):
        return ComposedFeatures(features.device, features.array, features.scale)
    return ComposedSparse(features.device, features.matrix)
