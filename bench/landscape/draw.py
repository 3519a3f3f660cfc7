"""The distribution of calls. A seed and a number decide a call; the device has no part in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from . import further, ordered
from .calls import Call, Operand
from .dice import Bounds, Dice, Drawn
from .functions import MAPS, parameters

_MODES = {"nearest": 3, "reflect": 2, "mirror": 1, "wrap": 1, "constant": 1}
_SHARES = (0.01, 0.1, 0.5, 0.9, 0.99)


def draw(seed: int, number: int, bounds: Bounds) -> Call:
    """Return a call of a seed. Each number has its own generator, so calls can be drawn alone."""
    dice = Dice(np.random.default_rng((seed, number)), bounds)
    primitive = dice.pick(_WEIGHTS)
    function, operands, keywords = _DRAWN[primitive](dice)
    return Call(seed, number, primitive, function, tuple(operands), keywords)


def draws(seed: int, calls: int, bounds: Bounds) -> Iterator[Call]:
    """Yield the calls of a seed."""
    return (draw(seed, number, bounds) for number in range(calls))


def _map(dice: Dice) -> Drawn:
    dtype = dice.dtype(*"fiucb")
    kind = np.dtype(dtype).kind
    fn = str(dice.pick(dict.fromkeys(MAPS["i" if kind == "u" else kind], 1)))
    shape = dice.shape(dtype)
    names = parameters(fn)
    operands = [dice.operand("x", dtype, shape)]
    for name in names[1:]:
        beside = dice.pick({"alike": 6, "row": 2, "column": 1, "scalar": 1})
        theirs = {"row": shape[-1:], "column": (*shape[:-1], 1), "scalar": (1,)}.get(beside, shape)
        operands.append(dice.operand(name, dtype, theirs, layout=None if beside == "alike" else "x"))
    return "map", operands, {"fn": fn, "python": dice.chance(0.4)}


_FOLDS = {"sum": 12, "max": 6, "min": 2, "mean": 6, "var": 4, "std": 2, "norm": 4, "argmax": 4, "argmin": 2, "prod": 2}
_FOLDS |= {"any": 2, "all": 2, "count_nonzero": 2, "affine": 3, "heaviest": 3, "xor": 2, "hypot": 2}
_SCANS = {"sum": 16, "max": 6, "min": 2, "prod": 1, "affine": 4, "heaviest": 2, "xor": 2}


def _elements(dice: Dice, op: str) -> str:
    """Return a dtype that suits an operator."""
    kinds = {"affine": "f", "heaviest": "f", "xor": "iu", "hypot": "f", "prod": "fiu", "sum": "fiucb"}
    dtype = dice.dtype(*kinds.get(op, "fiub" if op in ("any", "all", "count_nonzero") else "fiu"))
    return "float32" if dtype == "float16" and op in ("affine", "prod", "hypot", "norm", "var", "std") else dtype


def _operands_of(dice: Dice, op: str, dtype: str, shape: tuple[int, ...]) -> list[Operand]:
    x = dice.operand("x", dtype, shape)
    if op == "affine":
        y = dice.operand("y", dtype, shape)
        return [Operand("x", dtype, shape, x.layout, x.axes, x.data, 0.5, 1.0), y]
    if op == "heaviest":
        return [x, Operand("y", "int32", shape, high=1e6)]
    if op == "prod" and np.dtype(dtype).kind == "f":
        return [Operand("x", dtype, shape, x.layout, x.axes, x.data, 1 - 1e-6, 1 + 1e-6)]
    return [x]


def _reduce(dice: Dice) -> Drawn:
    op = dice.pick(_FOLDS)
    dtype = _elements(dice, op)
    shape = dice.shape(dtype)
    axes = len(shape)
    several = tuple(sorted(int(a) for a in dice.rng.permutation(axes)[: int(dice.rng.integers(1, axes + 1))]))
    choices: dict[Any, float] = {None: 4, axes - 1: 3}
    for axis, weight in ((0, 3), (axes // 2, 2), (several, 3)):
        choices.setdefault(axis, weight)
    axis = dice.pick(choices)
    if op in ("argmax", "argmin") and isinstance(axis, tuple):
        axis = axis[0]
    keywords = {"op": op, "axis": axis} | _sums_in_float32(dice, op, dtype)
    return "reduce", _operands_of(dice, op, dtype, shape), keywords


def _sums_in_float32(dice: Dice, op: str, dtype: str) -> dict[str, str]:
    """Return dtype= for half of the sums of float16, which overflow soon."""
    return {"dtype": "float32"} if (op, dtype) == ("sum", "float16") and dice.chance(0.5) else {}


def _scan(dice: Dice) -> Drawn:
    op = dice.pick(_SCANS)
    dtype = _elements(dice, op)
    shape = dice.shape(dtype)
    axis = dice.pick({None: 4, **{k: 6 / len(shape) for k in range(len(shape))}})
    inclusive = not (op in ("sum", "max", "xor") and dice.chance(0.25))
    keywords = {"op": op, "axis": axis, "inclusive": inclusive} | _sums_in_float32(dice, op, dtype)
    return "scan", _operands_of(dice, op, dtype, shape), keywords


def _segments(dice: Dice) -> Drawn:
    op = dice.pick({"sum": 5, "max": 2, "xor": 1})
    dtype = dice.dtype("i", "u") if op == "xor" else dice.dtype(*"fiu")
    (size,) = shape = dice.shape(dtype, most=1)
    mean = dice.log_uniform(2, 10**6)
    offsets = Operand("offsets", dice.pick({"int32": 1, "int64": 2}), (max(1, size // mean) + 1,), data="offsets")
    function = dice.pick({"reduce": 2, "scan": 1})
    keywords = {"op": op, "mean": mean, "skewed": dice.chance(0.4)}
    if function == "scan":
        keywords["inclusive"] = True
    return function, [dice.operand("x", dtype, shape), offsets], keywords


def _compact(dice: Dice) -> Drawn:
    dtype, share = dice.dtype(*"fiuc"), dice.pick(dict.fromkeys(_SHARES, 1))
    shape = dice.shape(dtype)
    x = dice.operand("x", dtype, shape)
    if np.dtype(dtype).kind == "c" or dice.chance(0.5):
        mask = dice.operand("mask", "bool", shape, layout="x")
        # The mask is true from 0.5 on.
        return "compact", [x, Operand("mask", "bool", shape, data=mask.data, low=share - 0.5, high=share + 0.5)], {}
    bound = (1 - share) * x.high
    return "compact", [x], {"mask": f"x >= {bound if np.dtype(dtype).kind == 'f' else round(bound)}"}


def _weighted(dice: Dice, x: Operand) -> list[Operand]:
    dtype = dice.pick({None: 5, "float32": 2, "float64": 2})
    return [x] if dtype is None else [x, dice.operand("weights", dtype, x.shape, layout="x")]


def _histogram(dice: Dice) -> Drawn:
    dtype = dice.pick({"float32": 6, "float64": 2, "float16": 1, "uint8": 2, "uint16": 1, "int32": 2, "int64": 1})
    bins, edges = dice.log_uniform(3, 500 if dtype == "float16" else 10**6), dice.chance(0.2)  # NumPy refuses more
    rows = dice.chance(0.15)
    shape = dice.shape(dtype, least=2 if rows else 1, most=2 if rows else 3)
    if rows:  # few enough results for each row
        edges, bins = False, min(bins, 1000)
        size = math.prod(shape)
        shape = (max(1, min(4096, size // 256)), max(1, size // max(1, min(4096, size // 256))))
    x = dice.operand("x", dtype, shape)
    operands = [x] if rows else _weighted(dice, x)
    given = (x.low, x.high) if edges or rows or dice.chance(0.75) or x.data == "constant" else None
    return "histogram", operands, {"bins": bins, "range": given, "edges": edges or None, "axis": 1 if rows else None}


def _bincount(dice: Dice) -> Drawn:
    dtype = dice.pick({"int32": 4, "int64": 4, "uint8": 2, "uint16": 1, "uint32": 1})
    bins = min(dice.log_uniform(3, 10**6), int(np.iinfo(dtype).max) + 1)
    found = dice.operand("x", dtype, dice.shape(dtype, most=1))
    x = Operand("x", dtype, found.shape, found.layout, found.axes, found.data, 0, bins)
    return "bincount", _weighted(dice, x), {"minlength": bins if dice.chance(0.5) else 0}


def _image(dice: Dice, axes: int, most: float = math.inf, channels: int = 0) -> Operand:
    """Return an image of two or three axes, perhaps in a batch, of at most so many elements."""
    dtype = dice.pick({"float32": 6, "uint8": 3, "float64": 2, "uint16": 1, "int16": 1, "float16": 1})
    size = max(64, min(dice.nbytes // np.dtype(dtype).itemsize, most))
    batch = dice.pick({1: 4, 4: 1, 32: 1}) if axes == 2 and not channels else 1
    side = max(3.0, (size / batch / max(1, channels)) ** (1 / axes))
    tall = dice.pick({1.0: 3, 1.5: 1, 4.0: 1})
    lengths = [max(3, round(side * tall)), *[max(3, round(side))] * (axes - 2), max(3, round(side / tall))]
    lengths = [1 << round(math.log2(length)) for length in lengths] if dice.chance(0.4) else lengths
    shape = (*([batch] if batch > 1 else []), *lengths, *([channels] if channels else []))
    layout = dice.pick({"x": 12, "transpose": 2, "x[..., 3:]": 2, "x[..., ::-1]": 1})
    x = dice.operand("x", dtype, shape, layout=layout)
    return Operand("x", dtype, shape, x.layout, x.axes, x.data, 0, 250.0 if dtype.startswith(("u", "i")) else 1.0)


def _stencil(dice: Dice) -> Drawn:
    mode = dice.pick(_MODES)
    if dice.chance(0.1):
        x = _image(dice, 2)
        dtype = x.dtype if x.dtype in ("float32", "float64") else "float32"
        return "stencil", [Operand("x", dtype, x.shape, x.layout, x.axes, x.data)], {"fn": "sobel", "mode": mode}
    axes = dice.pick({2: 2, 3: 1})
    widths = [1 + 2 * dice.log_uniform(1, 15) for _ in range(axes)]
    widths = [widths[0]] * axes if dice.chance(0.7) else widths
    separable = dice.chance(0.4)
    x = _image(dice, axes, dice.most_fmas / math.prod(widths))
    return "stencil", [x], {"weights": tuple(widths), "separable": separable, "mode": mode}


def _blur(dice: Dice) -> Drawn:
    kind = dice.pick({"gaussian": 4, "box": 3, "cross": 2})
    channels = dice.pick({0: 3, 3: 1, 4: 1})
    x = _image(dice, 2, channels=channels)
    keywords: dict[str, Any] = {"kind": kind, "mode": dice.pick(_MODES)}
    if kind == "gaussian":
        keywords["sigma"] = dice.log_uniform(50, 1600) / 100
    if kind == "box":
        keywords["size"] = 1 + 2 * dice.log_uniform(1, 15)
    if channels:
        keywords["channel_axis"] = -1
    return "blur", [x], keywords


_DRAWN: Mapping[str, Callable[[Dice], Drawn]] = {
    "map": _map, "reduce": _reduce, "scan": _scan, "segments": _segments, "compact": _compact,
    "histogram": _histogram, "bincount": _bincount, "stencil": _stencil, "blur": _blur,
    **ordered.DRAWN, **further.DRAWN,
}  # fmt: skip
_WEIGHTS = {"map": 20, "reduce": 22, "scan": 14, "segments": 9, "compact": 7, "histogram": 9, "bincount": 5}
_WEIGHTS |= {"stencil": 8, "blur": 6} | ordered.WEIGHTS | further.WEIGHTS
