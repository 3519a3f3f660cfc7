"""What a profile has seen."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Seen:
    """Something that a call did. Times are seconds; ``start`` counts from the begin of the profile."""

    call: str  # such as reduce(float32[1000])
    number: int  # of the call; no other call has it
    device: str
    thread: str
    start: float
    seconds: float


@dataclass(frozen=True)
class Phase:
    """A numbered step of a kernel: clock ticks of the first work-items of groups, and their share of all steps'."""

    name: str  # such as "2. Fold the tile"
    ticks: int
    share: float


def phases_of(ticks: dict[str, int]) -> tuple[Phase, ...]:
    """Return the phases of a launch."""
    whole = max(sum(ticks.values()), 1)
    return tuple(Phase(name, count, count / whole) for name, count in ticks.items())


@dataclass(frozen=True)
class Launch(Seen):
    """A kernel's run on a device, by the device's clock."""

    kernel: str
    nbytes: int  # of the arrays that the launch reads and writes, each counted whole
    prepared: int  # the same for launches that differ in nothing but their arrays
    host_start: float  # when the host started it, and how long that took
    host_seconds: float
    limit: float | None  # bytes per second of a copy on the device; None if there was no room to measure it
    in_cache: bool  # the arrays fit in the device's cache
    phases: tuple[Phase, ...] = ()  # with counters=True, of kernels that a compiler made

    @property
    def rate(self) -> float:
        """Bytes per second."""
        return rate(self.nbytes, self.seconds)

    @property
    def fraction(self) -> float | None:
        """The rate as a fraction of a copy's."""
        return None if self.limit is None else self.rate / self.limit


@dataclass(frozen=True)
class Copy(Seen):
    """A copy between host and device, by the host's clock.

    An ``overlapping`` copy ran beside other work, and its time includes waits for that work.
    """

    direction: str  # "to device" or "to host"
    nbytes: int
    overlapping: bool

    @property
    def rate(self) -> float:
        """Bytes per second."""
        return rate(self.nbytes, self.seconds)


@dataclass(frozen=True)
class Compile(Seen):
    """A kernel that a call needed for the first time in this process."""

    kernel: str
    source: str  # "compiler", or "disk" for a binary of the cache


def rate(nbytes: int, seconds: float) -> float:
    """Return bytes per second; no clock tells less than a nanosecond."""
    return nbytes / max(seconds, 1e-9)
