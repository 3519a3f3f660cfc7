"""digitize: the bin of each element."""

from __future__ import annotations

from typing import Any, overload

import numpy as np

from gpuprims.core.arrays import copy_on
from gpuprims.core.device import Device
from gpuprims.core.keywords import check_flags, keywords_of, named_keywords, refuse_keywords
from gpuprims.core.operands import as_operands
from gpuprims.errors import ArgumentError, DtypeError, ShapeError
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.searchsorted import searchsorted
from gpuprims.primitives.signatures import Array, Host, HostArray


@overload
def digitize(x: Host, bins: Host, right: bool = False, *, device: str | Device | None = None) -> HostArray: ...
@overload
def digitize(x: Array, bins: Any, right: bool = False, *, device: str | Device | None = None) -> Array: ...


@named_keywords
def digitize(
    x: Any,
    bins: Any,
    right: bool = False,
    *,
    device: str | Device | None = None,
    **unknown: Any,
) -> Any:
    """Return the bin that each element is in, as :func:`numpy.digitize` does.

    Parameters
    ----------
    x : array_like
        Real numbers, of any shape. NaN is larger than all others.
    bins : array_like
        Sorted edges, ascending or descending, 1-d. Each call reads them on the host.
    right : bool, default False
        Include the right edge of each bin instead of the left one.
    device : str or Device, optional
        Where to compute, for host arrays.

    Returns
    -------
    array of int64
        The bin of each element, in the shape of ``x``; 0 is before the first edge, ``len(bins)`` after the last.

    Raises
    ------
    ArgumentError, ShapeError
        Edges that are not sorted; edges that are not 1-d.
    DtypeError, ArrayError, DeviceMismatchError
        Complex numbers; else as :func:`gpuprims.searchsorted`.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> gpuprims.digitize(np.float32([0.5, 2, 9, -1]), np.float32([0, 1, 2, 4]), device="reference")
    array([1, 3, 4, 0])
    """
    if unknown:
        refuse_keywords("digitize", keywords_of(digitize), unknown)
    check_flags("digitize", right=right)
    operands = as_operands("digitize", (x,), device)
    given = as_operands("digitize", (bins,), operands.device)
    edges, elements = np.asarray(given.to_host(given.natives[0])), operands.natives[0]
    if edges.ndim != 1:
        raise ShapeError(f"digitize: bins of one dimension; got shape {edges.shape}")
    if "c" in (elements.dtype.kind, edges.dtype.kind):
        raise DtypeError(f"digitize: real numbers; got {elements.dtype} and bins of {edges.dtype} (pass real(x))")
    rising, falling = edges[1:] >= edges[:-1], edges[1:] <= edges[:-1]
    rises = bool(rising.all())
    if not rises and not falling.all():
        at = int(np.flatnonzero(~(falling if falling[:1].all() else rising))[0])
        got = f"{edges[at]} before {edges[at + 1]}, numbers {at} and {at + 1} (sort them)"
        raise ArgumentError(f"digitize: bins in ascending or descending order, without NaN; got {got}")
    ordered = edges if rises else np.ascontiguousarray(edges[::-1])
    there = ordered if operands.on_host else copy_on(operands.device, ordered)
    found = searchsorted(there, elements, "left" if right else "right", device=operands.device)
    if not rises and elements.size:
        found = map_arrays("n - place", n=np.int64(edges.size), place=found, device=operands.device)
    return operands.to_caller(found)
