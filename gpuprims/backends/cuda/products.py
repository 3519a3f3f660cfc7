"""Matrix products by cuBLAS, through CuPy."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

# cuBLAS's numbers: CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_GEMM_DEFAULT.
_FLOAT32, _IN_TF32, _ANY_ALGORITHM = 0, 77, -1
# The first generation of GPUs with tensor cores for TF32.
_AMPERE = 80


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


def tf32_product_on(driver: Any) -> Callable[[Any, Any], Any] | None:
    """Return the product of float32 matrices in TF32; None on a GPU without such tensor cores, or without cuBLAS."""
    if product_on(driver) is None or int(driver.device.compute_capability) < _AMPERE:
        return None
    from cupy.cuda import cublas

    one_and_zero = np.array([1, 0], np.float32)
    alpha, beta = (one_and_zero.ctypes.data + 4 * place for place in range(2))

    def product(one: cupy.ndarray, other: cupy.ndarray, *, _alive: Any = one_and_zero) -> cupy.ndarray:
        with driver.device:
            (one, rows_of_one, turn_one), (other, rows_of_other, turn_other) = map(_by_rows, (one, other))
            (m, k), n = one.shape, other.shape[1]
            found = cupy.empty((m, n), np.float32)
            if not found.size or not k:
                found.fill(0)
                return found
            # Rows of cuBLAS are columns here, so it computes the transposed product of the transposed matrices.
            cublas.gemmEx(
                driver.device.cublas_handle, turn_other, turn_one, n, m, k, alpha,
                other.data.ptr, _FLOAT32, rows_of_other, one.data.ptr, _FLOAT32, rows_of_one, beta,
                found.data.ptr, _FLOAT32, n, _IN_TF32, _ANY_ALGORITHM,
            )  # fmt: skip
            return found

    return product


def _by_rows(matrix: cupy.ndarray) -> tuple[cupy.ndarray, int, int]:
    """Return a matrix in C or Fortran order, the length of its rows or columns, and 1 for Fortran order."""
    if matrix.flags.f_contiguous and not matrix.flags.c_contiguous:
        return matrix, max(matrix.shape[0], 1), 1
    return cupy.ascontiguousarray(matrix), max(matrix.shape[1], 1), 0
