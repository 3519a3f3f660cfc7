"""A drawn call: its operands, its keywords, its text, and how gpuprims runs it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

import gpuprims

from .functions import OPERATORS, function_of

# gpuprims' function of a call's arrays.
Way = Callable[..., Any]


@dataclass(frozen=True)
class Operand:
    """An array of a call.

    ``layout`` describes it as a view of a contiguous array: ``x``, ``x[..., 3:]``, ``x[..., ::2]``, ``x[..., ::-1]``,
    or ``transpose`` with ``axes``. ``data`` names the distribution of its values from ``low`` to ``high``.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    layout: str = "x"
    axes: tuple[int, ...] = ()
    data: str = "uniform"
    low: float = 0
    high: float = 1

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, each counted once."""
        return self.size * np.dtype(self.dtype).itemsize

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """The shape of the contiguous array below the view."""
        if self.layout == "transpose":
            return tuple(self.shape[self.axes.index(k)] for k in range(len(self.axes)))
        if self.layout == "x[..., 3:]":
            return (*self.shape[:-1], self.shape[-1] + 3)
        if self.layout == "x[..., ::2]":
            return (*self.shape[:-1], 2 * self.shape[-1])
        return self.shape

    def view(self, stored: np.ndarray) -> np.ndarray:
        """Return the operand as a view of its contiguous array."""
        if self.layout == "transpose":
            return stored.transpose(self.axes)
        last = {"x[..., 3:]": slice(3, None), "x[..., ::2]": slice(None, None, 2)}
        last["x[..., ::-1]"] = slice(None, None, -1)
        return stored[..., last[self.layout]] if self.layout in last else stored

    @property
    def text(self) -> str:
        layout = f"transpose{self.axes}" if self.layout == "transpose" else self.layout
        said = "" if self.layout == "x" else f", {layout}"
        return f"{self.name}: {self.dtype} {self.shape} strides {_strides(self)}{said}, {self.data}"


def _strides(operand: Operand) -> tuple[int, ...]:
    """Return the strides of the view in bytes."""
    stored = operand.stored_shape
    item = np.dtype(operand.dtype).itemsize
    strides = [item * math.prod(stored[k + 1 :]) for k in range(len(stored))]
    if operand.layout == "transpose":
        return tuple(strides[axis] for axis in operand.axes)
    factor = {"x[..., ::2]": 2, "x[..., ::-1]": -1}.get(operand.layout, 1)
    return (*strides[:-1], strides[-1] * factor)


@dataclass(frozen=True)
class Call:
    """A call under a seed. ``keywords`` holds plain values; ``function`` is the name of gpuprims' function."""

    seed: int
    number: int
    primitive: str
    function: str
    operands: tuple[Operand, ...]
    keywords: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.keywords.get(name)

    @property
    def text(self) -> str:
        """The call as a reader would write it."""
        arrays = [operand.name for operand in self.operands]
        words = [f"{name}={value!r}" for name, value in self.keywords.items() if value is not None]
        about = "; ".join(operand.text for operand in self.operands)
        return f"#{self.number} gpuprims.{self.function}({', '.join([*arrays, *words])})  {about}"

    def rng(self, *more: int) -> np.random.Generator:
        """Return the generator of a part of this call's values."""
        return np.random.default_rng((self.seed, self.number, 1, *more))


def stencil_weights(call: Call) -> np.ndarray:
    """Return the weights of a stencil: positive, with sum 1.

    They are a product of lines if ``separable``, and zero off the axes through the middle if ``star``.
    """
    shape, rng = call["weights"], call.rng(99)
    if call["separable"]:
        lines = [0.1 + rng.random(length) for length in shape]
        weights = np.asarray(lines[0])
        for line in lines[1:]:
            weights = np.multiply.outer(weights, line)
    else:
        weights = 0.1 + rng.random(shape)
    if call["star"]:
        off_centre = sum(place != length // 2 for place, length in zip(np.indices(shape), shape, strict=True))
        weights = np.where(off_centre <= 1, weights, 0)
    return np.asarray(weights / weights.sum(), np.float32)


def bins_of(call: Call) -> Any:
    """Return the number of bins, or uneven edges."""
    if not call["edges"]:
        return call["bins"]
    low, high = call["range"]
    inner = low + (high - low) * np.sort(call.rng(98).random(call["bins"] - 1))
    return np.concatenate([[low], inner, [high]])


def line_of(call: Call) -> np.ndarray:
    """Return the weights of a convolution: whole numbers beside integers, else in the dtype of the array."""
    dtype, rng = np.dtype(call.operands[0].dtype), call.rng(97)
    if dtype.kind != "f":
        return np.asarray(rng.integers(-9, 10, call["width"]), dtype)
    return np.asarray((0.1 + rng.random(call["width"])) / call["width"], dtype)


def _map(call: Call) -> Way:
    fn = function_of(call["fn"], np) if call["python"] else call["fn"]
    return partial(gpuprims.map, fn)


def _fold(call: Call) -> Way:
    how = {"op": OPERATORS.get(call["op"], call["op"])}
    if call.function == "scan":
        how["inclusive"] = call["inclusive"]
    function: Callable[..., Any] = getattr(gpuprims, call.function)
    if call.primitive == "segments":
        return lambda *arrays, **where: function(*arrays[:-1], segments=arrays[-1], **how, **where)
    return partial(function, axis=call["axis"], dtype=call["dtype"], **how)


def _compact(call: Call) -> Way:
    masks = [call["mask"]] if call["mask"] else []
    return lambda *arrays, **where: gpuprims.compact(*arrays, *masks, **where)


def _histogram(call: Call) -> Way:
    bins, given, axis = bins_of(call), None if call["edges"] else call["range"], call["axis"]

    def run(x: Any, weights: Any = None, **where: Any) -> Any:
        return gpuprims.histogram(x, bins, given, weights=weights, axis=axis, **where)[0]

    return run


def _bincount(call: Call) -> Way:
    return partial(gpuprims.bincount, minlength=call["minlength"])


def _stencil(call: Call) -> Way:
    weights = sobel if call["fn"] else stencil_weights(call)
    return partial(gpuprims.stencil, weights=weights, mode=call["mode"])


def _blur(call: Call) -> Way:
    how = {name: call[name] for name in ("kind", "size", "sigma", "mode", "channel_axis") if call[name] is not None}
    return partial(gpuprims.blur, **how)


def sobel(n: Any) -> Any:
    """Return the length of the gradient by Sobel's weights."""
    down = n[1, -1] + 2 * n[1, 0] + n[1, 1] - n[-1, -1] - 2 * n[-1, 0] - n[-1, 1]
    across = n[-1, 1] + 2 * n[0, 1] + n[1, 1] - n[-1, -1] - 2 * n[0, -1] - n[1, -1]
    return np.sqrt(down * down + across * across)


def _ordered(call: Call) -> Way:
    function: Callable[..., Any] = getattr(gpuprims, call.function)
    given = {name: value for name, value in call.keywords.items() if name not in ("mean", "skewed", "more")}
    match call.primitive:
        case "sort" if len(call.operands) > 1:
            return lambda x, offsets, **where: function(x, segments=offsets, **where)
        case "by_key":
            return lambda x, keys, **where: function(x, by=keys, **given, **where)
        case "unique" if call["more"]:
            return partial(function, **{call["more"]: True})
    return partial(function, **given)


def _further(call: Call) -> Way:
    function: Callable[..., Any] = attrgetter(call.function)(gpuprims)
    given = {name: value for name, value in call.keywords.items() if name not in ("mean", "skewed", "width", "edges")}
    match call.primitive:
        case "row_segments" | "segment_histograms":
            first = (lambda found: found) if call.primitive == "row_segments" else itemgetter(0)
            return lambda x, offsets, **where: first(function(x, segments=offsets, **given, **where))
        case "histogram2d":
            return lambda *arrays, **where: function(*arrays, **given, **where)[0]
        case "convolve":
            return partial(function, v=line_of(call), **given)
        case "digitize":
            return partial(function, bins=bins_of(call).astype(call.operands[0].dtype))
    return partial(function, **given)


# Calls that order elements; ordered.py draws them. Calls made of other primitives; further.py draws these.
ORDERED = (
    "sort", "argsort", "sort_by_key", "top_k", "quantile", "partition", "unique", "run_length_encode", "by_key",
    "searchsorted", "isin", "merge", "take",
)  # fmt: skip
FURTHER = (
    "compact_rows", "row_segments", "histogram2d", "segment_histograms", "convolve", "diff", "nonzero", "digitize",
    "filter",
)  # fmt: skip
_WAYS: Mapping[str, Callable[[Call], Way]] = {
    "map": _map, "reduce": _fold, "scan": _fold, "segments": _fold, "compact": _compact, "histogram": _histogram,
    "bincount": _bincount, "stencil": _stencil, "blur": _blur,
    **dict.fromkeys(ORDERED, _ordered), **dict.fromkeys(FURTHER, _further),
}  # fmt: skip
PRIMITIVES = tuple(_WAYS)


def way_of(call: Call) -> Way:
    """Return a call by gpuprims as a function of its arrays, with or without ``device=``; it makes the rest once."""
    return _WAYS[call.primitive](call)
