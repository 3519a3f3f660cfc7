"""Matrix products by cuBLAS, through CuPy."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import cupy


def product_on(driver: Any) -> Callable[[Any, Any], Any] | None:
    """Return the product of two matrices on a driver's GPU; None where CuPy does not find cuBLAS."""
    try:
        importlib.import_module("cupy_backends.cuda.libs.cublas")
    except ImportError:
        return None

    def product(one: cupy.ndarray, other: cupy.ndarray) -> cupy.ndarray:
        with driver.device:
            return cupy.matmul(one, other)

    return product
