"""Threads of the host's BLAS."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

_BLAS = cache(ThreadpoolController)  # finds the libraries, which takes milliseconds


def one_thread() -> AbstractContextManager[Any]:
    """Limit BLAS to the calling thread: for small products, threads wait for each other longer than they compute."""
    limit: AbstractContextManager[Any] = _BLAS().limit(limits=1)
    return limit
