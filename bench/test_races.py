"""The report's cases on the device of the run: gpuprims beside its peers, in rounds. See ``suite/`` for plain ones."""

from __future__ import annotations

from collections.abc import Callable

from .cases import Case
from .contenders import Contender


def test_peer(peer_is_there: Callable[[str], None], peer: str) -> None:
    peer_is_there(peer)


def test_case(race_of: Callable[[Case, Contender], None], case: Case, contender: Contender) -> None:
    race_of(case, contender)
