"""The works that order elements by CuPy, torch and CUB, on CuPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gpuprims

from .ordered_works import ORDERED

Ways = dict[str, Callable[..., Any]]
SORTS = [work.name for work in ORDERED if work.call is gpuprims.sort]
_UNIQUE = ("unique, 1,000 distinct", "unique, all distinct")


def cupy_ways() -> Ways:
    import cupy

    def top_k(x: Any, k: int) -> Any:
        places = cupy.argpartition(x, x.shape[-1] - k, axis=-1)[..., -k:]
        values = cupy.take_along_axis(x, places, -1)
        best = cupy.argsort(values, axis=-1)[..., ::-1]
        return cupy.take_along_axis(values, best, -1), cupy.take_along_axis(places, best, -1)

    def pairs(keys: Any, numbers: Any) -> Any:
        places = cupy.argsort(keys, kind="stable")
        return keys[places], numbers[places]

    def sums(x: Any, keys: Any) -> Any:
        return cupy.bincount(cupy.unique(keys, return_inverse=True)[1], x)

    return {
        **dict.fromkeys(SORTS, cupy.sort),
        **dict.fromkeys(_UNIQUE, cupy.unique),
        "argsort float32": lambda x: cupy.argsort(x, kind="stable"),
        "sort pairs": pairs,
        "top_k 10": lambda x: top_k(x, 10),
        "top_k 1000": lambda x: top_k(x, 1000),
        "top_k rows of 8192": lambda x: top_k(x, 32),
        "median": cupy.median,
        "reduce by 1,000 keys": sums,
        "reduce by 10^6 keys": sums,
        "searchsorted": cupy.searchsorted,
    }


def torch_ways(through: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Ways:
    """Return torch's functions, made to take and return CuPy arrays by ``through``."""
    import torch

    def top_k(k: int) -> Callable[..., Any]:
        return through(lambda x: tuple(torch.topk(x, k, dim=-1)))

    def pairs(keys: Any, numbers: Any) -> Any:
        found = torch.sort(keys, stable=True)
        return found.values, numbers[found.indices]

    def sums(x: Any, keys: Any) -> Any:
        distinct, places = torch.unique(keys, return_inverse=True)
        return torch.zeros(distinct.shape[0], dtype=x.dtype, device=x.device).index_add_(0, places, x)

    return {
        **dict.fromkeys(SORTS, through(lambda x: torch.sort(x).values)),
        **dict.fromkeys(_UNIQUE, through(torch.unique)),
        "argsort float32": through(lambda x: torch.argsort(x, stable=True)),
        "sort pairs": through(pairs),
        "top_k 10": top_k(10),
        "top_k 1000": top_k(1000),
        "top_k rows of 8192": top_k(32),
        "reduce by 1,000 keys": through(sums),
        "reduce by 10^6 keys": through(sums),
        "searchsorted": through(torch.searchsorted),
    }


def cub_ways(library: Any, started: Callable[..., None]) -> Ways:
    """Return CUB's functions; ``started`` runs one of the library with scratch memory, on the stream of CuPy."""
    import cupy

    def sort(x: Any) -> Any:
        started(getattr(library, f"sort_{x.dtype}"), x, y := cupy.empty_like(x))
        return y

    def pairs(keys: Any, numbers: Any) -> Any:
        y = cupy.empty(2 * keys.size, keys.dtype)
        started(library.sort_pairs, keys, y, mask=numbers)
        return y[: keys.size], y[keys.size :]

    def argsort(x: Any) -> Any:
        numbers = cupy.arange(x.size, dtype="uint32")
        started(library.argsort_float32, x, y := cupy.empty(2 * x.size, x.dtype), mask=numbers)
        return y[x.size :].view("uint32")

    def unique(x: Any) -> Any:
        ordered, y, count = sort(x), cupy.empty_like(x), cupy.empty(1, "int64")
        started(library.unique_int32, ordered, y, count=count)
        return y[: int(count[0])]

    found: Ways = {"sort pairs": pairs, "argsort float32": argsort}
    return found | dict.fromkeys(SORTS, sort) | dict.fromkeys(_UNIQUE, unique)
