"""The measuring loop: check all contenders of a case, then time them in rounds, so that drift affects all alike."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gpuprims

from .ahead import Delay
from .cases import Case
from .clocks import Clock, HostClock, Span
from .contenders import Contender, to_host

# The least and the most rounds. Calls shorter than _SPAN seconds are timed several at once, at most _MOST_CALLS: for a
# single call the device's events would include the time of its launch. A GPU is kept busy for at most _LEAD seconds
# while such calls gather on its queue.
_LEAST_ROUNDS, _MOST_ROUNDS, _SPAN, _MOST_CALLS, _LEAD = 3, 25, 1e-2, 100, 5e-3


@dataclass
class Times:
    """The times of a contender: seconds of the device per consecutive call, and wall seconds of one call."""

    device: list[float]
    wall: list[float]
    clock: str

    @property
    def device_s(self) -> float:
        return statistics.median(self.device)

    @property
    def wall_s(self) -> float:
        return statistics.median(self.wall)

    @property
    def spread(self) -> float:
        """Half the interquartile range of the device's seconds, relative to their median."""
        if len(self.device) < 4:
            return (max(self.device) - min(self.device)) / 2 / self.device_s
        low, _, high = statistics.quantiles(self.device, n=4)
        return (high - low) / 2 / self.device_s


@dataclass
class Racer:
    """A call to be timed. Several short calls are timed at once, and one by the host's clock alone.

    With a ``delay``, the several calls are launched while the device is kept busy.
    """

    call: Callable[[], Any]
    clock: Clock
    waited: Clock
    delay: Delay | None = None
    calls: int = 1
    lead: float = 0

    def span(self) -> Span:
        """Time it once more."""
        if self.calls == 1:
            return self.clock.span(self.call)
        if self.delay:
            self.delay(self.lead)
        several = self.clock.span(self.call, self.calls)
        return Span(several.device / self.calls, self.waited.span(self.call).wall)


def race(racers: Mapping[str, Racer], seconds: float) -> dict[str, Times]:
    """Time warm calls in rounds for about ``seconds``; each round starts with another call."""
    round_s = 0.0
    for racer in racers.values():
        span = racer.clock.span(racer.call)
        racer.calls = max(1, min(_MOST_CALLS, math.ceil(_SPAN / max(span.wall, 1e-9))))
        racer.lead = min(span.wall * racer.calls, _LEAD)
        round_s += span.wall * (1 + racer.calls if racer.calls > 1 else 1) + (racer.lead if racer.delay else 0)
    rounds = max(_LEAST_ROUNDS, min(_MOST_ROUNDS, int(seconds / round_s)))
    times = {name: Times([], [], racer.clock.name) for name, racer in racers.items()}
    names = list(racers)
    for k in range(rounds):
        for name in names[k % len(names) :] + names[: k % len(names)]:
            span = racers[name].span()
            times[name].device.append(span.device)
            times[name].wall.append(span.wall)
    return times


@dataclass
class Measured:
    """The times of the contenders of a case, or their failures."""

    times: dict[str, Times]
    failures: dict[str, Exception]


class Arrays:
    """The arrays of a case, on the host and on the device; those of the last case are kept."""

    def __init__(self, device: gpuprims.Device) -> None:
        self._device = device
        self._key: tuple[Any, int] | None = None
        self._pair: tuple[list[Any], list[Any]] = ([], [])

    def of(self, case: Case) -> tuple[list[Any], list[Any]]:
        """Return both copies of each array."""
        if self._key != (case.work.inputs, case.size):
            self._pair = ([], [])  # free the old ones before making the next
            host = case.work.inputs.host(case.size)
            self._pair = host, [self._device.asarray(one) for one in host]
            self._key = case.work.inputs, case.size
        return self._pair


def measure(
    device: gpuprims.Device,
    clock: Clock,
    delay: Delay | None,
    case: Case,
    who: Sequence[Contender],
    arrays: Arrays,
    seconds: float,
) -> Measured:
    """Check the contenders of a case against its oracle, then time those with right results."""
    host, resident = arrays.of(case)
    expected = case.work.expected(*host)
    racers, failures = {}, {}
    on_host = HostClock(device.synchronize)
    for contender in who:
        given = host if contender.on_host else resident

        def call(contender: Contender = contender, given: list[Any] = given) -> Any:
            return contender.run(*given)

        try:
            case.work.check(to_host(device, call()), expected)
        except Exception as error:
            failures[contender.name] = error
            continue
        here = contender.on_host
        racers[contender.name] = Racer(call, on_host if here else clock, on_host, None if here else delay)
    return Measured(race(racers, seconds) if racers else {}, failures)


def wall_times(calls: Mapping[str, Callable[[], Any]], rounds: int, wait: Callable[[], None]) -> dict[str, list[float]]:
    """Time single calls in turn, each with the wait for its result, as a user sees them."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for name in calls:
        calls[name]()
    wait()
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            wait()
            times[name].append(time.perf_counter() - start)
    return times
