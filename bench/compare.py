"""Compare two reports: ``python -m bench.compare OLD.json NEW.json`` fails if a row became slower.

Only rows of gpuprims decide. A row is slower if its time grew by more than the band, and faster if it shrank by more.
The band is at least twice the noise of the row in either run. If both reports have limits, times are first scaled by
them, so that a slower machine does not look like a slower kernel.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuprims.cli.terminal import show

from .results import Report, ReportError, load, row_key
from .tables import aligned, seconds

if TYPE_CHECKING:
    from rich.console import RenderableType

BAND = 0.1


@dataclass(frozen=True)
class Change:
    """A row of both reports: its label, both times, the ratio of new to old, and the band around 1."""

    label: str
    old: float
    new: float
    ratio: float
    band: float

    @property
    def word(self) -> str:
        if self.ratio > 1 + self.band:
            return "slower"
        return "faster" if self.ratio < 1 / (1 + self.band) else ""


def changes(old: Report, new: Report, band: float = BAND) -> list[Change]:
    """Return the change of each row of gpuprims that both reports have.

    Raises
    ------
    ReportError
        The reports are of different devices, or have no row in common.
    """
    check_devices(old, new)
    before = {row_key(row): row for row in old["rows"] if row["ours"]}
    pairs = [(before[row_key(row)], row) for row in new["rows"] if row["ours"] and row_key(row) in before]
    if not pairs:
        raise ReportError("compare: a row that both reports have; got none")
    return [_change(one, other, _drift(old, new, one), band) for one, other in pairs]


def check_devices(old: Report, new: Report) -> None:
    """Raise ReportError if two reports are of different devices."""
    for key in ("name", "backend", "platform"):
        if old["device"][key] != new["device"][key]:
            raise ReportError(f"compare: one device's reports; got {old['device'][key]!r} and {new['device'][key]!r}")


def _drift(old: Report, new: Report, row: dict[str, Any]) -> float:
    """Return the speed of the new session's memory relative to the old one, for rows bound by memory."""
    limits = [report["limits"].get(row["limit"], {}).get("bytes_per_s") for report in (old, new)]
    return limits[1] / limits[0] if row["fraction"] is not None and all(limits) else 1.0


def _change(old: dict[str, Any], new: dict[str, Any], drift: float, band: float) -> Change:
    noise = 2 * max(old["spread"], new["spread"])
    times = old["device_s"], new["device_s"]
    return Change(f"{new['label']}, {new['contender']}", *times, times[1] * drift / times[0], max(band, noise))


def told(found: Sequence[Change], *, everything: bool = False) -> list[RenderableType]:
    """Return a table of the rows that changed, and the number of the others."""
    moved = [change for change in found if change.word or everything]
    rows = [
        (c.label, seconds(c.old), seconds(c.new), f"{c.ratio:.2f}", f"{c.band:.2f}", c.word)
        for c in sorted(moved, key=lambda change: -change.ratio)
    ]
    same = len(found) - sum(bool(change.word) for change in found)
    parts: list[RenderableType] = (
        [aligned(("gpuprims' rows", "old", "new", "new / old", "band", ""), rows)] if rows else []
    )
    return [*parts, f"{same} of {len(found)} within the band"]


def compare(old: Path, new: Path, band: float = BAND) -> int:
    """Print the rows that changed; returns 1 if a row became slower beyond the band."""
    found = changes(load(old), load(new), band)
    show(*told(found))
    return int(any(change.word == "slower" for change in found))


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare two files; returns 1 if a row is slower beyond the band, 2 if the files cannot be compared, else 0."""
    parser = argparse.ArgumentParser(prog="python -m bench.compare", description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--band", type=float, default=BAND, help="part of a time that is noise (0.1)")
    chosen = parser.parse_args(arguments)
    try:
        return compare(chosen.old, chosen.new, chosen.band)
    except ReportError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
