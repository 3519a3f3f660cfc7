"""Arrays of the caller that may lie on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils._array_api import get_namespace

from gpuprims.core.device import Device, device_of
from gpuprims.core.interop import from_dlpack
from gpuprims.core.operands import Operands, as_operands
from gpuprims.expressions.masks import refuse_masked


def device_operands(label: str, array: Any, asked: str | Device | None = None) -> Operands | None:
    """Return the operands of an array in a device's memory, whichever library made it; None for a host array."""
    if isinstance(array, np.ndarray) or (device_of(array) is None and not hasattr(array, "__dlpack_device__")):
        return None
    operands = as_operands(label, (array,), asked)
    return None if operands.on_host else operands


def to_host(label: str, given: Any) -> Any:
    """Copy labels or weights to the host if they lie on a device; raise for masked arrays."""
    refuse_masked(f"{label}: labels and weights", given)
    operands = device_operands(label, given)
    return host_array(label, given) if operands is None else operands.driver.to_host(operands.natives[0])


def host_array(label: str, array: Any) -> Any:
    """Convert a host array of another library, such as torch's, to NumPy's; return anything else as it is."""
    return from_dlpack(label, array) if _of_another_library(array) else array


def like_samples(X: Any, result: Any) -> Any:
    """Convert a host result to the library of the samples if scikit-learn's array API dispatch is on.

    Strings stay NumPy's, as in scikit-learn.
    """
    if not get_config()["array_api_dispatch"] or not isinstance(result, np.ndarray) or result.dtype.kind not in "biuf":
        return result
    if not _of_another_library(X) or device_operands("models", X) is not None:
        return result
    library, _ = get_namespace(X)
    return library.asarray(result)


def _of_another_library(array: Any) -> bool:
    return hasattr(array, "__dlpack__") and not isinstance(array, np.ndarray)
