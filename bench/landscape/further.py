"""Draws of calls made of other primitives, such as convolutions and filters, their right results, and their peers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import ndimage

from .calls import Call, Operand, bins_of, line_of
from .dice import Dice, Drawn
from .errors import NoFunctionError

Arrays = Sequence[Any]
# A library's function of a call's arrays.
Way = Callable[[Arrays], Any]
# Arrays whose checks take long are smaller than the upper bound by this factor.
_SMALLER = 16
_MOST_SEGMENTS = 500


def _smaller(dice: Dice) -> None:
    dice.nbytes = min(dice.nbytes, dice.most // _SMALLER)


def _compact_rows(dice: Dice) -> Drawn:
    dtype, axis = dice.dtype(*"fiuc"), dice.pick({0: 2, 1: 1})
    shape, share = dice.shape(dtype, least=2, most=2), dice.pick(dict.fromkeys((0.1, 0.5, 0.9), 1))
    mask = Operand("mask", "bool", (shape[axis],), low=share - 0.5, high=share + 0.5)  # true from 0.5 on
    return "compact", [dice.operand("x", dtype, shape), mask], {"axis": axis}


def _row_segments(dice: Dice) -> Drawn:
    dtype, op = dice.pick({"float32": 3, "int32": 1, "float64": 1}), dice.pick({"sum": 3, "max": 1})
    shape = dice.shape(dtype, least=2, most=2)
    mean = dice.log_uniform(2, max(2, shape[1]))
    offsets = Operand("offsets", "int64", (max(1, shape[1] // mean) + 1,), data="offsets")
    keywords = {"op": op, "axis": 1, "mean": mean, "skewed": False}
    return "reduce", [dice.operand("x", dtype, shape), offsets], keywords


def _histogram2d(dice: Dice) -> Drawn:
    dtype = dice.pick({"float32": 4, "float64": 1})
    x = dice.operand("x", dtype, dice.shape(dtype, most=1))
    bins = tuple(dice.log_uniform(2, 300) for _ in range(2))
    return "histogram2d", [x, replace(x, name="y", data="uniform")], {"bins": bins, "range": ((x.low, x.high),) * 2}


def _segment_histograms(dice: Dice) -> Drawn:
    dtype = dice.pick({"float32": 3, "uint8": 1, "int32": 1})
    (size,) = shape = dice.shape(dtype, most=1)
    mean = max(dice.log_uniform(16, 10**6), -(-size // _MOST_SEGMENTS))
    offsets = Operand("offsets", "int64", (max(1, size // mean) + 1,), data="offsets")
    x = dice.operand("x", dtype, shape)
    keywords = {"bins": dice.log_uniform(3, 1000), "range": (x.low, x.high), "mean": mean, "skewed": dice.chance(0.4)}
    return "histogram", [x, offsets], keywords


def _convolve(dice: Dice) -> Drawn:
    dtype, width = dice.pick({"float32": 4, "float64": 1, "int32": 1}), dice.log_uniform(2, 300)
    dice.nbytes = min(dice.nbytes, int(dice.most_fmas // width))
    size = max(width, *dice.shape(dtype, most=1))
    mode = dice.pick({"full": 1, "same": 2, "valid": 1})
    return "convolve", [dice.operand("a", dtype, (size,))], {"width": width, "mode": mode}


def _diff(dice: Dice) -> Drawn:
    dtype = dice.dtype(*"fi")
    shape = dice.shape(dtype, most=3)
    axes = [k for k, length in enumerate(shape) if length > 2] or [0]
    return "diff", [dice.operand("a", dtype, shape)], {"n": dice.pick({1: 4, 2: 1}), "axis": int(dice.rng.choice(axes))}


def _nonzero(dice: Dice) -> Drawn:
    dtype = dice.pick({"int32": 2, "uint8": 2, "float32": 1, "bool": 1})
    x = dice.operand("a", dtype, dice.shape(dtype, most=3))
    return "nonzero", [x if dtype in ("float32", "bool") else replace(x, high=dice.pick({2: 1, 30: 1}))], {}


def _digitize(dice: Dice) -> Drawn:
    dtype = dice.pick({"float32": 3, "float64": 1})
    x = dice.operand("x", dtype, dice.shape(dtype, most=2))
    return "digitize", [x], {"bins": dice.log_uniform(3, 10**4), "range": (x.low, x.high), "edges": True}


_FILTERS = {"median_filter": 4, "sobel": 2, "gaussian_filter": 3, "uniform_filter": 2, "maximum_filter": 2}


def _filter(dice: Dice) -> Drawn:
    name = dice.pick(_FILTERS)
    dtype = "float32" if name == "sobel" else dice.pick({"float32": 3, "uint8": 1})
    _smaller(dice)
    axes = 3 if name == "gaussian_filter" and dice.chance(0.5) else 2
    side = max(8, round((dice.nbytes / np.dtype(dtype).itemsize) ** (1 / axes)))
    x = dice.operand("input", dtype, (side,) * axes)
    sizes = {"median_filter": (3, 5), "uniform_filter": (3, 4, 9), "maximum_filter": (3, 7)}
    how: dict[str, Any] = {"mode": dice.pick({"reflect": 3, "nearest": 1, "constant": 1})}
    if name in sizes:
        how["size"] = dice.pick(dict.fromkeys(sizes[name], 1))
    if name == "gaussian_filter":
        how["sigma"] = dice.log_uniform(50, 400) / 100
    return f"ndimage.{name}", [replace(x, high=250.0 if dtype == "uint8" else 1.0)], how


DRAWN: Mapping[str, Callable[[Dice], Drawn]] = {
    "compact_rows": _compact_rows, "row_segments": _row_segments, "histogram2d": _histogram2d,
    "segment_histograms": _segment_histograms, "convolve": _convolve, "diff": _diff, "nonzero": _nonzero,
    "digitize": _digitize, "filter": _filter,
}  # fmt: skip
WEIGHTS: dict[str, int] = dict.fromkeys(DRAWN, 4) | {"filter": 8}


def expected(call: Call, arrays: Sequence[np.ndarray]) -> Any:
    """Return the right result by NumPy and SciPy; floats in float64 where a library may add in any order."""
    if call.primitive == "segment_histograms":
        x, offsets = arrays
        return np.array([np.histogram(x[a:b], call["bins"], call["range"])[0] for a, b in pairwise(offsets.tolist())])
    if call.primitive == "row_segments":
        x, offsets = arrays
        return _folds(call, np)([x.astype(np.float64) if x.dtype.kind == "f" else x, offsets])
    if call.primitive == "convolve":
        a, v = (one.astype(np.float64) if one.dtype.kind == "f" else one for one in (arrays[0], line_of(call)))
        return np.convolve(a, v, call["mode"])
    if call.primitive == "filter":
        wide = [arrays[0].astype(np.float64) if arrays[0].dtype.kind == "f" else arrays[0]]
        return array_way(call, np, ndimage)(wide)
    return array_way(call, np, ndimage)(arrays)


EXACT = frozenset(("compact_rows", "nonzero", "digitize"))


def _folds(call: Call, xp: Any) -> Way:
    ufunc = {"sum": xp.add, "max": xp.maximum}[call["op"]]
    dtype = {"i": np.int64}.get(np.dtype(call.operands[0].dtype).kind) if call["op"] == "sum" else None
    return lambda arrays: ufunc.reduceat(arrays[0], arrays[1][:-1], axis=1, dtype=dtype)


def array_way(call: Call, xp: Any, filters: Any) -> Way:
    """Return a call by NumPy and SciPy, or by CuPy."""
    match call.primitive:
        case "compact_rows":
            return lambda arrays: xp.compress(arrays[1], arrays[0], axis=call["axis"])
        case "row_segments" if xp is np:  # CuPy's sums repeat by atomics, and it has no maxima
            return _folds(call, xp)
        case "histogram2d":
            return lambda arrays: xp.histogram2d(*arrays, bins=list(call["bins"]), range=call["range"])[0]
        case "convolve":
            weights = xp.asarray(line_of(call))
            return lambda arrays: xp.convolve(arrays[0], weights, call["mode"])
        case "diff":
            return lambda arrays: xp.diff(arrays[0], call["n"], call["axis"])
        case "nonzero":
            return lambda arrays: xp.nonzero(arrays[0])
        case "digitize":
            edges = xp.asarray(bins_of(call).astype(call.operands[0].dtype))
            return lambda arrays: xp.digitize(arrays[0], edges)
        case "filter":
            function = getattr(filters, call.function.removeprefix("ndimage."))
            return lambda arrays: function(arrays[0], **call.keywords)
    raise NoFunctionError(f"no function for {call.function} of these")


def torch_way(call: Call, torch: Any) -> Way:
    """Return a call by torch."""
    match call.primitive:
        case "compact_rows" if call["axis"] == 0:
            return lambda arrays: arrays[0][arrays[1]]
        case "compact_rows":
            return lambda arrays: arrays[0][:, arrays[1]]
        case "convolve" if call.operands[0].dtype.startswith("float"):
            return partial(_torch_convolve, call, torch, torch.from_numpy(line_of(call)[::-1].copy()).cuda())
        case "diff":
            return lambda arrays: torch.diff(arrays[0], call["n"], call["axis"])
        case "nonzero":
            return lambda arrays: torch.nonzero(arrays[0], as_tuple=True)
        case "digitize":
            edges = torch.from_numpy(bins_of(call).astype(call.operands[0].dtype)).cuda()
            return lambda arrays: torch.bucketize(arrays[0], edges, right=True)
    raise NoFunctionError(f"no function for {call.function} of these")


def _torch_convolve(call: Call, torch: Any, weights: Any, arrays: Arrays) -> Any:
    beyond = call["width"] - 1
    ends = {"full": (beyond, beyond), "valid": (0, 0), "same": (beyond - beyond // 2, beyond // 2)}[call["mode"]]
    padded = torch.nn.functional.pad(arrays[0].reshape(1, 1, -1), ends)
    return torch.nn.functional.conv1d(padded, weights.reshape(1, 1, -1)).reshape(-1)
