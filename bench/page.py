"""The HTML page of a report: the device, the targets, the pictures and every row."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from .results import slug
from .said import said
from .tables import HEADINGS, TARGET_HEADINGS, cells, legend, lines_of, percent, seconds, share, speed, target_cells
from .thesis_charts import TABLE_HEADINGS, figure_11_rows

Report = dict[str, Any]

_STYLE = """
:root { color-scheme: light dark; --text: #222; --back: #fff; --line: #ddd; --strong: #888; --soft: #666;
  --reached: #1e7d3c; --missed: #b03a2e; }
@media (prefers-color-scheme: dark) {
  :root { --text: #ddd; --back: #161616; --line: #383838; --strong: #777; --soft: #999;
    --reached: #6cc98a; --missed: #f08a7e; }
  img { filter: invert(0.91) hue-rotate(180deg); }
}
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1000px; margin: 2em auto; padding: 0 1em;
  color: var(--text); background: var(--back); }
h1 { font-size: 1.7em; line-height: 1.2; } h2 { font-size: 1.25em; margin-top: 2em; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 1.2em; font-size: 13px; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; margin: 1em 0; }
table { border-collapse: collapse; font-size: 13px; }
th, td { padding: 3px 10px; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: var(--back); }
th { border-bottom: 2px solid var(--strong); }
img { display: block; width: 100%; max-width: 800px; }
.reached { color: var(--reached); } .missed { color: var(--missed); font-weight: bold; }
@media (max-width: 600px) {
  dl { grid-template-columns: 1fr; } dd { margin-bottom: 6px; }
  table { font-size: 12px; } th, td { padding: 3px 6px; }
  td:first-child, th:first-child { white-space: normal; min-width: 8em; max-width: 12em; }
}
"""
_TITLES = {
    "roofline.png": "Beside the limit",
    "throughput.png": "Throughput against size",
    "latency.png": "Latency against size",
    "ladder.png": "The article's ladder by work-items",
    "rungs.png": "The article's ladder, each rung at its best",
    "two-kernels.png": "The articles for .NET: gradients by two kernels",
    "log-likelihood.gif": "The article's log-likelihood",
    "threads.png": "The thesis' training time against requested threads",
    "figure-8.png": "The thesis' Figure 8: the spread of run times",
    "figure-9.png": "The thesis' Figure 9: batch size against time-outs",
    "figure-10.png": "The thesis' Figure 10: errors by optimiser",
    "figure-12.png": "The thesis' Figure 12: time against threads",
    "figure-13.png": "The thesis' Figure 13: a timeline",
    "histogram.png": "A histogram with atomics and without",
    "convergence.png": "Loss against time of each solver of LogReg",
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
    device, words = report["device"], said(report)
    title = f"gpuprims on {device['name']}, {device['backend']}"
    parts = [
        f"<h1>{escape(title)}</h1>",
        _list(_about(report)),
        *_targets(report),
        *(_picture(file, drawn[file], words.get(file.partition(".")[0], "")) for file in _TITLES if file in drawn),
        _figure_11(report),
        *_every(report),
        _absent(report),
    ]
    head = '<!doctype html><html lang="en"><meta charset="utf-8">'
    head += '<meta name="viewport" content="width=device-width, initial-scale=1">'
    head += f"<title>{escape(title)}</title><style>{_STYLE}</style>"
    return "\n".join([head, *parts, "</html>\n"])


def _about(report: Report) -> Iterable[tuple[str, str]]:
    device, host = report["device"], report["host"]
    yield "device", f"{device['name']} ({device['vendor']}), {device['units']} units"
    yield "driver", f"{device['driver']} ({device['platform']})"
    yield "host", f"{host['cores']} cores, {host['system']}, Python {host['python']}"
    yield "measured", f"{report['date']}, gpuprims {report['gpuprims']}, commit {report['commit'] or 'unknown'}"
    for earlier, count in Counter(row["measured"] for row in report["rows"] if "measured" in row).items():
        yield "measured before", f"{earlier}: {count} of {len(report['rows'])} rows"
    yield "libraries", ", ".join(f"{name} {version}" for name, version in report["versions"].items())
    if device.get("cache"):
        yield "cache", f"{device['cache'] / 2**20:.0f} MiB"
    for name, limit in report["limits"].items():
        everyone = ", ".join(f"{who} {rate / 1e9:,.1f}" for who, rate in limit["all"].items())
        yield f"memory, {name}", f"{limit['bytes_per_s'] / 1e9:,.1f} GB/s by {limit['by']} (GB/s: {everyone})"


def _targets(report: Report) -> Iterable[str]:
    if not report["rows"]:  # figures of the articles alone have no targets
        return
    yield "<h2>Targets</h2>"
    rows = target_cells(report)
    if not rows:
        yield "<p>No target of this device was measured.</p>"
        return
    words = [row[-1] for row in rows]
    counted = ", ".join(f"{words.count(word)} {word}" for word in ("reached", "missed"))
    yield f"<p>{counted}.</p>" + _table(TARGET_HEADINGS, rows)


def _every(report: Report) -> Iterable[str]:
    if not report["rows"]:
        return
    cache = report["device"].get("cache")
    rows = [cells(line, cache) for line in lines_of(report)]
    yield "<h2>Every case</h2>"
    yield (
        "<p>Speed counts the bytes that the work must move, by the device's own clock, of calls one after the other;"
        " <i>waited for</i> is one call and the wait for it. The last column is the speed of gpuprims relative to the"
        " best peer: by the device's clock, or by the whole call if the peer has no device time.</p>"
    )
    yield _legend(row[HEADINGS.index("of the limit")] for row in rows)
    yield _table(HEADINGS, rows)
    every = [_row_cells(row, cache) for row in report["rows"]]
    yield "<h2>Every row</h2>"
    yield _legend(row[_ROW_HEADINGS.index("of the limit")] for row in every)
    yield _table(_ROW_HEADINGS, every)


def _picture(file: str, content: bytes, words: str) -> str:
    kind = file.rpartition(".")[2]
    inline = base64.b64encode(content).decode()
    image = f'<img alt="{escape(_TITLES[file])}" src="data:image/{kind};base64,{inline}">'
    below = words and f"<p>{escape(words)}</p>"
    return f'<h2>{escape(_TITLES[file])}</h2><div class="wide">{image}</div>{below}'


def _figure_11(report: Report) -> str:
    rows = figure_11_rows(report)
    if not rows:
        return ""
    about = "Means over shuffled runs, beside the thesis' own times and errors; its kernel is sgd/warp_atomic."
    return f"<h2>The thesis' Figure 11: configurations of threads</h2><p>{about}</p>{_table(TABLE_HEADINGS, rows)}"


_ROW_HEADINGS = ("case", "contender", "speed", "device", "waited for", "of the limit", "rounds", "spread", "clock")


def _row_cells(row: dict[str, Any], cache: int | None) -> tuple[str, ...]:
    times = seconds(row["device_s"]), seconds(row["wall_s"])
    said = share(row, cache), str(row["rounds"]), percent(row["spread"]), row["clock"]
    return (row["label"], row["contender"], speed(row), *times, *said)


def _absent(report: Report) -> str:
    items = "".join(f"<li>{escape(reason)}</li>" for reason in report["absent"].values())
    return f"<h2>Not measured</h2><ul>{items}</ul>" if items else ""


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in headings)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>'


def _list(entries: Iterable[tuple[str, str]]) -> str:
    return f"<dl>{''.join(f'<dt>{escape(name)}</dt><dd>{escape(text)}</dd>' for name, text in entries)}</dl>"


def _legend(shares: Iterable[str]) -> str:
    return "".join(f"<p>{escape(line)}</p>" for line in legend(shares))


def _cell(text: str) -> str:
    return f'<td class="{text}">{text}</td>' if text in ("reached", "missed") else f"<td>{escape(text)}</td>"
