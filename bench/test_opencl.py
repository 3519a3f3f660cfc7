"""Every case on an OpenCL device, beside pyopencl's own arrays and, on a CPU, libraries of the host."""

from __future__ import annotations

from collections.abc import Callable

from .cases import Case
from .contenders import Contender

BACKEND = "opencl"


def test_peer(peer_is_there: Callable[[str], None], peer: str) -> None:
    peer_is_there(peer)


def test_case(tell_case: Callable[[Case, Contender], None], case: Case, contender: Contender) -> None:
    tell_case(case, contender)
