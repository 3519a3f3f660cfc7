"""csr: the product of a sparse matrix, held by rows, and a dense one."""

from __future__ import annotations

from typing import Any

from gpuprims.core.device import Device
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.operands import Operands
from gpuprims.core.primitive import Primitive
from gpuprims.core.variant import Variant
from gpuprims.primitives.csr.checks import check_indices
from gpuprims.primitives.csr.plan import CsrRequest, bind, plan_call, product_of_nothing, sample
from gpuprims.primitives.csr.variants import VARIANTS
from gpuprims.primitives.rows import side_by_side

__all__ = ["PRIMITIVE", "check_indices", "csr_product", "product_of_checked"]

PRIMITIVE = Primitive("csr", VARIANTS, plan_call, sample, tuning_case=f"{__name__}.tuning_case", tuned=False)


def csr_product(
    data: Any,
    indices: Any,
    indptr: Any,
    dense: Any,
    *,
    device: str | Device | None = None,
    variant: str | None = None,
) -> Any:
    """Return the product ``A @ dense`` of a sparse matrix, held by rows, and a dense vector or matrix.

    Parameters
    ----------
    data : array_like of float32 or float64
        The stored elements of ``A``, row after row.
    indices : array_like of int32 or int64
        The column of each.
    indptr : array_like of int32 or int64, shape (n + 1,)
        Where each row begins among them, and at last where the last one ends. Rows may be empty, and a column may occur
        in a row several times: its elements add up.
    dense : array_like of shape (k,) or (k, outputs)
        Of the dtype of ``data``.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.

    Returns
    -------
    array of shape (n,) or (n, outputs)
        On the device if ``data`` is. Sums are added up in a fixed order, so they are the same from run to run.

    Raises
    ------
    ArgumentError
        An ``indptr`` that does not begin at 0, decreases, or does not end at the number of elements; columns outside
        ``dense``.
    ArrayError, DtypeError, ShapeError, DeviceMismatchError
        Arguments that do not fit.
    NoVariantError
        No kernel, or not the one asked for, can run the call.

    Notes
    -----
    Neighbouring work-items share a row as in N. Bell and M. Garland, "Implementing sparse matrix-vector multiplication
    on throughput-oriented processors", 2009, as many as a row has elements on average, 32 at most.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims.primitives.csr import csr_product
    >>> data, indices, indptr = np.array([1.0, 2.0, 3.0]), np.array([0, 2, 1]), np.array([0, 2, 2, 3])
    >>> csr_product(data, indices, indptr, np.array([1.0, 10.0, 100.0]), device="reference")
    array([201.,   0.,  30.])
    """
    operands, request, _, chosen = bind((data, indices, indptr, dense), device, variant)
    stored, places, begins, beside = operands.natives
    on = None if operands.on_host else operands.device
    check_indices("csr_product", places, begins, stored.shape[0], beside.shape[0], on)
    return _multiply(operands, request, chosen)


def product_of_checked(data: Any, indices: Any, indptr: Any, dense: Any, *, device: Device) -> Any:
    """Return :func:`csr_product` of a matrix that :func:`check_indices` has seen: kernels read where it says."""
    operands, request, _, chosen = bind((data, indices, indptr, dense), device)
    return _multiply(operands, request, chosen)


def _multiply(operands: Operands, request: CsrRequest, variant: str | Variant | None) -> Any:
    nothing = product_of_nothing(operands)
    if nothing is not None:
        return operands.to_caller(nothing)
    operands = side_by_side(operands)
    return find_plan(plan_call, operands, request, None, variant).run(operands, None)
