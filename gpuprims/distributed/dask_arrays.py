"""Primitives of Dask arrays: lazy, with a task for each chunk and the trees that Dask makes.

A function here has the name of a primitive, which calls it for arrays of Dask. Chunks are arrays of NumPy or CuPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from operator import itemgetter
from typing import Any

import dask.array as da
import numpy as np

from gpuprims.core.determinism import asked_level, refuse_levels
from gpuprims.distributed.dask_chunks import Count, Fold, Scan, on_host
from gpuprims.distributed.dask_keywords import plain_device
from gpuprims.distributed.dask_levels import at_this_level, level_of_counts
from gpuprims.distributed.halos import reaches
from gpuprims.errors import ArgumentError, EmptyReductionError, quoted
from gpuprims.expressions import computable, expression, typed
from gpuprims.operators import altered, as_ddof, as_initial, as_map, as_op, find_op, make_folding
from gpuprims.operators.portable import rounds
from gpuprims.primitives.axes import as_axis, axes_of, one_axis
from gpuprims.primitives.compact import compact as compact_one
from gpuprims.primitives.histogram import histogram as histogram_one
from gpuprims.primitives.map import map as map_one
from gpuprims.primitives.stencil import stencil as stencil_one
from gpuprims.primitives.stencil.blur import blur as blur_one

__all__ = ["bincount", "blur", "compact", "histogram", "map", "reduce", "scan", "stencil"]


def map(fn: Any, arrays: Sequence[Any], named: dict[str, Any], **how: Any) -> Any:  # noqa: A001 - the primitive's name
    """Apply a function to each element; see :func:`gpuprims.map`."""
    device = plain_device("map", how)
    function = expression(fn, len(arrays) + len(named))
    names = function.parameters
    if set(named) - set(names) or len(arrays) + len(named) != len(names):
        raise ArgumentError(f"map: one array for each of ({', '.join(names)}); got {len(arrays) + len(named)}")
    rest = iter(arrays)
    given = [named[name] if name in named else next(rest) for name in names]
    given = [one if isinstance(one, da.Array) or np.ndim(one) == 0 else da.asarray(one) for one in given]
    like = _meta_of(given)
    dtypes = _dtypes_of_map(function, given)
    call = at_this_level("map", partial(map_one, function, device=device))
    meta = _meta(like, _ndim(given), dtypes[0])
    result = da.map_blocks(call, *given, dtype=dtypes[0], meta=meta, token="gpuprims-map")  # noqa: S106 - of keys
    if function.single:
        return result
    return tuple(
        result.map_blocks(itemgetter(k), dtype=dtype, meta=_meta(like, _ndim(given), dtype), token="gpuprims-map")  # noqa: S106
        for k, dtype in enumerate(dtypes)
    )


def _dtypes_of_map(function: Any, given: Sequence[Any]) -> Sequence[np.dtype[Any]]:
    """Return the dtypes of results; Python's numbers take theirs from the arrays, as in NumPy."""
    of_arrays = [one.dtype for one in given if isinstance(one, da.Array)]
    dtypes = [one.dtype if isinstance(one, da.Array) else np.result_type(*of_arrays, one) for one in given]
    found: Sequence[np.dtype[Any]] = typed(function, [np.dtype(one) for one in dtypes]).dtypes
    return found


def reduce(
    *arrays: Any,
    op: Any,
    map: Any,  # noqa: A002 - the primitive's name
    axis: Any,
    keepdims: bool,
    dtype: Any,
    ddof: Any,
    compensated: bool,
    where: Any,
    initial: Any,
    **how: Any,
) -> Any:
    """Fold elements; see :func:`gpuprims.reduce`."""
    device, plain = plain_device("reduce", how), find_op(as_op(op), ddof=ddof, compensated=compensated)
    given = _aligned([*arrays] if where is None else [*arrays, where])
    ndim = max(one.ndim for one in given)
    axes = axes_of(as_axis(axis), ndim)
    function = None if map is None else expression(map, len(arrays))
    begins = as_initial("reduce", plain, initial)
    fold = Fold(
        as_op(op), function, tuple(one.dtype for one in given), axes,
        None if dtype is None else computable(dtype, "reduce"), as_ddof(ddof), compensated, where is not None, begins,
        device, asked_level(),
    )  # fmt: skip
    operator = altered("reduce", plain, where=where is not None, initial=begins)
    if not operator.of_nothing and any(one.shape[k - ndim] == 0 for one in given for k in axes if one.ndim + k >= ndim):
        shapes = ", ".join(str(one.shape) for one in given)
        raise EmptyReductionError(f"reduce with {operator.name}: at least one element to fold; got shape {shapes}")
    outputs = fold.split.whole.outputs
    if len(outputs) > 1:
        raise ArgumentError(f"reduce of Dask arrays: an operator of one result; got {operator.name}, of {len(outputs)}")
    pairs = [(one, tuple(range(ndim - one.ndim, ndim))) for one in given]
    if fold.split.indexed:
        pairs.append((_starts(given, axes, operator.name), axes))
    return _folded(fold, pairs, axes, keepdims, outputs[0], _meta_of(given))


def _starts(given: Sequence[Any], axes: tuple[int, ...], name: str) -> Any:
    """Return the index of the first element of each chunk along the one folded axis."""
    if len(axes) != 1:
        rule = f"reduce of Dask arrays with {name}: one axis, because chunks are not in index order along several"
        raise ArgumentError(f"{rule}; got axes {axes} (write x.reshape(-1) first)")
    whole = max(given, key=lambda one: one.ndim)
    chunks = whole.chunks[axes[0] - whole.ndim]
    if any(np.isnan(chunks)):
        raise ArgumentError(f"reduce of Dask arrays with {name}: chunks of known length; got {quoted(chunks)}")
    return da.from_array(np.array([0, *accumulate(chunks[:-1])], np.int64), chunks=1)


def _folded(
    task: Any, pairs: list[tuple[Any, tuple[int, ...]]], axes: tuple[int, ...], keepdims: Any, dtype: Any, like: Any
) -> Any:
    """Return the tree that folds chunks to values and joins these."""
    ndim = max(max(index, default=-1) for _, index in pairs) + 1
    flat = [item for pair in pairs for item in pair]
    parts = da.blockwise(
        task.part, tuple(range(ndim)), *flat, dtype=dtype, meta=np.empty((0,) * ndim, dtype), align_arrays=False,
        adjust_chunks=dict.fromkeys(axes, 1), token=f"gpuprims-{type(task).__name__.lower()}",
    )  # fmt: skip
    kept = ndim if keepdims else ndim - len(axes)
    return da.reduction(
        parts, chunk=_unchanged, combine=task.join, aggregate=partial(task.finish, like=like), axis=axes,
        keepdims=bool(keepdims), dtype=dtype, concatenate=False, meta=_meta(like, kept, dtype),
        name=f"gpuprims-{type(task).__name__.lower()}",
    )  # fmt: skip


def _unchanged(value: Any, axis: Any = None, keepdims: Any = None) -> Any:
    return value


def scan(
    *arrays: Any,
    op: Any,
    map: Any,  # noqa: A002 - the primitive's name
    inclusive: Any,
    axis: Any,
    dtype: Any,
    where: Any,
    initial: Any,
    reverse: Any,
    **how: Any,
) -> Any:
    """Scan elements; see :func:`gpuprims.scan`."""
    device, plain = plain_device("scan", how), find_op(as_op(op))
    refused = {"inclusive": not inclusive, "where": where is not None}
    refused |= {"initial": initial is not None, "reverse": bool(reverse)}
    if wrong := [name for name, given in refused.items() if given]:
        rule = "scan of Dask arrays: an inclusive scan of all elements from the first on"
        raise ArgumentError(f"{rule}; got {', '.join(wrong)}=")
    if len(arrays) > 1 or plain.components > 1 or plain.finish is not None:
        rule = "scan of Dask arrays: one array, and an operator whose results are the folded values"
        raise ArgumentError(f"{rule}; got {len(arrays)} array(s) and {plain.name} (compute the map or the sums first)")
    (x,) = arrays
    x = x if dtype is None else x.astype(dtype)
    function = None if map is None else expression(map, 1)
    whole = make_folding(plain, as_map("scan", function, 1), (x.dtype.newbyteorder("="),), None, "scan")
    along = 0 if axis is None else one_axis(axis, x.ndim)
    if rounds(whole):
        refuse_levels("scan", "scans of chunks", "device")
    task = Scan(as_op(op), function, device, asked_level())
    x = x.reshape(-1) if axis is None else x
    result = da.reductions.cumreduction(
        task, task.join, None, x, axis=along, dtype=whole.outputs[0], method="blelloch", preop=task.total
    )
    return da.Array(result.dask, result.name, result.chunks, meta=_meta(x._meta, x.ndim, whole.outputs[0]))


def histogram(
    x: Any,
    bins: Any,
    range: Any,  # noqa: A002 - NumPy's name
    density: Any,
    weights: Any,
    *,
    axis: Any,
    segments: Any,
    **how: Any,
) -> tuple[Any, np.ndarray]:
    """Count the elements in each bin; see :func:`gpuprims.histogram`."""
    device = plain_device("histogram", how, "deterministic")
    if axis is not None or segments is not None:
        raise ArgumentError("histogram of Dask arrays: one histogram of all elements; got axis= or segments=")
    if isinstance(bins, str) or (range is None and np.ndim(bins) == 0):
        rule = (
            "histogram of Dask arrays: bins= edges, or a number with range=(low, high), so that each chunk is read once"
        )
        raise ArgumentError(f"{rule}; got bins={quoted(bins)}")
    x, *own = _aligned([x] if weights is None else [x, weights])
    _, edges = histogram_one(np.zeros(0, x.dtype), on_host(bins) if np.ndim(bins) else bins, range, device="reference")
    level = level_of_counts("histogram", own)
    task = Count(tuple(edges.tolist()), deterministic=how["deterministic"], device=device, level=level)
    counts = _counted(task, [x, *own], len(edges) - 1, own[0].dtype if own else np.dtype(np.int64))
    return (counts / np.diff(edges) / counts.sum() if density else counts), edges


def bincount(x: Any, weights: Any, minlength: Any, *, axis: Any, **how: Any) -> Any:
    """Count how often each number occurs; see :func:`gpuprims.bincount`. The length of the result is not known."""
    device = plain_device("bincount", how, "deterministic")
    if axis is not None:
        raise ArgumentError(f"bincount of Dask arrays: no axis=; got {quoted(axis)}")
    given = _aligned([x] if weights is None else [x, weights])
    task = Count(None, int(minlength), how["deterministic"], device, level_of_counts("bincount", given[1:]))
    return _counted(task, given, np.nan, np.dtype(np.float64 if len(given) > 1 else np.int64))


def _counted(task: Count, given: Sequence[Any], length: float, dtype: np.dtype[Any]) -> Any:
    """Return the sum of counts as an array of one chunk."""
    index, like = tuple(np.arange(given[0].ndim).tolist()), _meta_of(given)
    total = _folded(task, [(one, index) for one in given], index, False, dtype, like)
    shaped = {"chunks": ((length,),), "new_axis": 0, "meta": _meta(like, 1, dtype), "name": f"{total.name}-counts"}
    return total.map_blocks(_unchanged, dtype=dtype, **shaped)


def compact(x: Any, mask: Any, **how: Any) -> Any:
    """Return the elements that a mask keeps; see :func:`gpuprims.compact`. The lengths of its chunks are not known."""
    device = plain_device("compact", how)
    applied = isinstance(mask, str) or callable(mask)
    given = [one.reshape(-1) for one in _aligned([x] if applied else [x, mask])]
    plain = partial(_compact_by, expression(mask, 1), device) if applied else partial(compact_one, device=device)
    call = at_this_level("compact", plain)
    meta = _meta(_meta_of(given), 1, x.dtype)
    chunks = ((np.nan,) * given[0].numblocks[0],)
    return da.map_blocks(call, *given, dtype=x.dtype, chunks=chunks, meta=meta, token="gpuprims-compact")  # noqa: S106


def _compact_by(mask: Any, device: str | None, x: Any) -> Any:
    return compact_one(x, mask, device=device)


def stencil(x: Any, weights: Any, *, dtype: Any, mode: Any, **how: Any) -> Any:
    """Compute each element from its neighbours; see :func:`gpuprims.stencil`."""
    device = plain_device("stencil", how, "cval", "channel_axis", "iterations")
    given = {"mode": mode, "dtype": dtype, **{name: how[name] for name in ("cval", "channel_axis", "iterations")}}
    result = stencil_one(np.zeros((1,) * x.ndim, x.dtype), weights, device="reference", **given).dtype
    return _overlapped(x, stencil_one, "stencil", weights, given, device, result)


def blur(image: Any, kind: Any, *, mode: Any, **how: Any) -> Any:
    """Blur images; see :func:`gpuprims.blur`."""
    named = ("size", "sigma", "cval", "channel_axis", "iterations")
    device, given = plain_device("blur", how, *named), {"mode": mode, **{name: how[name] for name in named}}
    return _overlapped(image, blur_one, "blur", kind, given, device, image.dtype)


def _overlapped(
    x: Any, function: Callable[..., Any], label: str, what: Any, given: dict[str, Any], device: str | None, dtype: Any
) -> Any:
    """Apply a stencil to chunks with the rows beside them; the stencil itself continues the array at its borders."""
    wraps = "periodic" if given["mode"] == "wrap" else "none"
    depth = {k: reach for k, reach in enumerate(reaches(label, x.ndim, x.dtype, what, **given)) if reach}
    call = at_this_level(label, partial(_call, function, what, given, device))
    meta = _meta(x._meta, x.ndim, dtype)
    if not depth:
        return x.map_blocks(call, dtype=dtype, meta=meta, token=f"gpuprims-{label}")
    boundary = dict.fromkeys(depth, wraps)
    return x.map_overlap(call, depth=depth, boundary=boundary, dtype=dtype, meta=meta, token=f"gpuprims-{label}")


def _call(function: Callable[..., Any], what: Any, given: dict[str, Any], device: str | None, x: Any) -> Any:
    return function(x, what, device=device if isinstance(x, np.ndarray) else None, **given)


def _aligned(given: Sequence[Any]) -> list[Any]:
    """Return arrays of Dask, cut alike where they have the same axes."""
    arrays = [da.asarray(one) for one in given]
    if len(arrays) == 1:
        return arrays
    ndim = max(one.ndim for one in arrays)
    pairs = [item for one in arrays for item in (one, tuple(range(ndim - one.ndim, ndim)))]
    found: list[Any] = da.core.unify_chunks(*pairs)[1]
    return found


def _ndim(given: Sequence[Any]) -> int:
    return max(np.ndim(one) for one in given)


def _meta_of(given: Sequence[Any]) -> Any:
    """Return an empty array of the chunks' library: the first that is not NumPy's."""
    metas = [one._meta for one in given if isinstance(one, da.Array)]
    return next((meta for meta in metas if not isinstance(meta, np.ndarray)), metas[0])


def _meta(like: Any, ndim: int, dtype: Any) -> Any:
    """Return an empty array that tells the library, the dtype and the number of axes of chunks."""
    return np.empty((0,) * ndim, dtype, like=like)
