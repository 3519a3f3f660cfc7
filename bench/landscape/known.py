"""Calls that were far from the limit once, with the speed that they are to reach on an H200."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from .calls import Call, Operand

# Lengths of the calls that are checked, in place of the large ones, are divided by so much.
_SHRINK = 256


class Known(NamedTuple):
    """A call, a smaller one like it, and a target: bytes a second, or seconds if it is below one."""

    name: str
    target: float
    call: Call
    sample: Call

    def reached(self, nbytes: int, seconds: float) -> float:
        """Return what was measured, in the target's unit."""
        return seconds if self.target < 1 else nbytes / seconds


def known(size: int = 1, sample: int = _SHRINK) -> list[Known]:
    """Return the known calls and their samples, smaller by these factors."""
    pairs = zip(_calls(size), _calls(sample), strict=True)
    return [Known(name, target, call, like) for (name, target, call), (_, _, like) in pairs]


def _calls(shrink: int) -> Iterator[tuple[str, float, Call]]:
    """Yield the calls, smaller by a factor."""
    n, side = 2**28 // shrink, 16384 // math.isqrt(shrink)
    square, flat = (side, side), (n,)
    for number, (name, target, primitive, operands, keywords) in enumerate(
        (
            *_folds(n, square, shrink),
            *_scans(n, square, shrink),
            *_in_segments(n // 4),
            *_counts(flat, side, shrink),
            *_stencils(square, 4096 // math.isqrt(shrink), shrink),
        )
    ):
        function = keywords.pop("function", primitive)
        yield name, target, Call(0, number, primitive, function, operands, keywords)


_Drawn = tuple[str, float, str, tuple[Operand, ...], dict[str, Any]]


def _x(shape: tuple[int, ...], dtype: str = "float32", **more: Any) -> Operand:
    return Operand("x", dtype, shape, **more)


def _turned(name: str, shape: tuple[int, int]) -> Operand:
    return Operand(name, "float32", shape, "transpose", (1, 0))


def _folds(n: int, square: tuple[int, int], shrink: int) -> Iterator[_Drawn]:
    yield "sum of a transposed array", 4.2e12, "reduce", (_turned("x", square),), {"op": "sum"}
    operands = _x(square), _turned("y", square)
    yield "map of two, one transposed", 3.6e12, "map", operands, {"fn": "x + y"}
    affine = Operand("x", "float32", (n // 2,), low=0.5), Operand("y", "float32", (n // 2,))
    yield "affine operator", 4.2e12, "reduce", affine, {"op": "affine"}
    yield "var", 4.3e12, "reduce", (_x((n,)),), {"op": "var"}
    deep = (max(4, 1024 // shrink), 512, 512)
    yield "sum over axes (0, 2)", 4.2e12, "reduce", (_x(deep),), {"op": "sum", "axis": (0, 2)}
    yield "map of float16", 4.0e12, "map", (_x((n,), "float16"),), {"fn": "2*x + 1"}


def _scans(n: int, square: tuple[int, int], shrink: int) -> Iterator[_Drawn]:
    def scan(name: str, target: float, x: Operand, axis: int | None = None, op: str = "sum") -> _Drawn:
        return f"scan {name}", target * 1e12, "scan", (x,), {"op": op, "axis": axis, "inclusive": True}

    yield scan("along axis 0 of few columns", 3.2, _x((2**20 // shrink, 256)), 0)
    yield scan("along axis 0", 3.4, _x(square), 0)
    yield scan("along the middle axis", 3.4, _x((max(4, 1024 // shrink), 512, 512)), 1)
    yield scan("with max", 3.7, _x((n,)), None, "max")
    yield scan("sum", 4.0, _x((n,)))
    yield scan("float64", 3.8, _x((n // 4,), "float64"))
    yield scan("int64", 3.8, _x((n // 4,), "int64", high=100))
    yield scan("float16", 3.4, _x((n,), "float16", low=-1))
    yield scan("uint8 to uint64", 3.4, _x((n,), "uint8", high=100))


def _in_segments(n: int) -> Iterator[_Drawn]:
    for function, targets in {"reduce": (3.0, 3.8, 4.0, 4.0), "scan": (2.6, 3.2, 3.4, 3.4)}.items():
        for mean, target in zip((4, 32, 1000, 100_000), targets, strict=True):
            offsets = Operand("offsets", "int64", (n // mean + 1,), data="offsets")
            how = {"function": function, "op": "sum", "inclusive": function == "scan" or None}
            yield f"{function} of segments of {mean:,}", target * 1e12, "segments", (_x((n,)), offsets), how


def _counts(flat: tuple[int], side: int, shrink: int) -> Iterator[_Drawn]:
    yield "compact by a mask", 3.6e12, "compact", (_x(flat), Operand("mask", "bool", flat)), {}
    yield "compact by a function", 3.5e12, "compact", (_x(flat),), {"mask": "x >= 0.5"}
    yield "compact by a function, 1 % kept", 4.0e12, "compact", (_x(flat),), {"mask": "x >= 0.99"}
    weighted = _x(flat), Operand("weights", "float32", flat)
    yield "histogram with weights", 3.5e12, "histogram", weighted, {"bins": 256, "range": (0.0, 1.0)}
    yield "histogram of 2^20 bins", 1.0e12, "histogram", (_x(flat),), {"bins": 2**20, "range": (0.0, 1.0)}
    by_row = {"bins": 64, "range": (0.0, 1.0), "axis": 1}
    yield "histogram of each row", 4.0e12, "histogram", (_x((2**14 // shrink, side)),), by_row


def _stencils(square: tuple[int, int], side: int, shrink: int) -> Iterator[_Drawn]:
    deep = _x((max(4, 512 // shrink), 512, 1024))
    yield (
        "stencil of 7 points, 3-D",
        3.5e12,
        "stencil",
        (deep,),
        {"weights": (3, 3, 3), "star": True, "mode": "nearest"},
    )
    dense = {"weights": (15, 15), "mode": "nearest"}
    yield "stencil of 15 x 15", 4.5e-3, "stencil", (_x(square),), dense
    yield "stencil of 31 x 31", 1.2e-3, "stencil", (_x((side, side)),), {"weights": (31, 31), "mode": "nearest"}
    yield "Gaussian, sigma 8", 2.2e-3, "blur", (_x(square),), {"kind": "gaussian", "sigma": 8.0, "mode": "nearest"}
