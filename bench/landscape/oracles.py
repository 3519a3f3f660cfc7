"""The right result of each call, by NumPy and SciPy, and the check of a result against it.

Floats are computed in float64, integers exactly. Stencils with many FMAs are checked in three bands of rows: the first,
the middle and the last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from scipy import ndimage

from . import further
from .calls import FURTHER, Call, bins_of, stencil_weights
from .functions import affine, function_of, heaviest
from .ordered_oracles import EXACT, ORACLES, promised
from .segment_oracles import in_segments, wide

# Relative tolerance by the coarsest float of a call. Sums in another order round differently.
_RTOL = {2: 2e-2, 4: 2e-4, 8: 1e-9}
# The share of elements that a peer may put into another bin.
_MOVED = 0.1
# FMAs of a stencil that are checked whole, and the rows of each band beyond.
_MOST_FMAS, _BAND = 2**28, 24
_PADS: dict[str, Literal["edge", "symmetric", "reflect", "wrap"]] = {
    "nearest": "edge",
    "reflect": "symmetric",
    "mirror": "reflect",
    "wrap": "wrap",
}

Values = tuple[np.ndarray, ...]


def expected(call: Call, arrays: Sequence[np.ndarray]) -> Any:
    """Return the right result: an array, a tuple of arrays, or the :class:`Bands` of a stencil."""
    with np.errstate(all="ignore"):  # overflow is part of some results
        return _ORACLES[call.primitive](call, arrays)


def check(call: Call, result: Any, right: Any, slack: float = 1) -> None:
    """Raise AssertionError if a result is wrong; ``slack`` multiplies the tolerance of rounding errors."""
    if isinstance(right, Bands):
        result = right.of(np.asarray(result))
        right = right.values
    if slack > 1:
        result, right = promised(call, result), promised(call, right)
    if isinstance(right, tuple):
        assert isinstance(result, tuple), f"{len(right)} arrays; got one"
        for one, other in zip(result, right, strict=True):
            _compare(call, np.asarray(one), other, slack)
    else:
        _compare(call, np.asarray(result), right, slack)


def _compare(call: Call, result: np.ndarray, right: np.ndarray, slack: float) -> None:
    assert result.shape == np.shape(right), f"shape {np.shape(right)}; got {result.shape}"
    if call.primitive in ("histogram", "histogram2d") and slack > 1:
        # Peers may put elements near an edge into the next bin.
        moved = np.abs(result.astype(np.float64) - right).sum() / np.abs(right).sum()
        assert moved <= _MOVED, f"at most {_MOVED:.0%} of the elements in another bin; got {moved:.0%}"
        return
    if call.primitive in EXACT | further.EXACT:
        np.testing.assert_array_equal(result, right)
        return
    if result.dtype.kind not in "fc":
        if call.primitive in (
            "stencil",
            "blur",
            "filter",
        ):  # means are cut to integers, so rounding may change them by 1
            np.testing.assert_allclose(result.astype(np.float64), np.trunc(right), rtol=0, atol=slack)
        else:
            np.testing.assert_array_equal(result, right)
        return
    floats = [np.dtype(operand.dtype) for operand in call.operands] + [result.dtype]
    sizes = [one.itemsize // (2 if one.kind == "c" else 1) for one in floats if one.kind in "fc"]
    if result.dtype.itemsize < np.asarray(right).dtype.itemsize and result.dtype.kind == "f":
        with np.errstate(over="ignore"):  # a float16 may overflow
            right = np.asarray(right).astype(result.dtype)
    rtol = slack * _RTOL[min(sizes)]
    if call["op"] == "prod":  # each product may round in the same direction, NumPy's too
        rtol = max(10 * rtol, slack * call.operands[0].size / max(result.size, 1) * np.finfo(result.dtype).eps / 2)
    np.testing.assert_allclose(wide(result), wide(np.asarray(right)), rtol=rtol, atol=rtol * 1e-2)


def _map(call: Call, arrays: Sequence[np.ndarray]) -> np.ndarray:
    return np.asarray(function_of(call["fn"], np)(*arrays))


def _reduce(call: Call, arrays: Sequence[np.ndarray]) -> Any:
    op, axis = call["op"], call["axis"]
    x = wide(arrays[0])
    if op == "norm":
        return np.sqrt(np.sum(np.abs(x.astype(np.float64, copy=False)) ** 2, axis=axis))
    if op == "hypot":
        return np.sqrt(np.sum(x**2, axis=axis))
    if op == "xor":
        moved, lead = _folded_last([arrays[0]], axis)
        return np.bitwise_xor.reduce(moved[0], axis=-1).reshape(lead)
    if op in _PAIRS:
        moved, lead = _folded_last([x, *map(wide, arrays[1:])], axis)
        return tuple(part.reshape(lead) for part in _tree(_PAIRS[op], moved))
    return getattr(np, op)(x, axis=axis)


_PAIRS: Mapping[str, Callable[[Any, Any], Any]] = {"affine": affine, "heaviest": heaviest}


def _folded_last(arrays: Sequence[np.ndarray], axis: Any) -> tuple[list[np.ndarray], tuple[int, ...]]:
    """Return the arrays with the folded axes joined into the last one, and the shape of the result."""
    ndim = arrays[0].ndim
    folded = tuple(range(ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    kept = tuple(k for k in range(ndim) if k not in folded)
    lead = tuple(arrays[0].shape[k] for k in kept)
    return [x.transpose(*kept, *folded).reshape(*lead, -1) for x in arrays], lead


def _tree(combine: Callable[[Any, Any], Any], parts: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Fold the last axis of several components by pairs of neighbours, in order."""
    parts = list(parts)
    while (length := parts[0].shape[-1]) > 1:
        even = length - length % 2
        joined = combine([x[..., 0:even:2] for x in parts], [x[..., 1:even:2] for x in parts])
        rest = [x[..., even:] for x in parts]
        parts = [np.concatenate(pair, axis=-1) if length % 2 else pair[0] for pair in zip(joined, rest, strict=True)]
    return [x[..., 0] for x in parts]


def _scan(call: Call, arrays: Sequence[np.ndarray]) -> Any:
    op, axis = call["op"], call["axis"]
    if axis is None:
        arrays, axis = [x.reshape(-1) for x in arrays], 0
    if op in _PAIRS:
        parts = [np.moveaxis(wide(x), axis, -1) for x in arrays]
        return tuple(np.moveaxis(x, -1, axis) for x in _running(_PAIRS[op], parts))
    x = arrays[0]
    if op in ("sum", "prod"):
        scanned = (np.cumsum if op == "sum" else np.cumprod)(wide(x), axis=axis)
    else:
        ufuncs = {"max": np.maximum, "min": np.minimum, "xor": np.bitwise_xor}
        scanned = ufuncs[op].accumulate(x, axis=axis)
    return scanned if call["inclusive"] else _exclusive(op, scanned, axis, x.dtype)


def _exclusive(op: str, scanned: np.ndarray, axis: int, dtype: np.dtype[Any]) -> np.ndarray:
    """Shift an inclusive scan by one place, after the identity."""
    identity: Any = 0
    if op == "max":
        identity = -np.inf if dtype.kind == "f" else False if dtype.kind == "b" else np.iinfo(dtype).min
    moved = np.moveaxis(scanned, axis, -1)
    shifted = np.concatenate([np.full((*moved.shape[:-1], 1), identity, moved.dtype), moved[..., :-1]], axis=-1)
    return np.moveaxis(shifted, -1, axis)


def _running(combine: Callable[[Any, Any], Any], parts: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Scan the last axis: blocks side by side, then the blocks' totals, then each block after the totals before it."""
    length = parts[0].shape[-1]
    if length < 64:
        return _in_order(combine, parts)
    width = max(1, int(length**0.5))
    whole = length - length % width
    blocks = [x[..., :whole].reshape(*x.shape[:-1], -1, width) for x in parts]
    inside = _in_order(combine, blocks)
    totals = _running(combine, [x[..., -1] for x in inside])
    later = combine([x[..., :-1, None] for x in totals], [x[..., 1:, :] for x in inside])
    scanned = []
    for first, rest, x in zip(inside, later, parts, strict=True):
        joined = np.concatenate([first[..., :1, :], np.broadcast_to(rest, first[..., 1:, :].shape)], axis=-2)
        scanned.append(joined.reshape(*x.shape[:-1], whole))
    if whole == length:
        return scanned
    tail = _in_order(combine, [x[..., whole:] for x in parts])
    ends = combine([x[..., -1:] for x in scanned], tail)
    return [np.concatenate(pair, axis=-1) for pair in zip(scanned, ends, strict=True)]


def _in_order(combine: Callable[[Any, Any], Any], parts: Sequence[np.ndarray]) -> list[np.ndarray]:
    found = [x.copy() for x in parts]
    for k in range(1, parts[0].shape[-1]):
        joined = combine([x[..., k - 1] for x in found], [x[..., k] for x in found])
        for x, value in zip(found, joined, strict=True):
            x[..., k] = value
    return found


def _segments(call: Call, arrays: Sequence[np.ndarray]) -> np.ndarray:
    return in_segments(call.function, call["op"], *arrays)


def _compact(call: Call, arrays: Sequence[np.ndarray]) -> np.ndarray:
    return np.asarray(arrays[0][arrays[1] if call["mask"] is None else function_of(call["mask"], np)(arrays[0])])


def _histogram(call: Call, arrays: Sequence[np.ndarray]) -> np.ndarray:
    x, bins, given = arrays[0], bins_of(call), None if call["edges"] else call["range"]
    if call["axis"] is not None:
        return np.array([np.histogram(row, bins, given)[0] for row in x])
    weights = arrays[1].astype(np.float64) if len(arrays) > 1 else None
    return np.histogram(x, bins, given, weights=weights)[0]


def _bincount(call: Call, arrays: Sequence[np.ndarray]) -> np.ndarray:
    weights = arrays[1] if len(arrays) > 1 else None
    return np.bincount(arrays[0].astype(np.int64), weights, call["minlength"])


class Bands:
    """The rows of a result that are checked, and their values; ``axis`` is the axis of rows."""

    def __init__(self, rows: np.ndarray, axis: int, values: np.ndarray) -> None:
        self._rows, self._axis, self.values = rows, axis, values

    def of(self, result: np.ndarray) -> np.ndarray:
        return result.take(self._rows, axis=self._axis)


def _stencil(call: Call, arrays: Sequence[np.ndarray]) -> Any:
    x, last = arrays[0], 1 if call["channel_axis"] is not None else 0
    reach, function = stencil_way(call, ndimage)
    rank = len(call["weights"] or (0, 0))
    axis = x.ndim - last - rank
    rows = np.arange(x.shape[axis])
    if x.size * (2 * reach + 1) ** rank > _MOST_FMAS and rows.size > 3 * _BAND:
        middle = rows.size // 2
        rows = np.concatenate([rows[:_BAND], rows[middle : middle + _BAND], rows[-_BAND:]])
        found = [_band(call, x, axis, rows[k : k + _BAND], reach, function) for k in range(0, rows.size, _BAND)]
        return Bands(rows, axis, np.concatenate(found, axis=axis))
    return function(x.astype(np.float64))


def _band(call: Call, x: np.ndarray, axis: int, rows: np.ndarray, reach: int, function: Any) -> np.ndarray:
    """Compute some neighbouring rows from the rows that they need, beyond the borders too."""
    everything = np.arange(x.shape[axis])
    if call["mode"] == "constant":
        places = np.pad(everything, reach, constant_values=-1)
    else:
        places = np.pad(everything, reach, mode=_PADS[call["mode"]])
    needed = places[rows[0] : rows[-1] + 2 * reach + 1]
    given = x.take(needed, axis=axis).astype(np.float64)
    given[(slice(None),) * axis + (needed < 0,)] = 0
    return np.asarray(function(given).take(np.arange(reach, reach + rows.size), axis=axis))


def stencil_way(call: Call, module: Any, array: Callable[[np.ndarray], Any] = np.asarray) -> tuple[int, Any]:
    """Return the reach of a stencil, and its function by SciPy's or CuPy's ``ndimage``."""
    mode, shape = call["mode"], call.operands[0].shape
    ndim, last = len(shape), 1 if call["channel_axis"] is not None else 0

    def correlated(weights: np.ndarray) -> Callable[[Any], Any]:
        shaped = array(weights.reshape((1,) * (ndim - last - weights.ndim) + weights.shape + (1,) * last))
        return lambda x: module.correlate(x, shaped, mode=mode)

    if call["fn"]:
        down = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]], np.float64)
        both = correlated(down), correlated(down.T)
        return 1, lambda x: (both[0](x) ** 2 + both[1](x) ** 2) ** 0.5
    if call.primitive == "stencil":
        return max(call["weights"]) // 2, correlated(stencil_weights(call))

    def across(value: Any, beside: Any) -> list[Any]:
        return [beside] * (ndim - last - 2) + [value] * 2 + [beside] * last

    if call["kind"] == "gaussian":
        sigma = call["sigma"]
        return int(4 * sigma + 0.5), lambda x: module.gaussian_filter(x, across(sigma, 0), mode=mode)
    if call["kind"] == "box":
        size = call["size"]
        return size // 2, lambda x: module.uniform_filter(x, across(size, 1), mode=mode)
    return 1, correlated(np.array([[0, 0.2, 0], [0.2, 0.2, 0.2], [0, 0.2, 0]]))


_ORACLES: Mapping[str, Callable[[Call, Sequence[np.ndarray]], Any]] = {
    "map": _map, "reduce": _reduce, "scan": _scan, "segments": _segments, "compact": _compact,
    "histogram": _histogram, "bincount": _bincount, "stencil": _stencil, "blur": _stencil, **ORACLES,
    **dict.fromkeys(FURTHER, further.expected),
}  # fmt: skip
