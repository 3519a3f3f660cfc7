"""One call after another: check gpuprims and its peers, then time them in the same rounds."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

import gpuprims
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.warm_calls import WarmCalls
from gpuprims.errors import GpuprimsError
from gpuprims.primitives.histogram.plan import HistogramPlan

from ..clocks import Clock, HostClock
from ..contenders import to_host
from ..measuring import Racer, race
from . import calls, data, oracles, peers
from .calls import Call
from .floor import Limits, floor_s, least_fmas, moved_bytes

# Calls that take longer than this many seconds are timed once.
_LONG = 1.0
# Peers may round so many times more than gpuprims: some add in float16 or cut between passes.
_SLACK = 10


@dataclass
class Row:
    """The results of one call.

    ``refused`` holds gpuprims' refusal, and ``wrong`` the first difference from the right result, or an error that is
    no refusal; both are empty for a call that was timed. Seconds are of consecutive calls, by the device's clock where
    it has one, ``wall_s`` of a single call with the wait for its end, and ``first_s`` of the first, which compiles what
    no call before it did. ``peers`` holds the seconds of each peer, and ``absent`` the reason why another has none.
    """

    number: int
    primitive: str
    text: str
    wrong: str = ""
    refused: str = ""
    variants: str = ""
    device_s: float = 0
    wall_s: float = 0
    first_s: float = 0
    floor_s: float = 0
    bytes: int = 0
    fmas: int = 0
    peers: dict[str, float] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)

    @property
    def timed(self) -> bool:
        return not self.wrong and not self.refused

    @property
    def fraction(self) -> float:
        """The fraction of the limit: the floor over our time."""
        return self.floor_s / self.device_s

    @property
    def best(self) -> tuple[str, float] | None:
        """The fastest peer, and its time over ours."""
        if not self.peers or not self.timed:
            return None
        name = min(self.peers, key=lambda peer: self.peers[peer])
        return name, self.peers[name] / self.device_s


class Bench:
    """A device with its clock, limits and peers."""

    def __init__(self, device: gpuprims.Device, clock: Clock, limits: Limits, seconds: float) -> None:
        self.device, self.clock, self.limits, self.seconds = device, clock, limits, seconds
        self.peers, self.absent = peers.peers_of(device)

    def rows(self, drawn: Iterable[tuple[Call, Call | None]]) -> Iterator[Row]:
        """Yield what each call shows, with its sample; its arrays are released before the next."""
        for call, sample in drawn:
            yield self.row(call, sample)
            self._release()

    def row(self, call: Call, sample: Call | None = None) -> Row:
        """Check and time a call and its peers.

        With ``sample``, a smaller call like it, that one is checked in its place: a large one's check takes minutes.
        """
        with gpuprims.use_device(self.device):  # of arrays of the host
            return self._row(call, sample)

    def _row(self, call: Call, sample: Call | None) -> Row:
        row = Row(call.number, call.primitive, call.text)
        checked = sample or call
        stored = data.stored(checked)
        views = data.views(checked, stored)
        right = oracles.expected(checked, views)
        try:
            resident = data.on_device(self.device, checked, stored)
            host, taken = self._checked(row, checked, resident, right)
        except GpuprimsError as error:
            row.refused = _short(error)
            return row
        except Exception as error:  # a fault of gpuprims, which must not end the run
            row.wrong = _short(error)
            return row
        rivals = self._rivals(checked, row, views, resident, right)
        if sample is not None:
            del resident, views
            resident = data.on_device(self.device, call, data.stored(call, repeated=True))
            host, taken = self._noted(row, self._run_of(call, resident))
            rivals = {name: (self._rival(call, name, resident), taken) for name in rivals}
        result_bytes = sum(one.nbytes for one in (host if isinstance(host, tuple) else (host,)))
        row.bytes, row.fmas = moved_bytes(call, result_bytes), least_fmas(call)
        row.floor_s = floor_s(call, result_bytes, self.limits)
        del host
        self._time(row, self._run_of(call, resident), taken, rivals)
        return row

    def _run_of(self, call: Call, resident: list[Any]) -> Callable[[], Any]:
        return partial(calls.way_of(call), *resident)

    def _rival(self, call: Call, name: str, arrays: list[Any]) -> Callable[[], Any]:
        peer = self.peers[name]
        return partial(peer.way(call), [peer.taken(one) for one in arrays])

    def _checked(self, row: Row, call: Call, resident: list[Any], right: Any) -> tuple[Any, float]:
        """Return a call's result on the host, and its seconds; raise if it is wrong."""
        run = self._run_of(call, resident)
        _, row.first_s = self._once(run)
        result, taken = self._noted(row, run)
        host = to_host(self.device, result)
        oracles.check(call, host, right)
        return host, taken

    def _noted(self, row: Row, run: Callable[[], Any]) -> tuple[Any, float]:
        """Run a call once, and note its variants."""
        with variants_seen() as seen:
            result, taken = self._once(run)
        row.variants = ", ".join(dict.fromkeys(seen))
        return result, taken

    def _rivals(
        self, call: Call, row: Row, views: list[Any], resident: list[Any], right: Any
    ) -> dict[str, tuple[Callable[[], Any], float]]:
        """Return the peers with right results, and the seconds of one call of each."""
        found: dict[str, tuple[Callable[[], Any], float]] = {}
        for name, peer in self.peers.items():
            try:
                run = self._rival(call, name, views if peers.on_host(name) else resident)
                with np.errstate(all="ignore"):
                    run()
                    result, taken = self._once(run)
                oracles.check(call, to_host(self.device, peer.given(result)), right, slack=_SLACK)
            except Exception as error:  # whatever stops a peer is its own; the report says what it was
                row.absent[name] = _short(error)
                continue
            found[name] = run, taken
        return found

    def _once(self, run: Callable[[], Any]) -> tuple[Any, float]:
        """Return a result, and the seconds of the call with the wait for it."""
        self.device.synchronize()
        start = time.perf_counter()
        result = run()
        self.device.synchronize()
        return result, time.perf_counter() - start

    def _time(
        self, row: Row, run: Callable[[], Any], taken: float, rivals: dict[str, tuple[Callable[[], Any], float]]
    ) -> None:
        """Time a call and its peers in the same rounds, those that take long by the call that was checked."""
        waited = HostClock(self.device.synchronize)
        ours = "gpuprims"
        spent = {ours: (run, taken)} | rivals
        racers = {name: Racer(call, self.clock, waited) for name, (call, seconds) in spent.items() if seconds <= _LONG}
        with np.errstate(all="ignore"):
            times = race(racers, self.seconds) if racers else {}
        device_s = {name: times[name].device_s if name in times else seconds for name, (_, seconds) in spent.items()}
        row.device_s, row.wall_s = device_s[ours], times[ours].wall_s if ours in times else taken
        row.peers = {name: device_s[name] for name in rivals}

    def _release(self) -> None:
        """Free what the last call left in caches of memory."""
        gc.collect()
        if self.device.backend == "cuda":
            import cupy

            cupy.get_default_memory_pool().free_all_blocks()


@contextmanager
def variants_seen() -> Iterator[list[str]]:
    """Collect the primitive and the variant of each launch in the block."""
    seen: list[str] = []

    def noting(method: Any) -> Callable[..., Any]:
        def run(plan: LaunchPlan, *given: Any) -> Any:
            seen.append(f"{plan.chosen.primitive}/{plan.variant.name}")
            return method(plan, *given)

        return run

    with (
        patch.object(WarmCalls, "find", lambda *given: None),
        patch.object(WarmCalls, "key_of", staticmethod(lambda keywords, arrays, device=None: None)),
        patch.object(WarmCalls, "look_up", staticmethod(lambda runs, keywords, arrays, device: (None, arrays, None))),
        patch.object(LaunchPlan, "_start", noting(LaunchPlan._start)),
        patch.object(HistogramPlan, "count", noting(HistogramPlan.count)),
    ):
        yield seen


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
