"""Draw dtypes, shapes, layouts and data for all calls, from a generator for each call."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .calls import Operand

# Users' dtypes: mostly float32, then float64 and int32.
_DTYPES = {"float32": 20, "float64": 8, "float16": 4, "int32": 6, "int64": 4, "uint8": 4, "complex64": 2, "bool": 2}
_DTYPES |= dict.fromkeys(("int8", "int16", "uint16", "uint32", "uint64", "complex128"), 1)
_LAYOUTS = {"x": 5, "transpose": 2, "x[..., 3:]": 1, "x[..., ::2]": 1, "x[..., ::-1]": 1}
_DATA = {"uniform": 5, "skewed": 2, "constant": 1, "sorted": 1}
# FMAs of a stencil for each byte of the upper bound: wide stencils get smaller arrays, so that the checks end.
_FMAS_PER_BYTE = 32


@dataclass(frozen=True)
class Bounds:
    """Bytes of a call's first operand: drawn between these, evenly on a logarithmic scale."""

    least: int
    most: int


# What is drawn of a call: gpuprims' function, the operands, and the keywords.
Drawn = tuple[str, list[Operand], dict[str, Any]]


class Dice:
    """Draws of one call."""

    def __init__(self, rng: np.random.Generator, bounds: Bounds) -> None:
        self.rng, self.most = rng, bounds.most
        self.most_fmas = _FMAS_PER_BYTE * bounds.most
        self.nbytes = self.log_uniform(bounds.least, bounds.most)

    def log_uniform(self, least: float, most: float) -> int:
        return round(math.exp(self.rng.uniform(math.log(least), math.log(max(least, most)))))

    def pick(self, weights: Mapping[Any, float]) -> Any:
        total = sum(weights.values())
        return list(weights)[int(self.rng.choice(len(weights), p=[weight / total for weight in weights.values()]))]

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def dtype(self, *kinds: str) -> str:
        return str(self.pick({name: w for name, w in _DTYPES.items() if np.dtype(name).kind in kinds}))

    def shape(self, dtype: str, *, least: int = 1, most: int = 4) -> tuple[int, ...]:
        """Return a shape of so many bytes; half of the shapes have lengths that are powers of two."""
        size = max(1, self.nbytes // np.dtype(dtype).itemsize)
        axes = self.pick({axes: w for axes, w in {1: 5, 2: 7, 3: 4, 4: 2}.items() if least <= axes <= most})
        shares = self.rng.dirichlet(np.full(axes, 1.5))
        lengths = [max(1, round(size**share)) for share in shares[:-1]]
        if self.chance(0.5):
            lengths = [1 << max(0, round(math.log2(length))) for length in lengths]
        return (*lengths, max(1, size // math.prod(lengths)))

    def operand(self, name: str, dtype: str, shape: tuple[int, ...], *, layout: str | None = None) -> Operand:
        """Return an operand with a layout and data of its own."""
        layout = layout or self.pick(_LAYOUTS)
        if layout == "transpose" and len(shape) == 1:
            layout = "x"
        axes: tuple[int, ...] = ()
        if layout == "transpose":
            axes = tuple(range(len(shape)))[::-1]
            if self.chance(0.5):
                axes = tuple(int(axis) for axis in self.rng.permutation(len(shape)))
        if axes == tuple(range(len(shape))):
            layout, axes = "x", ()
        low, high = (0.0, 1.0) if np.dtype(dtype).kind in "fcb" else (0.0, 100.0)
        return Operand(name, dtype, shape, layout, axes, self.pick(_DATA), low, high)
