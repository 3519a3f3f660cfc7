"""Reports: one JSON file per device, rewritten after each case, so that an interrupted run loses nothing."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import re
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import gpuprims

from .caches import cache_bytes
from .clocks import queue_of

SCHEMA = 1
_LIBRARIES = (
    "numpy", "scipy", "scikit-learn", "numba", "pyopencl", "torch", "cupy-cuda12x", "cupy-cuda13x", "cuda-cccl",
    "opencv-python-headless", "opencv-python", "intel-opencl-rt",
)  # fmt: skip
Report = dict[str, Any]


class ReportError(ValueError):
    """The file is not a report, or has another schema."""


def new_report(device: gpuprims.Device, *, full: bool, commit: str | None = None) -> Report:
    """Return a report without rows: the device, the machine and the installed packages."""
    able = device.capabilities
    described = {
        "spec": device.spec,
        "backend": device.backend,
        "kind": able.kind,
        "name": able.name,
        "vendor": able.vendor,
        "driver": able.driver,
        "units": able.compute_units,
        "memory": able.memory,
        "cache": cache_bytes(device),
        "platform": _platform(device),
    }
    host = {"cores": os.cpu_count(), "system": platform.platform(), "python": platform.python_version()}
    return {
        "schema": SCHEMA,
        "gpuprims": gpuprims.__version__,
        "commit": commit or _commit(),
        "date": today(),
        "full": full,
        "device": described,
        "host": host,
        "versions": _versions(),
        "absent": {},
        "limits": {},
        "rows": [],
        "series": {},
        "series_dates": {},
    }


def today() -> str:
    """Return today's date in UTC, as YYYY-MM-DD."""
    return datetime.now(UTC).strftime("%Y-%m-%d")


def _platform(device: gpuprims.Device) -> str:
    """Return the runtime of the kernels: for OpenCL, the platform."""
    if device.backend == "opencl":
        platform = queue_of(device).device.platform
        return f"{platform.name}, {platform.version}"
    return "CUDA" if device.backend == "cuda" else device.backend


def _versions() -> dict[str, str]:
    found = {}
    for name in _LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _commit() -> str | None:
    """Return the commit of the package, marked if files differ from it, or None outside a clone."""
    ask = ["git", "-C", str(Path(gpuprims.__file__).parent), "describe", "--always", "--dirty"]
    try:
        told = subprocess.run(ask, capture_output=True, text=True, check=True)  # noqa: S603 - a fixed command
        return told.stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def slug(report: Report) -> str:
    """Return the name of a device's files: backend, name and, for CPUs, runtime."""
    device = report["device"]
    runtime = device["platform"].split(",")[0] if device["kind"] == "cpu" else ""
    words = f"{device['backend']} {device['name']} {runtime}".lower().replace("portable computing language", "pocl")
    words = re.sub(r"\((r|tm)\)|pthread-\S+?-(?=amd|intel)", "", words)
    return "-".join(dict.fromkeys(re.findall(r"[a-z0-9.]+", words)))


def row_key(row: dict[str, Any]) -> tuple[Any, ...]:
    """Return the key that identifies a row."""
    return row["case"], row["size"], row["dtype"], row["contender"]


def merge_rows(old: Iterable[dict[str, Any]], new: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows without those that a later row replaces."""
    return list({row_key(row): row for row in (*old, *new)}.values())


def faster_limits(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return the faster of two measurements of each limit."""
    return {name: max(old.get(name, limit), limit, key=lambda one: one["bytes_per_s"]) for name, limit in new.items()}


def _rounded(value: Any) -> Any:
    """Return a report with times and rates rounded to six digits; fewer are significant."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, list) else value


def _text(report: Report) -> str:
    """Return a report as JSON, with one line per row and per other key."""
    rows = ",\n".join(json.dumps(_rounded(row)) for row in report["rows"])
    parts = {key: json.dumps(_rounded(value)) for key, value in report.items()} | {"rows": f"[\n{rows}\n]"}
    return "{\n" + ",\n".join(f"{json.dumps(key)}: {text}" for key, text in parts.items()) + "\n}\n"


def write(path: Path, report: Report) -> None:
    """Write a report atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".part")
    beside.write_text(_text(report))
    beside.replace(path)


def load(path: Path) -> Report:
    """Read a report.

    Raises
    ------
    ReportError
        The file is not a report, or has another schema.
    """
    try:
        report = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        got = error.strerror if isinstance(error, OSError) else error
        raise ReportError(f"{path}: a report that gpuprims bench wrote; got {got}") from error
    if isinstance(report, dict) and report.get("kind") == "landscape":
        raise ReportError(f"{path}: a report of the suite's cases; got one of random calls")
    if not isinstance(report, dict) or report.get("schema") != SCHEMA:
        got = report.get("schema") if isinstance(report, dict) else type(report).__name__
        raise ReportError(f"{path}: a report of schema {SCHEMA}; got {got!r}")
    return report
