"""csr: the product of a sparse matrix, held by rows, and a dense one."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.kernel_spec import value_words
from gpuprims.core.launch_plan import Prepared, Result
from gpuprims.core.layout import Form, contiguous, starts_of
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.primitive import Primitive
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, DtypeError, ShapeError
from gpuprims.expressions import TypedExpr, trace, typed
from gpuprims.primitives.csr.spec import CsrSpec
from gpuprims.primitives.csr.variants import VARIANTS
from gpuprims.primitives.reduce import reduce
from gpuprims.primitives.together import side_by_side

PRIMITIVE = Primitive("csr", VARIANTS)

_LABEL = "csr_product"
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_INTEGERS = (np.dtype(np.int32), np.dtype(np.int64))
# Columns that a work-item sums at once, on GPUs of one word each and at most, and on CPUs.
_MOST_HELD, _VECTORS = 8, (1, 2, 3, 4, 8)


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
    operands = _operands((data, indices, indptr, dense), device)
    stored, places, begins, beside = operands.natives
    on = None if operands.on_host else operands.device
    check_indices(_LABEL, places, begins, stored.shape[0], beside.shape[0], on)
    return _multiply(operands, variant)


def product_of_checked(data: Any, indices: Any, indptr: Any, dense: Any, *, device: Device) -> Any:
    """Return :func:`csr_product` of a matrix that :func:`check_indices` has seen: kernels read where it says."""
    return _multiply(_operands((data, indices, indptr, dense), device), None)


def check_indices(
    label: str, indices: Any, indptr: Any, stored: int, columns: int, device: Device | None = None
) -> None:
    """Raise for a sparse matrix by which a kernel would read outside its arrays, or another row's elements.

    Arrays of a device are looked at there.

    Raises
    ------
    ArgumentError
    """
    argmost, at = _ON_HOST if device is None else _on_device(device)
    first, last = at(indptr, 0), at(indptr, len(indptr) - 1)
    if first != 0:
        raise ArgumentError(f"{label}: indptr that begins at 0; got {first}")
    if len(indptr) > 1:
        row = argmost("argmax", indptr[1:], indptr[:-1])
        before, behind = at(indptr, row), at(indptr, row + 1)
        if behind < before:
            raise ArgumentError(f"{label}: indptr that never decreases; got {before} and then {behind} at row {row}")
    if last != stored:
        raise ArgumentError(f"{label}: indptr that ends at the number of stored elements, {stored}; got {last}")
    for extreme in ("argmin", "argmax") if stored else ():
        place = argmost(extreme, indices)
        if not 0 <= (column := at(indices, place)) < columns:
            rule = f"columns from 0 to {columns - 1}" if columns else "no elements where there are no columns"
            raise ArgumentError(f"{label}: {rule}; got indices[{place}] = {column}")


# Where an array has its extreme, or where the first of two is below the second; and an element.
_Look = tuple[Callable[..., int], Callable[[Any, int], int]]


def _argmost_on_host(op: str, *arrays: np.ndarray) -> int:
    values = arrays[0] if len(arrays) == 1 else arrays[0] < arrays[1]
    return int(getattr(np, op)(values))


_ON_HOST: _Look = (_argmost_on_host, lambda array, place: int(array[place]))


def _on_device(device: Device) -> _Look:
    def argmost(op: str, *arrays: Any) -> int:
        function = "where(behind < before, 1, 0)" if len(arrays) == 2 else None
        return int(device.to_host(reduce(*arrays, op=op, map=function, device=device)))

    return argmost, lambda array, place: int(device.to_host(array[place : place + 1])[0])


def _operands(arrays: tuple[Any, ...], device: str | Device | None) -> Operands:
    operands = as_operands(_LABEL, arrays, device)
    _check([(array.dtype, array.shape) for array in operands.natives])
    return operands


def _check(arrays: list[tuple[np.dtype[Any], tuple[int, ...]]]) -> None:
    """Raise for dtypes and shapes that do not fit together."""
    (dtype, data), *integers, (other, dense) = arrays
    if dtype not in _FLOATS:
        raise DtypeError(f"{_LABEL}: data of float32 or float64; got dtype {dtype} (convert it, such as to float32)")
    if other != dtype:
        raise DtypeError(f"{_LABEL}: dense of the dtype of data, {dtype}; got {other}")
    for name, (own, _) in zip(("indices", "indptr"), integers, strict=True):
        if own not in _INTEGERS:
            raise DtypeError(f"{_LABEL}: {name} of int32 or int64; got dtype {own}")
    indices, indptr = (shape for _, shape in integers)
    if len(data) != 1 or indices != data:
        raise ShapeError(f"{_LABEL}: data and indices of one shape (stored,); got {data} and {indices}")
    if len(indptr) != 1 or indptr == (0,):
        raise ShapeError(f"{_LABEL}: indptr of shape (n + 1,), for n rows; got {indptr}")
    if len(dense) not in (1, 2):
        raise ShapeError(f"{_LABEL}: dense of shape (k,) or (k, outputs); got {dense}")


def _multiply(operands: Operands, variant: str | None) -> Any:
    data, _, indptr, dense = operands.natives
    shape, dtype = (indptr.shape[0] - 1, *dense.shape[1:]), np.dtype(data.dtype)
    if 0 in (*data.shape, *shape):
        return operands.finish(operands.zeros(shape, dtype))
    operands = side_by_side(operands)
    where = operands.forms, operands.fresh_alignment, operands.device
    return _prepare(*where, asked_by_name(_LABEL, variant), REGISTRY.generation).run(operands, None)


@lru_cache(maxsize=2)
def _product(dtype: np.dtype[Any]) -> TypedExpr:
    return typed(trace(lambda element, beside: element * beside, 2), (dtype,) * 2)


@keeps_calls()
def _prepare(forms: tuple[Form, ...], alignment: int, device: Device, variant: str | None, generation: int) -> Prepared:
    dtype, n, stored = forms[0].dtype, forms[2].shape[0] - 1, forms[0].shape[0]
    result = Result((n, *forms[3].shape[1:]), dtype)
    call = CallTraits((dtype,), -(-stored // n), n, value_bytes=dtype.itemsize)
    chosen = device.select("csr", call, variant)
    layout = starts_of((*forms, contiguous(dtype, result.shape, alignment)))
    columns = forms[3].shape[1] if len(forms[3].shape) > 1 else 1
    held = _held(chosen, columns, dtype)
    accesses = layout.accesses
    spec = CsrSpec(
        accesses[:4],
        accesses[4:],
        (dtype,),
        _product(dtype),
        columns=columns,
        lanes=_lanes(chosen, call.size, device),
        held=held,
        side=held if chosen.block == 1 else 1,
    )
    able = device.capabilities
    tiles = -(-(stored + n) // chosen.tile) if chosen.block == 1 else -(-n * spec.lanes // chosen.block)
    launch = device.kernel(chosen, spec).prepare(chosen.groups(tiles, able), layout.pack(0), n)
    return Prepared(chosen, (result,), True, launch, tuple(range(4)), (0,))


def _lanes(variant: Variant, mean: int, device: Device) -> int:
    """Return how many work-items share a row of so many elements."""
    if variant.block == 1:
        return 1
    return min(1 << (mean - 1).bit_length(), device.capabilities.warp or 32, variant.block)


def _held(variant: Variant, columns: int, dtype: np.dtype[Any]) -> int:
    """Return how many columns to sum at once: on CPUs in one vector, else about equally many each time."""
    if variant.block == 1:
        return max(width for width in _VECTORS if width <= columns)
    most = _MOST_HELD // value_words((dtype,))
    return -(-columns // -(-columns // most))
