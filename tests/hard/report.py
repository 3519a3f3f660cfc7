"""The report of a part: counts and failures."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from threading import Lock

_QUOTED = 300


@dataclass
class Report:
    """Counts and failures of one part; threads may share it.

    Parameters
    ----------
    part : str
        Name of the part.
    """

    part: str
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def count(self, what: str, number: int = 1) -> None:
        """Add to a count."""
        with self._lock:
            self.counts[what] += number

    def fail(self, what: str, why: object) -> None:
        """Note a failure."""
        text = f"{what}: {why!r}" if isinstance(why, BaseException) else f"{what}: {why}"
        with self._lock:
            self.failures.append(" ".join(text[:_QUOTED].split()))

    def note(self, text: str) -> None:
        """Add a note for the reader of the counts."""
        with self._lock:
            self.notes.append(text)

    def __str__(self) -> str:
        counted = ", ".join(f"{number:,} {what}" for what, number in self.counts.items()) or "nothing"
        verdict = f"{len(self.failures):,} FAILURES" if self.failures else "no failure"
        lines = [f"{self.part}: {counted}: {verdict}", *(f"  note: {note}" for note in self.notes)]
        return "\n".join([*lines, *(f"  failed: {failure}" for failure in self.failures[:20])])


def resident_memory() -> int:
    """Return this process's resident memory in bytes; 0 if the system does not tell."""
    try:
        with open("/proc/self/statm") as told:
            return int(told.read().split()[1]) * 4096
    except OSError:
        return 0


def available_memory() -> int | None:
    """Return the host's available memory in bytes; None if the system does not tell."""
    try:
        with open("/proc/meminfo") as told:
            return next(int(line.split()[1]) * 1024 for line in told if line.startswith("MemAvailable:"))
    except OSError:
        return None
