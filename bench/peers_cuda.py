"""The works by CuPy, PyTorch, cuda.compute and CUB, on CuPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gpuprims
from gpuprims.primitives.stencil.weights import normal_weights

from . import ordered_peers
from .calls import ends
from .cases import CROSS, RATE, STEPS, WORKS
from .fit_calls import torchs

Ways = dict[str, Callable[..., Any]]
_HISTOGRAMS = {work.name: work for work in WORKS if work.primitive == "histogram" and isinstance(work.bins, int)}
_BINCOUNTS = [work.name for work in WORKS if work.primitive == "bincount"]


def cupy(_: gpuprims.Device) -> Ways:
    import cupy
    from cupyx.scipy import ndimage

    doubled = cupy.ElementwiseKernel("float32 x", "float32 y", "y = 2*x + 1", "gpuprims_bench_map")
    weights = cupy.asarray(CROSS)

    def cross(x: Any) -> Any:
        return ndimage.correlate(x, weights[..., None] if x.ndim == 3 else weights, mode="nearest")

    def gradient(X: Any, y: Any, w: Any) -> Any:
        z = X @ w
        return (cupy.logaddexp(0, z) - y * z).sum(), X.T @ (1 / (1 + cupy.exp(-z)) - y)

    return {
        "map 2*x+1": doubled,
        "reduce sum": cupy.sum,
        "reduce max": cupy.max,
        "reduce argmax": cupy.argmax,
        "reduce columns": lambda x: x.sum(axis=0),
        "reduce rows of 16": lambda x: x.sum(axis=1),
        "reduce rows of 256": lambda x: x.sum(axis=1),
        "scan sum": cupy.cumsum,
        "scan sum of float64": cupy.cumsum,
        "scan sum of int32": lambda x: cupy.cumsum(x, dtype=x.dtype),
        "scan rows": lambda x: cupy.cumsum(x, axis=1),
        "scan columns": lambda x: cupy.cumsum(x, axis=0),
        "compact by a mask": lambda x, mask: x[mask],
        "compact by a function": lambda x: x[x > 0.5],
        "blur cross": cross,
        "blur box 9": lambda x: ndimage.uniform_filter(x, 9, mode="nearest"),
        "blur gaussian 2": lambda x: ndimage.gaussian_filter(x, 2, mode="nearest"),
        "blur cross, twice": lambda x: cross(cross(x)),
        "blur cross of bytes": cross,
        "logistic gradient, 100 features": gradient,
        "logistic gradient, 1024 features": gradient,
        **{name: lambda x, bins=work.bins: cupy.histogram(x, bins, ends(x))[0] for name, work in _HISTOGRAMS.items()},
        **{name: lambda x: cupy.bincount(x.reshape(-1)) for name in _BINCOUNTS},
        **ordered_peers.cupy_ways(),
    }


def torch(_: gpuprims.Device) -> Ways:
    """Return torch's functions. They use the same memory and the default stream, as CuPy does."""
    import cupy
    import torch

    if not torch.cuda.is_available():
        raise ImportError("this torch has no CUDA")
    torch.backends.cudnn.allow_tf32 = False  # other peers compute in float32

    def through(function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any) -> Any:
            results = function(*(torch.from_dlpack(one) for one in given))
            return tuple(map(cupy.from_dlpack, results)) if isinstance(results, tuple) else cupy.from_dlpack(results)

        return run

    def convolved(*weights: np.ndarray) -> Callable[..., Any]:
        def run(x: Any) -> Any:
            image = x[None, None]
            for one in weights:  # small kernels, in sequence if they are a column and a row
                beside = (one.shape[1] // 2,) * 2 + (one.shape[0] // 2,) * 2
                padded = torch.nn.functional.pad(image, beside, mode="replicate")
                image = torch.nn.functional.conv2d(padded, torch.from_numpy(one).cuda()[None, None])
            return image[0, 0]

        return through(run)

    def gradient(X: Any, y: Any, w: Any) -> Any:
        z = X @ w
        return (torch.nn.functional.softplus(z) - y * z).sum(), X.T @ (torch.sigmoid(z) - y)

    # Only powers of two, because with other numbers of bins torch rounds some elements near an edge into the next bin.
    # Only elements spread over the bins, because torch counts in float32, which does not hold 2^24 + 1.
    counts = {
        name: through(lambda x, bins=work.bins: torch.histc(x, bins, 0, 1).to(torch.int64))
        for name, work in _HISTOGRAMS.items()
        if (work.inputs.dtype, work.inputs.spread) == ("float32", "uniform") and work.bins.bit_count() == 1
    }
    ones, normal = np.full(9, 1 / 9, np.float32), normal_weights(2).astype(np.float32)
    return {
        "map 2*x+1": through(lambda x: 2 * x + 1),
        "reduce sum": through(torch.sum),
        "reduce max": through(torch.max),
        "reduce argmax": through(torch.argmax),
        "scan sum": through(lambda x: torch.cumsum(x, 0)),
        "scan max": through(lambda x: torch.cummax(x, 0).values),
        "scan sum of float64": through(lambda x: torch.cumsum(x, 0)),
        "scan sum of int32": through(lambda x: torch.cumsum(x, 0, dtype=torch.int32)),
        "scan rows": through(lambda x: torch.cumsum(x, 1)),
        "scan columns": through(lambda x: torch.cumsum(x, 0)),
        "reduce segments": through(lambda x, offsets: torch.segment_reduce(x, "sum", offsets=offsets)),
        "compact by a mask": through(torch.masked_select),
        "compact by a function": through(lambda x: torch.masked_select(x, x > 0.5)),
        "blur cross": convolved(CROSS),
        "blur box 9": convolved(ones[None], ones[:, None]),
        "blur gaussian 2": convolved(normal[None], normal[:, None]),
        "logistic gradient, 100 features": through(gradient),
        "logistic gradient, 1024 features": through(gradient),
        "fit by lbfgs": through(torchs),
        "logistic descent by eager steps": through(_descend_eagerly),
        "logistic descent by a CUDA graph": through(_Graph()),
        **counts,
        **{name: through(lambda x: torch.bincount(x.reshape(-1))) for name in _BINCOUNTS},
        **ordered_peers.torch_ways(through),
    }


def _step(X: Any, y: Any, w: Any) -> None:
    import torch

    w.sub_(X.T @ (torch.sigmoid(X @ w) - y), alpha=RATE)


def _descend_eagerly(X: Any, y: Any, weights: Any) -> Any:
    w = weights.clone()
    for _ in range(STEPS):
        _step(X, y, w)
    return w


class _Graph:
    """Iterations of gradient descent, captured once, some per graph, and replayed."""

    steps = 100

    def __init__(self) -> None:
        self._captured: tuple[Any, Any] | None = None

    def __call__(self, X: Any, y: Any, weights: Any) -> Any:
        graph, w = self._captured = self._captured or self._capture(X, y, weights)
        w.copy_(weights)
        for _ in range(STEPS // self.steps):
            graph.replay()
        return w.clone()

    def _capture(self, X: Any, y: Any, weights: Any) -> tuple[Any, Any]:
        import torch

        w, aside = weights.clone(), torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):  # cuBLAS must initialise outside a capture
            _step(X, y, w)
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(self.steps):
                _step(X, y, w)
        return graph, w


def compute(_: gpuprims.Device) -> Ways:
    """Return the functions of NVIDIA's cuda.compute, CUB from Python."""
    import cupy
    from cuda import compute

    def scan(function: Any, op: Any, start: float = 0) -> Callable[..., Any]:
        def run(x: Any) -> Any:
            init = np.full(1, start, x.dtype)
            function(d_in=x, d_out=(y := cupy.empty_like(x)), op=op, init_value=init, num_items=x.size)
            return y

        return run

    def reduce(op: Any, start: float) -> Callable[..., Any]:
        def run(x: Any) -> Any:
            init = np.full(1, start, x.dtype)
            compute.reduce_into(d_in=x, d_out=(y := cupy.empty(1, x.dtype)), op=op, num_items=x.size, h_init=init)
            return y

        return run

    plus, larger = compute.OpKind.PLUS, compute.OpKind.MAXIMUM
    sums = scan(compute.inclusive_scan, plus)
    return {
        "reduce sum": reduce(plus, 0),
        "reduce max": reduce(larger, -np.inf),
        "scan sum": sums,
        "scan sum, exclusive": scan(compute.exclusive_scan, plus),
        "scan max": scan(compute.inclusive_scan, larger, -np.inf),
        "scan sum of float64": sums,
        "scan sum of int32": sums,
    }


def cub(_: gpuprims.Device) -> Ways:
    import cupy  # noqa: F401 - CUB works on its memory

    from .cub import load

    return load()
