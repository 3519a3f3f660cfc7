"""Calls that cover the texts of the kernels of stencil; see kernel_calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from idle_arrays import resident

import gpuprims
from gpuprims import ndimage
from gpuprims.primitives.stencil.calls import run


def filtered(name: str, x: Any, argument: Any, device: gpuprims.Device, variant: str | None, **how: Any) -> Any:
    """Call a filter of ndimage, which takes no variant, by a variant."""
    bound = getattr(ndimage, name).__wrapped__(x, argument, device=device, **how)
    (request,) = bound.requests
    return run(bound.call.operands, request, None, variant)


_GAUSS = np.exp(-(np.arange(-4, 5) ** 2) / 4)
STENCILS: dict[str, Callable[..., Any]] = {
    "weights, in every mode": lambda **where: [
        gpuprims.stencil(resident(64 * 96).reshape(64, 96), np.arange(9).reshape(3, 3), mode=mode, cval=1, **where)
        for mode in ("nearest", "reflect", "mirror", "wrap", "constant")
    ],
    "every dtype, and channels": lambda **where: [
        gpuprims.stencil(resident(64 * 96, dtype=dtype).reshape(16, 96, 4), np.eye(3), channel_axis=-1, **where)
        for dtype in ("b1", "u1", "i2", "f2", "i8", "f8")
    ],
    "a function": lambda **where: gpuprims.stencil(
        resident(64 * 96, dtype="u1").reshape(64, 96), lambda n: np.maximum(n[-1, 2], n[0, 0]), **where
    ),
    "two steps": lambda **where: gpuprims.stencil(resident(64 * 96).reshape(64, 96), np.outer(_GAUSS, _GAUSS), **where),
    "twice": lambda **where: [
        gpuprims.stencil(
            resident(64 * 96, dtype=dtype).reshape(16, 96, 4),
            np.ones((3, 3), int),
            channel_axis=-1,
            iterations=2,
            **where,
        )
        for dtype in ("u1", "f4")
    ],
    "sums of 64-bit integers, and cut floats": lambda **where: [
        gpuprims.stencil(resident(64 * 96, dtype=dtype).reshape(64, 96), weights, **where)
        for dtype in ("u4", "i8")
        for weights in (np.arange(9).reshape(3, 3), np.arange(9).reshape(3, 3) - 0.5)
    ],
    "many weights": lambda **where: gpuprims.stencil(
        resident(64 * 96).reshape(64, 96), np.random.default_rng(0).random((15, 15)), **where
    ),
    "ranks, and sums that are rounded": lambda **where: [
        filtered(name, resident(64, 96, dtype=dtype), argument, **where)
        for name, argument in (("median_filter", 3), ("maximum_filter", (3, 4)), ("gaussian_filter1d", 0.4))
        for dtype in ("b1", "u1", "f2", "f4")
    ],
}


LONG_ROWS_OF_STENCILS: dict[str, Callable[..., Any]] = {
    "rows of every length, dtype and mode": lambda **where: [
        gpuprims.stencil(resident(*shape, dtype=dtype), np.ones(length), mode=mode, cval=1, **where)
        for dtype in ("u1", "f2", "f4", "f8")
        for shape in ((5000,), (3, 40, 96))
        for length, mode in list[Any]([(41, "wrap"), (61, "constant"), (701, "reflect")])
    ],
    "zeros": lambda **where: gpuprims.stencil(resident(300), np.arange(-40, 41), dtype="f8", **where),
}


COLUMNS_OF_STENCILS: dict[str, Callable[..., Any]] = {
    "columns of every length, dtype and mode": lambda **where: [
        gpuprims.stencil(resident(64 * 96, dtype=dtype).reshape(64, 96), np.ones((length, 1)), mode=mode, **where)
        for dtype in ("u1", "f2", "f4", "f8")
        for length, mode in list[Any]([(3, "wrap"), (31, "constant")])
    ],
    "many weights": lambda **where: gpuprims.blur(resident(96, 64), "gaussian", sigma=(20, 0.1), **where),
}

VOLUMES_OF_STENCILS: dict[str, Callable[..., Any]] = {
    "every mode": lambda **where: [
        filtered("gaussian_filter", resident(9, 40, 68), 1, mode=mode, cval=2, **where)
        for mode in ("nearest", "reflect", "mirror", "wrap", "constant")
    ],
    "every dtype, and rows that begin anywhere": lambda **where: [
        filtered("uniform_filter", resident(7, 9, 97, dtype=dtype)[..., start:], (5, 4, 7), output=result, **where)
        for start in (0, 1)
        for dtype, result in (("u1", "f4"), ("i2", "f2"), ("f2", "f2"), ("f8", "f8"), ("i8", "f8"))
    ],
    "many weights": lambda **where: filtered("gaussian_filter", resident(20, 20, 40), 2, **where),
}

PRODUCTS_OF_STENCILS: dict[str, Callable[..., Any]] = {
    "every mode": lambda **where: [
        gpuprims.blur(resident(64, 96), "box", size=21, mode=mode, **where)
        for mode in ("nearest", "reflect", "mirror", "wrap", "constant")
    ],
    "every dtype, and channels": lambda **where: [
        gpuprims.stencil(resident(16, 96, 4, dtype=dtype), np.ones((25, 31)), channel_axis=-1, **where)
        for dtype in ("u1", "i2", "f2", "i8", "f8")
    ],
    "rows that begin anywhere": lambda **where: gpuprims.blur(resident(64, 97)[:, 1:], "gaussian", sigma=4, **where),
}
