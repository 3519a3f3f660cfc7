"""Every case on a CUDA device, beside CuPy, PyTorch, cuda.compute and CUB."""

from __future__ import annotations

from collections.abc import Callable

from .cases import Case
from .contenders import Contender

BACKEND = "cuda"


def test_peer(peer_is_there: Callable[[str], None], peer: str) -> None:
    peer_is_there(peer)


def test_case(tell_case: Callable[[Case, Contender], None], case: Case, contender: Contender) -> None:
    tell_case(case, contender)
