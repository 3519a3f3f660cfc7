"""csr: the product of a sparse matrix in CSR form and a dense one."""

from __future__ import annotations

from typing import Any

from gpuprims.core.determinism import Level, asked_level, at_level
from gpuprims.core.device import Device
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.primitive import Primitive
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.primitives.csr.checks import check_indices
from gpuprims.primitives.csr.exact import product_exactly
from gpuprims.primitives.csr.plan import checked_operands, plan_call, sample
from gpuprims.primitives.csr.variants import VARIANTS

__all__ = ["PRIMITIVE", "check_indices", "csr_product", "product_of_checked"]

# No bind: a plan would not check the indices of later calls.
PRIMITIVE = Primitive("csr", VARIANTS, plan_call, sample, tuning_case=f"{__name__}.tuning_case", tuned=False)


def csr_product(
    data: Any,
    indices: Any,
    indptr: Any,
    dense: Any,
    *,
    device: str | Device | None = None,
    variant: str | None = None,
    determinism: Level | None = None,
) -> Any:
    """Return the product ``A @ dense`` of a sparse matrix in CSR form and a dense vector or matrix.

    Parameters
    ----------
    data : array_like of float32 or float64
        The stored elements of ``A``, row after row.
    indices : array_like of int32 or int64
        The column of each element.
    indptr : array_like of int32 or int64, shape (n + 1,)
        The index in ``data`` where each row begins, then the index where the last row ends. Rows may be empty. If a
        column occurs in a row several times, its elements add up.
    dense : array_like of shape (k,) or (k, outputs)
        The dense factor, of the dtype of ``data``.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.
    determinism : {"none", "run", "device", "order"}, optional
        The level of determinism; see :func:`gpuprims.use_determinism`. At ``"order"``, sums of products, each of which
        is rounded, are exact, rounded once.

    Returns
    -------
    array of shape (n,) or (n, outputs)
        The product, on the device if ``data`` is. Sums are added in a fixed order, so they are the same in every run.

    Raises
    ------
    ArgumentError
        An ``indptr`` that does not begin at 0, decreases, or does not end at the number of elements; columns outside
        ``dense``.
    ArrayError, DtypeError, ShapeError, DeviceMismatchError
        Arguments that do not fit.
    NoVariantError
        No kernel can run the call, or the requested one cannot.

    Notes
    -----
    Neighbouring work-items share a row: as many as the mean number of elements of a row, 32 at most. Source: N. Bell
    and M. Garland, "Implementing sparse matrix-vector multiplication on throughput-oriented processors", 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims.primitives.csr import csr_product
    >>> data, indices, indptr = np.array([1.0, 2.0, 3.0]), np.array([0, 2, 1]), np.array([0, 2, 2, 3])
    >>> csr_product(data, indices, indptr, np.array([1.0, 10.0, 100.0]), device="reference")
    array([201.,   0.,  30.])
    """
    if determinism is not None:
        arrays = data, indices, indptr, dense
        return at_level("csr_product", determinism, csr_product, *arrays, device=device, variant=variant)
    operands = checked_operands((data, indices, indptr, dense), device)
    elements, columns, ends, beside = operands.natives
    place = None if operands.on_host else operands.device
    check_indices("csr_product", columns, ends, elements.shape[0], beside.shape[0], place)
    asked = asked_by_name("csr_product", variant)
    if asked is None and asked_level() == "order":
        return product_exactly(operands)
    return find_plan(plan_call, operands, None, None, asked).run(operands, None)


def product_of_checked(data: Any, indices: Any, indptr: Any, dense: Any, *, device: Device) -> Any:
    """Return :func:`csr_product` for indices that :func:`check_indices` accepts; they are not checked here."""
    operands = checked_operands((data, indices, indptr, dense), device)
    if asked_level() == "order":
        return product_exactly(operands)
    return find_plan(plan_call, operands, None, None, None).run(operands, None)
