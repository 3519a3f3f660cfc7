"""The HTML page of a report: the device, the targets, the pictures and every row."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from .results import slug
from .tables import HEADINGS, TARGET_HEADINGS, cells, lines_of, percent, seconds, speed, target_cells

Report = dict[str, Any]

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 980px; margin: 2em auto; padding: 0 1em; color: #222; }
table { border-collapse: collapse; font-size: 13px; margin: 1em 0; display: block; overflow-x: auto; }
th, td { padding: 3px 10px; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
th { border-bottom: 2px solid #888; }
img { max-width: 100%; display: block; margin: 1em 0; }
.reached { color: #1e7d3c; } .missed { color: #b03a2e; font-weight: bold; } .not { color: #888; }
"""
_TITLES = {
    "roofline.png": "Beside the limit",
    "throughput.png": "Throughput against size",
    "latency.png": "Latency against size",
    "ladder.png": "The article's ladder by work-items",
    "rungs.png": "The article's ladder, each rung at its best",
    "log-likelihood.gif": "The article's log-likelihood",
    "threads.png": "The thesis' training time against requested threads",
    "histogram.png": "A histogram with atomics and without",
}


def write_page(report: Report, folder: Path) -> str:
    """Write the page, and the pictures to a folder; returns a sentence with the paths."""
    name = slug(report)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        from .charts import pictures

        drawn = dict(pictures(report))
        lacking = ""
    except ImportError as error:
        drawn, lacking = {}, f", without pictures, for want of {error.name}: pip install 'gpuprims[bench]'"
    for file, content in drawn.items():
        (folder / name).mkdir(exist_ok=True)
        (folder / name / file).write_bytes(content)
    page = folder / f"{name}.html"
    page.write_text(html(report, drawn))
    return f"drawn in {page}{lacking}"


def html(report: Report, drawn: dict[str, bytes]) -> str:
    """Return the page."""
    device = report["device"]
    title = f"gpuprims on {device['name']}, {device['backend']}"
    parts = [
        f"<h1>{escape(title)}</h1>",
        _table(("", ""), _about(report)),
        "<h2>Targets</h2>",
        _targets(report),
        *(_picture(file, drawn[file]) for file in _TITLES if file in drawn),
        "<h2>Every case</h2>",
        "<p>Speed counts the bytes that the work must move, by the device's own clock, of calls one after the other;"
        " <i>waited for</i> is one call and the wait for it. The last column is the speed of gpuprims relative to the"
        " best peer: by the device's clock, or by the whole call if the peer has no device time.</p>",
        _table(HEADINGS, [cells(line) for line in lines_of(report)]),
        "<h2>Every row</h2>",
        _table(_ROW_HEADINGS, [_row_cells(row) for row in report["rows"]]),
        _absent(report),
    ]
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title><style>{_STYLE}</style>'
    return "\n".join([head, *parts, "</html>\n"])


def _about(report: Report) -> Iterable[tuple[str, str]]:
    device, host = report["device"], report["host"]
    yield "device", f"{device['name']} ({device['vendor']}), {device['units']} units"
    yield "driver", f"{device['driver']} ({device['platform']})"
    yield "host", f"{host['cores']} cores, {host['system']}, Python {host['python']}"
    yield "measured", f"{report['date']}, gpuprims {report['gpuprims']}, commit {report['commit'] or 'unknown'}"
    yield "libraries", ", ".join(f"{name} {version}" for name, version in report["versions"].items())
    for name, limit in report["limits"].items():
        everyone = ", ".join(f"{who} {rate / 1e9:,.1f}" for who, rate in limit["all"].items())
        yield f"memory, {name}", f"{limit['bytes_per_s'] / 1e9:,.1f} GB/s by {limit['by']} (GB/s: {everyone})"


def _targets(report: Report) -> str:
    rows = target_cells(report)
    if not rows:
        return "<p>No target was set for this device.</p>"
    words = [row[-1] for row in rows]
    counted = ", ".join(f"{words.count(word)} {word}" for word in ("reached", "missed", "not measured"))
    return f"<p>{counted}.</p>" + _table(TARGET_HEADINGS, rows)


def _picture(file: str, content: bytes) -> str:
    kind = file.rpartition(".")[2]
    inline = base64.b64encode(content).decode()
    return f'<h2>{escape(_TITLES[file])}</h2><img alt="{escape(file)}" src="data:image/{kind};base64,{inline}">'


_ROW_HEADINGS = ("case", "contender", "speed", "device", "waited for", "of the limit", "rounds", "spread", "clock")


def _row_cells(row: dict[str, Any]) -> tuple[str, ...]:
    times = seconds(row["device_s"]), seconds(row["wall_s"])
    said = percent(row["fraction"]), str(row["rounds"]), percent(row["spread"]), row["clock"]
    return (row["label"], row["contender"], speed(row), *times, *said)


def _absent(report: Report) -> str:
    items = "".join(f"<li>{escape(reason)}</li>" for reason in report["absent"].values())
    return f"<h2>Not measured</h2><ul>{items}</ul>" if items else ""


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in headings)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _cell(text: str) -> str:
    kind = {"reached": "reached", "missed": "missed", "not measured": "not"}.get(text)
    return f'<td class="{kind}">{text}</td>' if kind else f"<td>{escape(text)}</td>"
