"""A run: the device, its limits, the contenders of each case, and the growing report."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import gpuprims
from gpuprims.core.device import pick_device
from gpuprims.errors import GpuprimsError

from . import results
from .ahead import Delay, delay_of
from .cases import Case, cases, matches
from .clocks import clock_of, timed_device
from .contenders import Contender, contenders, peers_of
from .limits import measure_limits
from .measuring import Arrays, Measured, Times, measure

os.environ["GPUPRIMS_TUNING"] = "off"  # measure the library as it ships

# Seconds of rounds for a case, by default and with --full.
_SECONDS = {False: 0.8, True: 1.5}


@dataclass(frozen=True)
class Options:
    """The options of a run."""

    device: str | None = None
    full: bool = False
    peers: bool = False
    variants: bool = False
    patterns: str | None = None
    out: Path | None = None
    append: bool = False
    commit: str | None = None


# What a report says of its rows.
_OF_ROWS = ("commit", "date", "full")


class Session:
    """The state that all benchmarks of a run share."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._of_rows: dict[str, Any] = {}
        self.user_device = pick_device(None, device_asked_for(options.device))
        self.report = results.new_report(self.user_device, full=options.full, commit=options.commit)
        self.path = options.out and options.out / f"{results.slug(self.report)}.json"
        if options.append and self.path and self.path.exists():
            old = results.load(self.path)
            # An old report's series are those of its date.
            dates = dict.fromkeys(old["series"], old["date"]) | old.get("series_dates", {})
            self.report |= {key: old[key] for key in ("series", "limits", "absent")} | {"series_dates": dates}
            when = f"{old['date']}, commit {old['commit'] or 'unknown'}"
            self.report["rows"] = [{"measured": when} | row for row in old["rows"]]  # earlier ones say it already
            # Until a row is measured, the report says when its rows were; series have dates of their own.
            self._of_rows = {key: self.report[key] for key in _OF_ROWS}
            self.report |= {key: old[key] for key in _OF_ROWS}
        self._last: tuple[str, Measured] | None = None
        self._limits: dict[str, Any] = {}
        self._fresh: set[Any] = set()  # keys of the rows of this run

    @functools.cached_property
    def device(self) -> gpuprims.Device:
        """The same device with a profiling queue; host overheads are measured without one."""
        return timed_device(self.user_device)

    @functools.cached_property
    def clock(self) -> Any:
        return clock_of(self.device)

    @functools.cached_property
    def delay(self) -> Delay | None:
        return delay_of(self.device, self.clock)

    @functools.cached_property
    def arrays(self) -> Arrays:
        return Arrays(self.device)

    def look_at_limits(self, *, again: bool = False) -> None:
        """Measure the memory's speed before the first case and after the last; the faster time counts.

        Rows of this run use this limit; rows of an earlier run keep the limit of that run.
        """
        known = self._limits
        if known and not again:
            return
        found = measure_limits(self.device, self.clock, full=self.options.full)
        self._limits = self.report["limits"] = results.faster_limits(known, found)
        if self.options.peers:
            self.report["absent"] |= peers_of(self.device)[1]
        for row in self.report["rows"]:
            if row["limit"] and results.row_key(row) in self._fresh:
                row["fraction"] = row["gb_per_s"] * 1e9 / self._limits[row["limit"]]["bytes_per_s"]
        self.save()

    def finish(self) -> None:
        """End the run."""
        if self._limits:
            self.look_at_limits(again=True)

    def asked(self, label: str) -> bool:
        """Return True if the options select a benchmark."""
        return matches(label, self.options.patterns)

    def pairs(self) -> list[tuple[Case, Contender]]:
        """Return every contender of every selected case, case by case."""
        how = {"peers": self.options.peers, "variants": self.options.variants}
        return [
            (case, who)
            for case in cases(self.device, full=self.options.full)
            if self.asked(case.label)
            for who in contenders(self.device, case, **how)
        ]

    def measured(self, case: Case) -> Measured:
        """Measure all contenders of a case, unless it was the last one, and report those with right results."""
        if self._last is None or self._last[0] != case.label:
            self._last = case.label, self._measure(case)
        return self._last[1]

    def _measure(self, case: Case) -> Measured:
        self.look_at_limits()
        how = {"peers": self.options.peers, "variants": self.options.variants}
        who = contenders(self.device, case, **how)
        seconds = _SECONDS[self.options.full]
        found = measure(self.device, self.clock, self.delay, case, who, self.arrays, seconds)
        work = case.work
        for name, times in found.times.items():
            self.add(
                times,
                case=work.name, primitive=work.primitive, label=case.label, contender=name, size=case.size,
                dtype=work.inputs.dtype, spread_of=work.inputs.spread, nbytes=case.nbytes, steps=work.steps,
                limit=work.limit,
            )  # fmt: skip
        for name, error in found.failures.items():
            said = " ".join(str(error).split())[:200] or type(error).__name__
            self.report["absent"][f"{name}, {case.label}"] = f"{name} is not timed, {case.label}: {said}"
        self.save()
        return found

    def add(
        self, times: Times, *, case: str, contender: str, size: int, primitive: str = "host", label: str = "",
        dtype: str = "float32", spread_of: str = "uniform", nbytes: float = 0, steps: int = 1, limit: str = "",
    ) -> None:  # fmt: skip
        """Add a row."""
        rate, limits = nbytes / times.device_s if nbytes else None, self.report["limits"]
        row = {
            "case": case,
            "primitive": primitive,
            "label": label or f"{case}, {size:,} {dtype}",
            "contender": contender,
            "ours": contender.startswith("gpuprims"),
            "size": size,
            "dtype": dtype,
            "distribution": spread_of,
            "bytes": nbytes,
            "steps": steps,
            "device_s": times.device_s,
            "wall_s": times.wall_s,
            "clock": times.clock,
            "rounds": len(times.wall),
            "spread": times.spread,
            "gb_per_s": rate and rate / 1e9,
            "limit": limit,
            "fraction": rate / limits[limit]["bytes_per_s"] if rate and limit else None,
        }
        self.report |= self._of_rows
        self._fresh.add(results.row_key(row))
        self.report["rows"] = results.merge_rows(self.report["rows"], [row])

    def add_series(self, name: str, points: Iterable[dict[str, Any]]) -> None:
        """Store the points of a figure in the report, in place of earlier ones."""
        self.report["series"][name] = list(points)
        self.report.setdefault("series_dates", {})[name] = results.today()
        self.save()

    def save(self) -> None:
        """Write the report if the options name a folder."""
        if self.path:
            results.write(self.path, self.report)


def device_asked_for(option: str | None) -> str | None:
    """Return the spec of ``--device``, or of the environment."""
    return option or os.environ.get("GPUPRIMS_BENCH_DEVICE")


SESSION = pytest.StashKey[Session | str]()


def label_of(item: pytest.Item) -> str | None:
    """Return the label of a benchmark, which ``--cases`` selects by; None for one that is no case."""
    if (marker := item.get_closest_marker("label")) is not None:
        return str(marker.args[0])
    case = getattr(item, "callspec", None) and item.callspec.params.get("case")  # type: ignore[attr-defined]  # of tests with parameters alone
    return case.label if isinstance(case, Case) else None


def open_session(options: Options) -> Session | str:
    """Return a session, or the reason for its absence."""
    try:
        return Session(options)
    except (GpuprimsError, results.ReportError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return str(error)
