"""Sorts of a fingerprint."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuprims.primitives.sort import argsort, sort
from gpuprims.testing.fingerprints.data import Data


def calls(data: Data) -> Iterator[tuple[str, Any]]:
    """Yield the names and results of calls."""
    for dtype in ("float32", "int64"):
        how: dict[str, Any] = {"kind": "integers", "low": -500, "high": 500} if dtype == "int64" else {}
        x = data.numbers(data.some(20_011, 301), dtype, **how)
        yield f"sort {dtype}", sort(x, device=data.device)
        if not data.small:
            yield f"sort descending {dtype}", sort(x, descending=True, device=data.device)
            yield f"argsort {dtype}", argsort(x, device=data.device)
