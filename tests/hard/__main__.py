"""Run the parts, print a line of counts for each, and exit with 1 if anything failed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

import gpuprims

from .faults import fail_allocations, fail_builds, kill_builds, share_a_cold_cache
from .fuzz import fuzz_expressions, fuzz_models
from .large import large
from .report import Report
from .soak import soak

PARTS = ("soak", "fuzz", "faults", "large")


def options(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.hard", description=__doc__)
    parser.add_argument("--parts", default=",".join(PARTS), help="some of them, comma-separated; all by default")
    parser.add_argument("--devices", help="specs, comma-separated; every device by default")
    parser.add_argument("--seconds", type=float, default=600, help="duration of the soak")
    parser.add_argument("--threads", type=int, default=4, help="threads of the soak")
    parser.add_argument("--expressions", type=int, default=100_000)
    parser.add_argument("--models", type=int, default=1000, help="damaged files of models")
    parser.add_argument("--faults", type=int, default=1000, help="allocations that fail")
    parser.add_argument("--builds", type=int, default=20, help="kernels that do not compile")
    parser.add_argument("--kills", type=int, default=100, help="processes killed while they build, on each device")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    """Return the program's exit code."""
    asked = options(given)
    specs = asked.devices.split(",") if asked.devices else None
    devices = [gpuprims.Device(spec) for spec in specs] if specs else gpuprims.devices()
    if not devices:
        print("no device to test; gpuprims info says what is missing")
        return 1
    print(f"on {', '.join(f'{device.spec} ({device.capabilities.name})' for device in devices)}", flush=True)
    failures = 0
    for part in asked.parts.split(","):
        for run in runs(part, devices, asked):
            report = run()
            failures += len(report.failures)
            print(report, flush=True)
    print(f"{failures:,} failures" if failures else "no failure")
    return 1 if failures else 0


def runs(part: str, devices: Sequence[gpuprims.Device], asked: argparse.Namespace) -> list[Callable[[], Report]]:
    """Return functions that run a part and return its reports."""
    if part == "soak":
        return [lambda: soak(devices, asked.seconds, asked.threads, asked.seed)]
    if part == "fuzz":
        return [
            lambda: fuzz_expressions(devices, asked.expressions, asked.seed),
            lambda: fuzz_models(asked.models, asked.seed),
        ]
    if part == "faults":
        return [
            lambda: fail_allocations(devices, asked.faults, asked.seed),
            lambda: fail_builds(devices, asked.builds),
            *(lambda device=device: share_a_cold_cache(device) for device in devices),  # type: ignore[misc]
            *(lambda device=device: kill_builds(device, asked.kills, asked.seed) for device in devices),  # type: ignore[misc]
        ]
    if part == "large":
        return [lambda: large(devices)]
    raise SystemExit(f"--parts: of {', '.join(PARTS)}; got {part!r}")


if __name__ == "__main__":
    sys.exit(main())
