"""The loop that measures: all who do a case are checked, then timed in rounds, so that drift hits all alike."""

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

# Rounds of all at least and at most; calls shorter than a span are timed several at once, so many at most: of a single
# one the device's events would also tell how long the host takes to launch it. And seconds that a GPU is kept busy at
# most until some of them are on its queue.
_LEAST_ROUNDS, _MOST_ROUNDS, _SPAN, _MOST_CALLS, _LEAD = 3, 25, 1e-2, 100, 5e-3


@dataclass
class Times:
    """What a contender took: seconds of the device for a call among others, and of one call that is waited for."""

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
        """Half the distance of the quartiles of the device's seconds, as a part of their median."""
        if len(self.device) < 4:
            return (max(self.device) - min(self.device)) / 2 / self.device_s
        low, _, high = statistics.quantiles(self.device, n=4)
        return (high - low) / 2 / self.device_s


@dataclass
class Racer:
    """A call, ready to be timed; short ones are timed several at once, and one by the host's clock alone.

    With a ``delay``, the several are launched while the device is kept busy.
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
    """Time calls, which have been made before, in rounds for about so many seconds; each begins with another one."""
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
    """What became of the contenders of a case: times, or what was wrong."""

    times: dict[str, Times]
    failures: dict[str, Exception]


class Arrays:
    """What a case takes, on the host and on the device, and what it gives; the last asked for is kept."""

    def __init__(self, device: gpuprims.Device) -> None:
        self._device = device
        self._key: tuple[Any, int] | None = None
        self._pair: tuple[list[Any], list[Any]] = ([], [])

    def of(self, case: Case) -> tuple[list[Any], list[Any]]:
        """Return both copies of each array."""
        if self._key != (case.work.inputs, case.size):
            self._pair = ([], [])  # before the next are made
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
    """Check the contenders of a case against its oracle, then time those that are right."""
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
    """Time calls that are waited for, one of each in turn: what a user's line takes."""
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
