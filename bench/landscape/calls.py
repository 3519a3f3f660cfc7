"""A drawn call: its operands, its keywords, its text, and how gpuprims runs it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import gpuprims

from .functions import OPERATORS, function_of


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


def _map(call: Call, arrays: Sequence[Any], where: Mapping[str, Any]) -> Any:
    fn = function_of(call["fn"], np) if call["python"] else call["fn"]
    return gpuprims.map(fn, *arrays, **where)


def _fold(call: Call, arrays: Sequence[Any], where: Mapping[str, Any]) -> Any:
    op = OPERATORS.get(call["op"], call["op"])
    how = dict(where)
    if call.primitive == "segments":
        *arrays, how["segments"] = arrays
    else:
        how |= {"axis": call["axis"], "dtype": call["dtype"]}
    if call.function == "scan":
        how["inclusive"] = call["inclusive"]
    function: Callable[..., Any] = getattr(gpuprims, call.function)
    return function(*arrays, op=op, **how)


def _compact(call: Call, arrays: Sequence[Any], where: Mapping[str, Any]) -> Any:
    return gpuprims.compact(*arrays, *([call["mask"]] if call["mask"] else []), **where)


def _histogram(call: Call, arrays: Sequence[Any], where: Mapping[str, Any]) -> Any:
    weights = arrays[1] if len(arrays) > 1 else None
    given = None if call["edges"] else call["range"]
    return gpuprims.histogram(arrays[0], bins_of(call), given, weights=weights, axis=call["axis"], **where)[0]


def _bincount(call: Call, arrays: Sequence[Any], where: Mapping[str, Any]) -> Any:
    weights = arrays[1] if len(arrays) > 1 else None
    return gpuprims.bincount(arrays[0], weights, call["minlength"], **where)


def _stencil(call: Call, arrays: Sequence[Any], where: Mapping[str, Any]) -> Any:
    weights = sobel if call["fn"] else stencil_weights(call)
    return gpuprims.stencil(arrays[0], weights, mode=call["mode"], **where)


def _blur(call: Call, arrays: Sequence[Any], where: Mapping[str, Any]) -> Any:
    how = {name: call[name] for name in ("kind", "size", "sigma", "mode", "channel_axis") if call[name] is not None}
    return gpuprims.blur(arrays[0], **how, **where)


def sobel(n: Any) -> Any:
    """Return the length of the gradient by Sobel's weights."""
    down = n[1, -1] + 2 * n[1, 0] + n[1, 1] - n[-1, -1] - 2 * n[-1, 0] - n[-1, 1]
    across = n[-1, 1] + 2 * n[0, 1] + n[1, 1] - n[-1, -1] - 2 * n[0, -1] - n[1, -1]
    return np.sqrt(down * down + across * across)


_RUNS: Mapping[str, Callable[[Call, Sequence[Any], Mapping[str, Any]], Any]] = {
    "map": _map, "reduce": _fold, "scan": _fold, "segments": _fold, "compact": _compact, "histogram": _histogram,
    "bincount": _bincount, "stencil": _stencil, "blur": _blur,
}  # fmt: skip
PRIMITIVES = tuple(_RUNS)


def run(call: Call, arrays: Sequence[Any], **where: Any) -> Any:
    """Run a call by gpuprims; ``where`` may hold ``device=``."""
    return _RUNS[call.primitive](call, arrays, where)
