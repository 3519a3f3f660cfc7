"""Features of host arrays that a CPU reads where they lie, for work that goes over them once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuprims.core.determinism import asks_for_device
from gpuprims.core.device import Device
from gpuprims.models.csr_matrix import CsrMatrix
from gpuprims.models.features import DenseFeatures, Features, SparseFeatures

# Most products of a sparse matrix that SciPy computes before a launch would end; four times as many where a launch
# wakes threads (measurements.md, sparse predictions).
_FEW_PRODUCTS = 1 << 19


class HostDense(DenseFeatures):
    """Dense features in an array of NumPy's, with its products: kernels on CPUs read such arrays without a copy.

    A copy takes longer than the product that it is for (measurements.md, predictions in place). Results are arrays of
    NumPy's too.
    """

    def _product(self, beside: Any) -> Callable[[Any, Any], Any] | None:
        return None if asks_for_device() else np.matmul


class HostSparse(SparseFeatures):
    """CSR features in SciPy's own arrays, with results in NumPy's; short products are SciPy's, before a launch ends."""

    @property
    def elements(self) -> Any:
        """See :class:`SparseFeatures`."""
        return self.matrix.data

    def scores(self, coefficients: Any) -> Any:
        """See :class:`DenseFeatures`."""
        most = _FEW_PRODUCTS << (2 if getattr(self.device.driver, "wakes_threads", False) else 0)
        if self.matrix.nnz * len(coefficients) > most or asks_for_device():
            return super().scores(coefficients)
        return self.matrix @ coefficients.T

    def _there(self, *arrays: Any) -> CsrMatrix:
        return CsrMatrix(*arrays)


def reads_in_place(device: Device) -> bool:
    """Return True if kernels of the device read the host's arrays where they lie, and NumPy computes beside them."""
    return device.capabilities.kind == "cpu" and device.driver.shares_host_memory


def placed(features: Features, host: np.ndarray) -> Any:
    """Return a host array where products of the features read it."""
    return host if isinstance(features, HostDense | HostSparse) else features.device.asarray(host)


def beside(array: Any, host: np.ndarray, device: Device) -> Any:
    """Return a host array where another array is, on the host or on the device."""
    return host if isinstance(array, np.ndarray) else device.asarray(host)
