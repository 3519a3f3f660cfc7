"""Stencils, blurs, filters and products with sparse matrices of a fingerprint."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gpuprims import ndimage
from gpuprims.primitives.csr import csr_product
from gpuprims.primitives.stencil import stencil
from gpuprims.primitives.stencil.blur import blur
from gpuprims.primitives.stencil.convolve import convolve
from gpuprims.testing.fingerprints.data import FLOATS, Data

_PRODUCT = np.outer([0.1, 0.7, 0.3], [0.2, 0.9, 0.4, 0.8, 0.1])
_UNEVEN = _PRODUCT + np.eye(3, 5) / 7
_MODES = ("nearest", "reflect", "mirror", "wrap", "constant")


def calls(data: Data) -> Iterator[tuple[str, Any]]:
    """Yield the names and results of calls."""
    for dtype in FLOATS[: data.some(2, 1)]:
        yield from _stencils(data, dtype)
        yield from _products(data, dtype)


def _stencils(data: Data, dtype: str) -> Iterator[tuple[str, Any]]:
    x, how = data.numbers((data.some(61, 13), data.some(203, 21)), dtype), _how(data)
    yield f"blur gaussian {dtype}", blur(x, "gaussian", sigma=1.2, **how)
    if data.small:
        return
    yield f"stencil of a product {dtype}", stencil(x, _PRODUCT, **how)
    for mode in _MODES:
        beyond: Any = {"mode": mode, "cval": 0.3 if mode == "constant" else 0}
        yield f"stencil {mode} {dtype}", stencil(x, _UNEVEN, **beyond, **how)
        yield f"blur gaussian {mode} {dtype}", blur(x, "gaussian", sigma=2, **beyond, **how)
    for kind in ("cross", "box"):
        yield f"blur {kind} {dtype}", blur(x, kind=kind, **how)
    yield f"stencil twice {dtype}", stencil(x, _UNEVEN, iterations=2, **how)
    yield f"stencil by weights {dtype}", stencil(x, np.arange(-97, 98).reshape(13, 15) / 64, **how)
    yield f"stencil of a function {dtype}", stencil(x, lambda n: np.exp(n[0, 1]) * n[1, 0] - n[-1, 0] / 3, **how)
    yield f"gaussian_filter {dtype}", ndimage.gaussian_filter(x, 1.5, **how)
    yield f"uniform_filter {dtype}", ndimage.uniform_filter(x, 5, **how)
    yield f"sobel {dtype}", ndimage.sobel(x, **how)
    yield f"convolve {dtype}", convolve(x.reshape(-1), [0.1, 0.2, 0.7, 0.4], **how)


def _how(data: Data) -> dict[str, Any]:
    return {"device": data.device}


def _products(data: Data, dtype: str) -> Iterator[tuple[str, Any]]:
    columns, how = 57, _how(data)
    for rows, most in ((40, 9),) if data.small else ((900, 9), (70, 300)):
        lengths = data.numbers(rows, "int32", "integers", low=0, high=most)
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        stored = int(indptr[-1])
        indices = data.numbers(stored, "int32", "integers", key=29, low=0, high=columns)
        given = data.numbers(stored, dtype, key=30), indices, indptr
        for outputs in ((),) if data.small else ((), (3,)):
            dense = data.numbers((columns, *outputs), dtype, key=31)
            yield f"csr_product {rows} {outputs} {dtype}", csr_product(*given, dense, **how)
