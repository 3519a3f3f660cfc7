"""The works by libraries of the host: NumPy, SciPy, numba, scikit-learn, PyTorch and OpenCV."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .cases import CROSS, WORKS
from .fit_calls import torchs


def _of(library: str) -> dict[str, Callable[..., Any]]:
    return {work.name: work.host for work in WORKS if work.library == library}


def numpy(_: Any) -> dict[str, Callable[..., Any]]:
    return _of("NumPy")


def scipy(_: Any) -> dict[str, Callable[..., Any]]:
    return _of("SciPy")


def sklearn(_: Any) -> dict[str, Callable[..., Any]]:
    return _of("scikit-learn")


def numba(_: Any) -> dict[str, Callable[..., Any]]:
    """Return parallel loops as a user of numba writes them."""
    from numba import get_num_threads, njit, prange

    @njit(parallel=True, fastmath=True)  # type: ignore[untyped-decorator]  # numba ships no types
    def double(x: Any) -> Any:
        y = np.empty_like(x)
        for i in prange(x.size):
            y[i] = 2 * x[i] + 1
        return y

    @njit(parallel=True, fastmath=True)  # type: ignore[untyped-decorator]  # numba ships no types
    def add_up(x: Any) -> Any:
        total = 0.0  # in float64: a sum of 2^26 elements in float32 was 0.8 % off
        for i in prange(x.size):
            total += x[i]
        return total

    @njit(parallel=True)  # type: ignore[untyped-decorator]  # numba ships no types
    def count(x: Any, bins: int, threads: int) -> Any:
        own = np.zeros((threads, bins), np.int64)
        run = (x.size + threads - 1) // threads
        for thread in prange(threads):
            for i in range(thread * run, min((thread + 1) * run, x.size)):
                own[thread, int(x[i] * bins)] += 1  # all elements are below 1; numbers of bins are powers of two
        return own.sum(axis=0)

    counts = {f"histogram {bins}": lambda x, bins=bins: count(x, bins, get_num_threads()) for bins in (256, 16_384)}
    return {"map 2*x+1": double, "reduce sum": add_up} | counts


def torch(_: Any) -> dict[str, Callable[..., Any]]:
    import torch

    def through(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given: function(*map(torch.from_numpy, given)).numpy()

    return {
        "map 2*x+1": through(lambda x: 2 * x + 1),
        "reduce sum": through(torch.sum),
        "reduce max": through(torch.max),
        "reduce argmax": through(torch.argmax),
        "scan sum": through(lambda x: torch.cumsum(x, 0)),
        "histogram 256": through(lambda x: torch.histc(x, 256, 0, 1).to(torch.int64)),
        "bincount uint8": through(lambda x: torch.bincount(x.reshape(-1))),
        "fit by lbfgs": through(torchs),
    }


def opencv(_: Any) -> dict[str, Callable[..., Any]]:
    """Return blurs with borders that repeat the last pixel."""
    import cv2

    edge = cv2.BORDER_REPLICATE  # 17 pixels are SciPy's four sigma to each side
    return {
        "blur cross": lambda x: cv2.filter2D(x, -1, CROSS, borderType=edge),
        "blur box 9": lambda x: cv2.blur(x, (9, 9), borderType=edge),
        "blur gaussian 2": lambda x: cv2.GaussianBlur(x, (17, 17), 2, borderType=edge),
        "blur cross of bytes": lambda x: cv2.filter2D(x, -1, CROSS, borderType=edge),
    }
