"""The works of ``bench.neighbours``: each function, its arrays and the same by NumPy, SciPy, CuPy and torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

import gpuprims
from gpuprims import ndimage

Call = Callable[..., Any]
Arrays = Callable[[int], list[np.ndarray]]


@dataclass(frozen=True)
class Work:
    """A call, the function that makes its arrays, its sizes, and peers by library.

    ``nbytes`` is what an element must move. ``waited`` works are timed with the host's part, one call at a time.
    """

    name: str
    run: Call
    arrays: Arrays
    sizes: Sequence[int]
    nbytes: float
    peers: dict[str, Call]
    waited: bool = False
    check: bool = True

    def bytes_of(self, size: int) -> float:
        """Return the bytes that the work must move."""
        return self.nbytes * size

    def peer(self, name: str) -> Call | None:
        """Return the peer's function, if there is one."""
        return self.peers.get(name)


# Most random numbers that are drawn; larger arrays repeat them.
_DRAWN = 2**24


@lru_cache(maxsize=1)
def _numbers(size: int) -> np.ndarray:
    return np.resize(np.random.default_rng(1).standard_normal(min(size, _DRAWN), np.float32), size)


def normal(size: int) -> list[np.ndarray]:
    return [_numbers(size)]


def image(size: int) -> list[np.ndarray]:
    side = max(1, math.isqrt(size))
    return [_numbers(size)[: side * side].reshape(side, side)]


def volume(size: int) -> list[np.ndarray]:
    """Return a volume of about so many elements, whose rows begin at vectors if it is large."""
    side = max(1, round(size ** (1 / 3)))
    side = side // 64 * 64 or side
    return [_numbers(size)[: side**3].reshape(side, side, side)]


def pairs(size: int) -> list[np.ndarray]:
    drawn = np.random.default_rng(2).random((2, min(size, _DRAWN)), np.float32)
    return [np.resize(one, size) for one in drawn]


def binary(size: int) -> list[np.ndarray]:
    return [image(size)[0] > -1]


def sparse(size: int) -> list[np.ndarray]:
    return [np.resize(np.random.default_rng(3).random(min(size, _DRAWN), np.float32) > 0.7, size)]


def with_edges(count: int) -> Arrays:
    def made(size: int) -> list[np.ndarray]:
        return [normal(size)[0], np.linspace(-2, 2, count, dtype=np.float32)]

    return made


def with_weights(count: int) -> Arrays:
    def made(size: int) -> list[np.ndarray]:
        return [normal(size)[0], np.random.default_rng(4).standard_normal(count, np.float32) / count]

    return made


def _libraries(numpy: Call | None = None, cupy: Call | None = None, torch: Call | None = None) -> dict[str, Call]:
    named = {"NumPy": numpy, "CuPy": cupy, "torch": torch}
    return {name: call for name, call in named.items() if call is not None}


def _scipy(name: str, *arguments: Any, **keywords: Any) -> dict[str, Call]:
    """Return a function of SciPy's ndimage and of CuPy's."""

    def by_scipy(x: Any) -> Any:
        import scipy.ndimage

        return getattr(scipy.ndimage, name)(x, *arguments, **keywords)

    def by_cupy(x: Any) -> Any:
        from cupyx.scipy import ndimage as theirs

        return getattr(theirs, name)(x, *map(_on_device, arguments), **keywords)

    return _libraries(by_scipy, by_cupy)


def _on_device(argument: Any) -> Any:
    """Return an array of weights as CuPy takes it."""
    import cupy

    return cupy.asarray(argument, cupy.float32) if isinstance(argument, np.ndarray) else argument


def _cupy(name: str, *arguments: Any, **keywords: Any) -> Call:
    def run(*given: Any) -> Any:
        import cupy

        return getattr(cupy, name)(*given, *arguments, **keywords)

    return run


def _both(name: str, *arguments: Any, torch: Call | None = None, **keywords: Any) -> dict[str, Call]:
    """Return a function of NumPy and of CuPy."""
    return _libraries(
        lambda *given: getattr(np, name)(*given, *arguments, **keywords), _cupy(name, *arguments, **keywords), torch
    )


def _torch(name: str, **keywords: Any) -> Call:
    def run(*given: Any) -> Any:
        import torch

        return getattr(torch, name)(*given, **keywords)

    return run


def _filter(title: str, name: str, *arguments: Any, arrays: Arrays = image, nbytes: float = 8, **keywords: Any) -> Work:
    call = partial(_called, getattr(ndimage, name), arguments, keywords)
    return Work(title, call, arrays, (2**28,), nbytes, _scipy(name, *arguments, **keywords))


def _called(function: Call, arguments: Sequence[Any], keywords: dict[str, Any], *given: Any) -> Any:
    return function(*given, *arguments, **keywords)


def _random(title: str, dtype: str, numpy: Call, cupy: Call | None, torch: Call | None, kind: Any, **how: Any) -> Work:
    """Return a work that fills its array with random numbers; peers return new ones."""

    def run(place: Any) -> Any:
        return gpuprims.random(7, kind=kind, out=place, **how)

    def made(size: int) -> list[np.ndarray]:
        return [np.zeros(size, dtype)]

    sized = (None if one is None else partial(_sized, one) for one in (numpy, cupy, torch))
    return Work(title, run, made, (2**28,), np.dtype(dtype).itemsize, _libraries(*sized), check=False)


def _sized(function: Call, place: Any) -> Any:
    return function(math.prod(place.shape))


def _numpy_random(name: str, **keywords: Any) -> Call:
    return lambda size: getattr(np.random.default_rng(7), name)(size=size, **keywords)


def _cupy_random(name: str, **keywords: Any) -> Call:
    def run(size: int) -> Any:
        import cupy

        return getattr(cupy.random, name)(size=size, **keywords)

    return run


def _torch_random(name: str, **keywords: Any) -> Call:
    def run(size: int) -> Any:
        import torch

        return getattr(torch, name)(size, device="cuda", **keywords)

    return run


RANDOM = (
    _random("random float32", "float32", _numpy_random("random", dtype=np.float32),
            _cupy_random("random_sample", dtype=np.float32), _torch_random("rand"), "uniform"),
    _random("random float64", "float64", _numpy_random("random"), _cupy_random("random_sample"), None, "uniform"),
    _random("random normal float32", "float32", _numpy_random("standard_normal", dtype=np.float32),
            _cupy_random("standard_normal", dtype=np.float32), _torch_random("randn"), "normal"),
    _random("random words", "uint32", _numpy_random("integers", low=0, high=2**32, dtype=np.uint32), None, None,
            "bits"),
    _random("random integers", "int32", _numpy_random("integers", low=0, high=1000, dtype=np.int32), None, None,
            "integers", low=0, high=1000),
)  # fmt: skip

FILTERS = (
    _filter("median_filter 3", "median_filter", 3),
    _filter("median_filter 5", "median_filter", 5),
    _filter("rank_filter 5 of 3", "rank_filter", 5, 3),
    _filter("maximum_filter 3", "maximum_filter", 3),
    _filter("maximum_filter 9", "maximum_filter", 9),
    _filter("sobel", "sobel"),
    _filter("prewitt", "prewitt"),
    _filter("laplace", "laplace"),
    _filter("gaussian_filter 2", "gaussian_filter", 2),
    _filter("gaussian_filter 1, 3-D", "gaussian_filter", 1, arrays=volume),
    _filter("gaussian_filter 2, 3-D", "gaussian_filter", 2, arrays=volume),
    _filter("uniform_filter 5, 3-D", "uniform_filter", 5, arrays=volume),
    _filter("uniform_filter 9", "uniform_filter", 9),
    _filter("correlate 3 x 3", "correlate", np.array([[1, 2, 1], [0, 5, 0], [3, 1, 2]], np.float32)),
    _filter("correlate1d 29", "correlate1d", np.linspace(0, 1, 29)),
    _filter("correlate1d 63, axis 0", "correlate1d", np.linspace(0, 1, 63), 0),
    _filter("correlate1d 101", "correlate1d", np.linspace(0, 1, 101)),
    _filter("grey_erosion 3", "grey_erosion", 3),
    _filter("binary_erosion", "binary_erosion", arrays=binary, nbytes=2),
)


def _conv1d(x: Any, v: Any) -> Any:
    import torch

    return torch.nn.functional.conv1d(x[None, None], v.flip(0)[None, None], padding=len(v) - 1)[0, 0]


def _histogram2d(x: Any, y: Any, bins: int = 256) -> Any:
    return gpuprims.histogram2d(x, y, bins, [(0, 1), (0, 1)])[0]


def _peers_2d(bins: int) -> dict[str, Call]:
    limits = [(0, 1), (0, 1)]
    return _libraries(
        lambda x, y: np.histogram2d(x, y, bins, limits)[0],
        lambda x, y: _cupy("histogram2d", bins, limits)(x, y)[0],
    )


def _fold(op: Any, torch: bool = True) -> Work:
    peers = _both(op, torch=_torch(op) if torch else None)
    return Work(op, partial(gpuprims.reduce, op=op), normal, (2**28,), 4, peers)


def _quantile(q: float, name: str, sizes: Sequence[int], **how: Any) -> Work:
    return Work(name, partial(gpuprims.quantile, q=q), normal, sizes, 4, _both("quantile", q), **how)


def _grid(bins: int, name: str, sizes: Sequence[int], **how: Any) -> Work:
    return Work(name, partial(_histogram2d, bins=bins), pairs, sizes, 8, _peers_2d(bins), **how)


def _diff(name: str, sizes: Sequence[int], **how: Any) -> Work:
    return Work(name, gpuprims.diff, normal, sizes, 8, _both("diff", torch=_torch("diff")), **how)


def _nonzero(name: str, sizes: Sequence[int], **how: Any) -> Work:
    moved = 1 + 8 * 0.3
    peers = _both("nonzero", torch=_torch("nonzero"))
    return Work(name, gpuprims.nonzero, sparse, sizes, moved, peers, check=False, **how)


def _convolve(weights: int, sizes: Sequence[int], beside: str = "", **how: Any) -> Work:
    peers = _both("convolve", torch=_conv1d)
    return Work(f"convolve {weights}{beside}", gpuprims.convolve, with_weights(weights), sizes, 8, peers, **how)


def _bucketize(x: Any, edges: Any) -> Any:
    import torch

    return torch.bucketize(x, edges, right=True)


def _digitize(edges: int) -> Work:
    sizes, peers = (2**10, 2**16, 2**20, 2**24), _both("digitize", torch=_bucketize)
    return Work(f"digitize {edges}", gpuprims.digitize, with_edges(edges), sizes, 12, peers, waited=True)


def _histogram_auto() -> Work:
    """Return a histogram by a rule; CuPy, which has none, counts in 100 bins."""
    peers = _libraries(lambda x: np.histogram(x, "auto")[0], lambda x: _cupy("histogram", 100)(x)[0])
    sizes = (2**10, 2**16, 2**20, 2**24)
    own = partial(gpuprims.histogram, bins="auto")
    return Work("histogram auto", own, normal, sizes, 4, peers, waited=True, check=False)


FURTHER = (
    *(_fold(op) for op in ("nansum", "sum", "nanmean")),
    *(_fold(op, torch=False) for op in ("nanmax", "ptp")),
    _quantile(0.5, "quantile 0.5", (2**28,)),
    _quantile(0.9, "quantile 0.9", (2**28,)),
    Work("median", gpuprims.median, normal, (2**28,), 4, _both("median")),
    _grid(64, "histogram2d 64 x 64", (2**26,)),
    _grid(256, "histogram2d 256 x 256", (2**26,)),
    _diff("diff", (2**10, 2**16, 2**20, 2**28)),
    _nonzero("nonzero", (2**10, 2**16, 2**20, 2**24, 2**28)),
    *(_convolve(weights, (2**16, 2**24)) for weights in (29, 41, 86, 300)),
)

WAITED = (
    _digitize(10),
    _digitize(1000),
    _histogram_auto(),
    _grid(10, "histogram2d 10 x 10, waited", (2**10, 2**16, 2**20), waited=True),
    _diff("diff, waited", (2**10, 2**16, 2**20), waited=True),
    _nonzero("nonzero, waited", (2**10, 2**16, 2**20), waited=True),
    _convolve(29, (2**10, 2**16), ", waited", waited=True),
    _quantile(0.9, "quantile 0.9, waited", (2**10, 2**16, 2**20), waited=True),
)

WORKS = (*RANDOM, *FILTERS, *FURTHER, *WAITED)
