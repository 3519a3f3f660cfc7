"""Two reports side by side: ``python -m bench.compare OLD.json NEW.json`` fails where something became slower.

Only gpuprims' own rows decide. A row is slower when its time grew by more than the band, and faster when it shrank by
as much; the band is widened to twice the noise that either run had of that row. Where both reports have limits, times
are scaled by them first, so that a machine that is slower today is not taken for a kernel that is.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .results import Report, ReportError, load, row_key
from .tables import seconds, text_table

BAND = 0.1


@dataclass(frozen=True)
class Change:
    """A row of both reports: its label, the times, how many times the old one the new is, and the band about 1."""

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
    """Return what became of each of gpuprims' rows that both reports have.

    Raises
    ------
    ReportError
        They are of different devices, or have no row in common.
    """
    for key in ("name", "backend", "platform"):
        if old["device"][key] != new["device"][key]:
            raise ReportError(f"compare: one device's reports; got {old['device'][key]!r} and {new['device'][key]!r}")
    before = {row_key(row): row for row in old["rows"] if row["ours"]}
    pairs = [(before[row_key(row)], row) for row in new["rows"] if row["ours"] and row_key(row) in before]
    if not pairs:
        raise ReportError("compare: a row that both reports have; got none")
    return [_change(one, other, _drift(old, new, one), band) for one, other in pairs]


def _drift(old: Report, new: Report, row: dict[str, Any]) -> float:
    """Return how many times as fast the new session's memory is, for rows that it bounds."""
    limits = [report["limits"].get(row["limit"], {}).get("bytes_per_s") for report in (old, new)]
    return limits[1] / limits[0] if row["fraction"] is not None and all(limits) else 1.0


def _change(old: dict[str, Any], new: dict[str, Any], drift: float, band: float) -> Change:
    noise = 2 * max(old["spread"], new["spread"])
    times = old["device_s"], new["device_s"]
    return Change(f"{new['label']}, {new['contender']}", *times, times[1] * drift / times[0], max(band, noise))


def told(found: Sequence[Change], *, everything: bool = False) -> list[str]:
    """Return a table of what changed, and how many did not."""
    moved = [change for change in found if change.word or everything]
    rows = [
        (c.label, seconds(c.old), seconds(c.new), f"{c.ratio:.2f}", f"{c.band:.2f}", c.word)
        for c in sorted(moved, key=lambda change: -change.ratio)
    ]
    same = len(found) - sum(bool(change.word) for change in found)
    lines = text_table(("gpuprims' rows", "old", "new", "new / old", "band", ""), rows) if rows else []
    return [*lines, f"{same} of {len(found)} within the band"]


def compare(old: Path, new: Path, band: float = BAND) -> int:
    """Print what changed; returns 1 where something became slower beyond the band."""
    found = changes(load(old), load(new), band)
    print("\n".join(told(found)))
    return int(any(change.word == "slower" for change in found))


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare two files; returns the exit status: 1 beyond the band, 2 for files that cannot be compared."""
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
