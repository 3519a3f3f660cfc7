"""Small calls of every function, and the same work by NumPy, CuPy and PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import gpuprims

SIZE = 1000
WEIGHTS = np.array([[1, 2, 1], [2, 3, 2], [1, 1, 2]]) / np.float32(16)
OFFSETS = np.array([0, 0, 500, SIZE])
Call = Callable[[], Any]
# From a library's module and arrays to a result.
Way = Callable[..., Any]


class Small(NamedTuple):
    """A call: its function, the names of its arrays, and its arguments before and behind these; the work by peers.

    Peers are functions of NumPy's or CuPy's module and the arrays, and of torch's; None where a library has none.
    """

    function: str
    arrays: tuple[str, ...] = ("x",)
    before: tuple[Any, ...] = ()
    after: tuple[Any, ...] = ()
    keywords: dict[str, Any] = {}  # noqa: RUF012 - nobody writes to it
    numpy: Way | None = None
    torch: Way | None = None
    named: dict[str, str] = {}  # noqa: RUF012 - keywords whose values are arrays
    planned: bool = True

    def call(self, arrays: dict[str, Any], **where: Any) -> Call:
        """Return the call on arrays by their names."""
        named = {keyword: arrays[name] for keyword, name in self.named.items()}
        return _calling(getattr(gpuprims, self.function), self._arguments(arrays), self.keywords | named | where)

    def plan(self, arrays: dict[str, Any], **where: Any) -> Call:
        """Return the call by a plan, on the same arrays."""
        planned = gpuprims.plan(self.function, *self._arguments(arrays), **self.keywords, **where)
        return _calling(planned, tuple(arrays[name] for name in self.arrays), {})

    def _arguments(self, arrays: dict[str, Any]) -> tuple[Any, ...]:
        return (*self.before, *(arrays[name] for name in self.arrays), *self.after)


def _calling(function: Callable[..., Any], arguments: tuple[Any, ...], how: dict[str, Any]) -> Call:
    return lambda: function(*arguments, **how)


# By name. The first one is what others are compared with.
CASES: dict[str, Small] = {
    "reduce": Small("reduce", numpy=lambda xp, x: xp.sum(x), torch=lambda torch, x: torch.sum(x)),
    "map": Small("map", before=("2*x + 1",), numpy=lambda xp, x: 2 * x + 1, torch=lambda torch, x: 2 * x + 1),
    "reduce, segments": Small("reduce", keywords={"segments": OFFSETS}),
    "reduce, by": Small("reduce", named={"by": "numbers"}, planned=False),
    "scan": Small("scan", numpy=lambda xp, x: xp.cumsum(x), torch=lambda torch, x: torch.cumsum(x, 0)),
    "scan, segments": Small("scan", keywords={"segments": OFFSETS}),
    "compact": Small(
        *("compact", ("x",), (), ("x > 0.5",)), numpy=lambda xp, x: x[x > 0.5], torch=lambda torch, x: x[x > 0.5]
    ),
    "histogram": Small("histogram", numpy=lambda xp, x: xp.histogram(x), torch=lambda torch, x: torch.histc(x, 10)),
    "histogram, range": Small(
        *("histogram", ("x",), (), (256, (0, 1))),
        numpy=lambda xp, x: xp.histogram(x, 256, (0, 1)),
        torch=lambda torch, x: torch.histc(x, 256, 0, 1),
    ),
    "bincount": Small(
        "bincount", ("numbers",), numpy=lambda xp, x: xp.bincount(x), torch=lambda torch, x: torch.bincount(x)
    ),
    "stencil": Small("stencil", ("image",), after=(WEIGHTS,)),
    "blur": Small("blur", ("image",)),
    "sort": Small("sort", numpy=lambda xp, x: xp.sort(x), torch=lambda torch, x: torch.sort(x)),
    "argsort": Small("argsort", numpy=lambda xp, x: xp.argsort(x), torch=lambda torch, x: torch.argsort(x)),
    "sort_by_key": Small("sort_by_key", ("numbers", "x")),
    "take": Small(
        "take", ("x", "numbers"), numpy=lambda xp, x, at: xp.take(x, at), torch=lambda torch, x, at: torch.take(x, at)
    ),
    "searchsorted": Small(
        "searchsorted",
        ("ordered", "x"),
        numpy=lambda xp, a, v: xp.searchsorted(a, v),
        torch=lambda torch, a, v: torch.searchsorted(a, v),
    ),
    "isin": Small("isin", after=([0.25, 0.5],)),
    "merge": Small("merge", ("ordered", "ordered")),
    "top_k": Small("top_k", after=(10,), torch=lambda torch, x: torch.topk(x, 10)),
    "median": Small("median", numpy=lambda xp, x: xp.median(x), torch=lambda torch, x: torch.median(x)),
    "quantile": Small(
        "quantile",
        after=(0.3,),
        numpy=lambda xp, x: xp.quantile(x, 0.3),
        torch=lambda torch, x: torch.quantile(x, 0.3),
    ),
    "partition": Small("partition", after=(500,), numpy=lambda xp, x: xp.partition(x, 500)),
    "unique": Small(
        *("unique", ("numbers",)),
        numpy=lambda xp, x: xp.unique(x),
        torch=lambda torch, x: torch.unique(x),
        planned=False,
    ),
}


def arrays(size: int = SIZE) -> dict[str, np.ndarray]:
    """Return the arrays by name, of so many elements; an image has 40 columns."""
    rng = np.random.default_rng(0)
    x = rng.random(size, dtype=np.float32)
    image = x[: size // 40 * 40].reshape(-1, 40)
    return {"x": x, "numbers": rng.integers(0, 100, size), "image": image, "ordered": np.sort(x)}


def peers(device: gpuprims.Device) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Return each installed library for a device: its module, and the arrays."""
    host = arrays()
    if device.backend != "cuda":
        return {"NumPy": (np, host)}
    import cupy

    found = {"CuPy": (cupy, {name: cupy.asarray(one) for name, one in host.items()})}
    try:
        import torch
    except ImportError:
        return found
    there = {name: torch.from_numpy(one).cuda(device.driver.index) for name, one in host.items()}
    return found | {"PyTorch": (torch, there)}


def peer_call(case: Small, name: str, module: Any, there: dict[str, Any]) -> Call | None:
    """Return the call of a peer, if it has one."""
    way = case.torch if name == "PyTorch" else case.numpy
    return None if way is None else _calling(way, (module, *(there[one] for one in case.arrays)), {})


def number_calls(device: gpuprims.Device, there: dict[str, tuple[Any, dict[str, Any]]]) -> dict[str, Call]:
    """Return calls that give a sum as a Python number."""
    x = device.asarray(arrays()["x"])
    total = gpuprims.plan("reduce", x)
    calls: dict[str, Call] = {
        "gpuprims": lambda: float(device.to_host(gpuprims.reduce(x))),
        "gpuprims, plan": lambda: total.item(x),
    }
    for name, (_, given) in there.items():
        calls[name] = _number(given["x"])
    return calls


def _number(x: Any) -> Call:
    return lambda: float(x.sum())
