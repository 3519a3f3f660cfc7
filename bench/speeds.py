"""The documentation's table of speeds: ``python -m bench.speeds`` writes it from the reports in results/."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from . import results
from .tables import OVERVIEW, Line, Row, largest, per_second, percent, seconds

REPORTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
BEGIN, END = "<!-- python -m bench.speeds writes this table from bench/results -->\n", "<!-- end of the table -->\n"
_CUDA, _OPENCL, _CPU = SHOWN = ("cuda-nvidia-h200", "opencl-nvidia-h200", "opencl-amd-epyc-intel")
_HEADINGS = ("work", "elements", "H200, CUDA", "H200, OpenCL", "fastest peer", "CPU, 2 cores", "fastest peer")
_CASES = (
    *OVERVIEW[:2], "reduce max", OVERVIEW[2], "reduce columns", "reduce rows of 16", "reduce segments", OVERVIEW[3],
    "scan max", "scan rows", "scan columns", "compact by a mask", "compact by a function", *OVERVIEW[4:7],
    "bincount int32", *OVERVIEW[7:], "logistic descent", "fit by lbfgs",
)  # fmt: skip
_HOST = "gpuprims, NumPy array"

Lines = Mapping[str, Mapping[str, Line]]


def table(reports: Mapping[str, results.Report]) -> str:
    """Return the table of reports in Markdown, with the device and date of each."""
    lines = {name: largest(report) for name, report in reports.items()}
    rows = [_HEADINGS, ("---",) * len(_HEADINGS), *(_cells(case, lines) for case in _CASES)]
    about = "".join(f"- {_about(reports[name])}\n" for name in SHOWN)
    return "".join(f"| {' | '.join(row)} |\n" for row in rows) + "\n" + about


def _cells(case: str, lines: Lines) -> tuple[str, ...]:
    cuda, opencl, cpu = (lines[name].get(case) for name in SHOWN)
    sizes = [line.label[len(case) + 2 :].removesuffix(" float32") for line in (cuda or opencl, cpu) if line]
    on_gpu = [line.best for line in (cuda, opencl) if line and line.best]
    return (
        case,
        "; CPU ".join(dict.fromkeys(sizes)),
        *(_speed(line.ours, "device_s") if line else "" for line in (cuda, opencl)),
        _named(min(on_gpu, key=lambda row: float(row["device_s"])), "device_s") if on_gpu else "",
        _speed(_of_numpy(cpu), "wall_s") if cpu else "",
        _named(cpu.best, "wall_s") if cpu and cpu.best else "",
    )


def _of_numpy(line: Line) -> Row:
    """Return gpuprims' row on NumPy arrays if there is one, because its peers use NumPy arrays."""
    return next((row for row in line.others if row["contender"] == _HOST), line.ours)


def _speed(row: Row, clock: str) -> str:
    """Return a row's speed by a clock; for the device's clock, also the percentage of the limit."""
    if row["steps"] > 1:
        return f"{row['steps'] / row['wall_s'] / 1e6:.3g} million steps/s"
    if not row["bytes"]:
        return seconds(row["wall_s"])
    near = f", {percent(row['fraction'])}" if clock == "device_s" and row["fraction"] else ""
    return per_second(row["bytes"] / row[clock] / 1e9) + near


def _named(row: Row, clock: str) -> str:
    return f"{row['contender']} {_speed(row, clock).partition(',')[0]}"


def _about(report: results.Report) -> str:
    device, memory = report["device"], report["limits"]
    limits = " and ".join(f"{name} {per_second(limit['bytes_per_s'] / 1e9)}" for name, limit in memory.items())
    runtime = f"{device['platform'].split(',')[0]}, driver {device['driver']}"
    earlier = Counter(row["measured"] for row in report["rows"] if "measured" in row).most_common()
    others = "".join(f" ({count} of {len(report['rows'])} rows: {when})" for when, count in earlier)
    return f"{device['name']}, {runtime}: {report['date']}, commit {report['commit']}{others}; memory, {limits}"


def with_table(text: str, content: str) -> str:
    """Return a text with its table replaced."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{content}\n{END}{after}"


def shown() -> str:
    """Return the table of the reports in results/."""
    return table({name: results.load(REPORTS / f"{name}.json") for name in SHOWN})


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(), shown()))
