"""``gpuprims bench --landscape``: draw calls, check and time them, report."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import gpuprims
from gpuprims.cli.terminal import progress
from gpuprims.core.device import pick_device
from gpuprims.errors import ArgumentError

from .. import results
from ..clocks import Clock, HostClock, clock_of, timed_device
from .calls import Call
from .dice import Bounds
from .draw import draw
from .floor import Limits, measured_limits
from .known import Known, known
from .measure import Bench, Row
from .report import as_data, known_lines, lines, picture, summary_of

# Bytes of a call's first operand where the options name none.
_ON_GPUS, _ON_CPUS = Bounds(2**20, 2**28), Bounds(2**18, 2**26)


def run(chosen: argparse.Namespace) -> int:
    """Measure the landscape and return the exit status: 1 if a result is wrong."""
    os.environ["GPUPRIMS_TUNING"] = "off"  # measure the library as it ships
    user_device = pick_device(None, chosen.device or os.environ.get("GPUPRIMS_BENCH_DEVICE"))
    bounds = _bounds(chosen, user_device)
    if chosen.calls < 1 or chosen.seed < 0 or (chosen.only is not None and chosen.only < 0):
        given = f"--calls {chosen.calls}, --seed {chosen.seed}, --only {chosen.only}"
        raise ArgumentError(f"bench: a positive number of calls, and a seed and a number from 0; got {given}")
    device, clock = _timed(user_device)
    limits = measured_limits(device, clock, chosen.seconds)
    bench = Bench(device, clock, limits, chosen.seconds)
    cliffs = _cliffs(chosen)
    rows: list[Row] = []
    report = _new_report(chosen, user_device, bench, bounds)
    kind = "known" if cliffs else "landscape"
    path: Path = (chosen.out or Path("gpuprims-bench")) / f"{kind}-{results.slug(report)}.json"
    drawn_calls = [(cliff.call, cliff.sample) for cliff in cliffs] or _random(chosen, bounds)
    with progress(1 if chosen.only is not None else len(cliffs) or chosen.calls) as tell:
        for row in bench.rows(drawn_calls):
            rows.append(row)
            report["rows"].append(as_data(row))
            results.write(path, report | {"summary": summary_of(rows)})
            tell(len(rows), f"{len(rows)} calls, {row.primitive}")
    print(*_opening(chosen, user_device, clock.name, bounds, limits), *bench.absent.values(), "", sep="\n")
    print(*(known_lines(cliffs, rows) if cliffs else lines(rows)), sep="\n")
    title = f"{device.capabilities.name}, {device.backend}, seed {chosen.seed}, {len(rows)} calls"
    drawn = picture(rows, title, path.with_suffix(".png"))
    print(f"\nmeasured: {path}", "" if drawn else " (no picture: matplotlib is not installed)", sep="")
    return 1 if any(row.wrong for row in rows) else 0


def _timed(device: gpuprims.Device) -> tuple[gpuprims.Device, Clock]:
    """Return the device and its clock; a CPU's calls return when they are done, so the host's clock times all alike."""
    if device.capabilities.kind == "gpu":
        device = timed_device(device)
        return device, clock_of(device)
    return device, HostClock(device.synchronize)


def _cliffs(chosen: argparse.Namespace) -> list[Known]:
    """Return the known calls, if they are asked for."""
    found = known() if chosen.known else []
    if not found or chosen.only is None:
        return found
    if chosen.only >= len(found):
        raise ArgumentError(f"bench: --only below {len(found)}, the number of known calls; got {chosen.only}")
    return [found[chosen.only]]


def _random(chosen: argparse.Namespace, bounds: Bounds) -> Iterator[tuple[Call, None]]:
    for number in range(chosen.calls) if chosen.only is None else [chosen.only]:
        yield draw(chosen.seed, number, bounds), None


def _bounds(chosen: argparse.Namespace, device: gpuprims.Device) -> Bounds:
    usual = _ON_GPUS if device.capabilities.kind == "gpu" else _ON_CPUS
    least = usual.least if chosen.least_bytes is None else chosen.least_bytes
    most = usual.most if chosen.most_bytes is None else chosen.most_bytes
    if not 1 <= least <= most:
        raise ArgumentError(f"bench: 1 <= --least-bytes <= --most-bytes; got {least} and {most}")
    return Bounds(least, most)


def _opening(
    chosen: argparse.Namespace, device: gpuprims.Device, clock: str, bounds: Bounds, limits: Limits
) -> list[str]:
    rates = ", ".join(f"{rate / 1e9:,.0f} GFMA/s of {dtype}" for dtype, rate in limits.fmas_per_s.items())
    how = f"--seed {chosen.seed} --least-bytes {bounds.least} --most-bytes {bounds.most}"
    how = "--known" if chosen.known else how
    return [
        f"{device.spec}, {device.capabilities.name}, {device.capabilities.driver}, {clock}",
        f"limits: copy {limits.bytes_per_s / 1e9:,.1f} GB/s, {rates}, launch {limits.launch_s * 1e6:.1f} us",
        f"one call again: gpuprims bench --landscape --device {device.spec} {how} --only NUMBER",
    ]


def _new_report(chosen: argparse.Namespace, device: gpuprims.Device, bench: Bench, bounds: Bounds) -> results.Report:
    report = results.new_report(device, full=False, commit=chosen.commit)
    report |= {"kind": "landscape", "seed": chosen.seed, "bounds": asdict(bounds), "clock": bench.clock.name}
    return report | {"absent": bench.absent, "limits": asdict(bench.limits)}
