"""Reports of the benchmarks, the tables and the page made of them."""

from __future__ import annotations

import copy
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuprims
from bench import charts, compare, drawing, results, speeds, tables, targets, thesis_charts
from bench.caches import cache_bytes
from bench.page import html, write_page
from bench.said import said
from bench.session import Options, Session
from gpuprims.cli import main as cli
from gpuprims.cli.terminal import text_of

REFERENCE = gpuprims.Device("reference")


def row(case: Any, contender: Any, seconds: Any, **more: Any) -> dict[str, Any]:
    given = {
        "case": case, "primitive": "map", "label": f"{case}, 2^26 float32", "contender": contender,
        "ours": contender.startswith("gpuprims"), "size": 2**26, "dtype": "float32", "distribution": "uniform",
        "bytes": 8 * 2**26, "steps": 1, "device_s": seconds, "wall_s": seconds, "clock": "CUDA events", "rounds": 5,
        "spread": 0.01, "gb_per_s": 8 * 2**26 / seconds / 1e9, "limit": "copy", "fraction": 0.5,
    }  # fmt: skip
    return given | more


RATES = {f"{part}_{rate}": 0.25 for part in ("train", "test") for rate in ("tpr", "fpr", "error")}
KERNELS: list[Any] = [("CPU, scikit-learn", None, None), ("as gpuprims chooses", None, None), ("linear", 2, 128)]
KERNELS += [("warp_atomic", 1, 128), ("warp_atomic", 2, 128), ("warp_atomic", 8, 256)]
THESIS: dict[str, Any] = {
    "thesis, Figure 8": [{"seed": k, "seconds": 0.1 * k, "epochs": k, "timed_out": k == 100} for k in (1, 2, 100)],
    "thesis, Figure 9": [{"batch": k, "seed": 0, "epochs": k, "timed_out": k == 100} for k in (4, 100)],
    "thesis, Figure 10": [{"optimiser": name, "test_error": 0.03, "runs": 2} for name in ("CPU SGD", "SGD")],
    "thesis, Figure 11": [
        {"kernel": kernel, "datapoints_per_block": rows, "threads_per_datapoint": threads, "runs": 2, "epochs": 2}
        | ({"refused": "too many"} if rows == 8 else {"seconds": 0.01 * k, "run_seconds": [0.01 * k] * 2, **RATES})
        for k, (kernel, rows, threads) in enumerate(KERNELS, 1)
    ],
    "thesis, Figure 13": [{"what": what, "start": 0.1, "seconds": 0.01} for what in ("copy", "sgd/gram")],
}


@pytest.fixture
def report() -> dict[str, Any]:
    made = results.new_report(REFERENCE, full=False, commit="abc1234")
    made["device"] |= {"name": "Example <GPU>", "kind": "cpu", "backend": "opencl", "platform": "Example, 1.0"}
    made["limits"] = {"copy": {"bytes_per_s": 1e11, "by": "the vendor", "bytes": 8, "all": {"the vendor": 1e11}}}
    made["absent"] = {"torch": "torch is not measured: not installed"}
    case = "map 2*x+1"
    made["rows"] = [row(case, "gpuprims", 0.010), row(case, "gpuprims, NumPy array", 0.010, clock="host clock")]
    made["rows"] += [row(case, "NumPy", 0.015, clock="host clock"), row(case, "numba", 0.012, clock="host clock")]
    made["rows"] += [row(case, "gpuprims", 1e-5, size=2**10, label=f"{case}, 2^10 float32")]
    ladder = [("tree", 64, 2e4), ("tree", 128, 3e4), ("persistent", 1, 9e5), ("NumPy", 1, 1e5), ("vec4", 512, None)]
    made["series"] = {
        "ladder": [{"rung": rung, "work_items": items, "its_per_s": rate} for rung, items, rate in ladder],
        "two kernels": [{"kernel": name, "rows": 640, "seconds": 1e-5} for name in ("grad1_ff4", "NumPy")],
        "log-likelihood": [{"iteration": k, "log_likelihood": -100.0 / (k + 1)} for k in range(10)],
        "histogram ways": [
            {"way": way, "seconds": 0.1, "gb_per_s": 2.0, "lost": lost} for way, lost in (("racy", 0.05), ("chosen", 0))
        ],
        "increments": [
            {"way": way, "seconds": seconds, "lost": lost}
            for way, seconds, lost in (("racy", 1e-4, 0.5), ("global_atomic", 2.5e-3, 0), ("chosen", 5e-5, 0))
        ],
        "threads": [
            {"datapoints_per_block": rows, "threads_per_datapoint": threads, "seconds": 0.01, "rows": 5, "features": 4}
            | {"epochs": 1}
            for rows, threads in ((None, None), (1, 32), (1, 64), (4, 8))
        ],
        **THESIS,
        "loss against time": [
            {"solver": solver, "rows": 5, "seconds": seconds, "excess": 1e-3 / seconds}
            for solver in ("lbfgs", "sgd", "scikit-learn")
            for seconds in (0.01, 0.1)
        ],
    }
    return made


def test_a_report_is_read_as_it_was_written(report: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "folder" / "one.json"
    results.write(path, report)
    read = results.load(path)
    assert {**read, "rows": [], "series": {}} == {**report, "rows": [], "series": {}}
    for key in ("device_s", "spread", "gb_per_s"):
        got, written = ([one[key] for one in made["rows"]] for made in (read, report))
        np.testing.assert_allclose(got, written, rtol=1e-5)
    results.write(path, read)
    assert results.load(path) == read
    path.write_text('{"schema": 0}')
    with pytest.raises(results.ReportError, match="schema 1; got 0"):
        results.load(path)


def test_later_rows_take_the_place_of_earlier_ones() -> None:
    old, new = [row("a", "gpuprims", 1), row("b", "gpuprims", 1)], [row("a", "gpuprims", 2)]
    assert [one["device_s"] for one in results.merge_rows(old, new)] == [2, 1]


def test_the_faster_look_at_a_limit_counts() -> None:
    looks = [{"copy": {"bytes_per_s": rate}} for rate in (2, 3, 1)]
    assert results.faster_limits(results.faster_limits(looks[0], looks[1]), looks[2]) == looks[1]


def test_files_are_called_by_backend_device_and_runtime(report: dict[str, Any]) -> None:
    report["device"] |= {"name": "pthread-skylake-avx512-AMD EPYC", "platform": "Portable Computing Language, 3.0"}
    assert results.slug(report) == "opencl-amd-epyc-pocl"
    report["device"] |= {"name": "NVIDIA H200", "kind": "gpu", "backend": "cuda"}
    assert results.slug(report) == "cuda-nvidia-h200"


def test_targets_are_reached_missed_or_not_measured(report: dict[str, Any]) -> None:
    words = {str(verdict.target): (verdict.got, verdict.word) for verdict in targets.verdicts(report)}
    assert words[">= 1.8 x NumPy"] == (1.5, "missed")
    assert words[">= 8 x NumPy"] == (None, "not measured")
    report["rows"][1]["wall_s"] = 0.005
    assert "reached" in [verdict.word for verdict in targets.verdicts(report)]


def test_tables_hold_the_best_peer_and_the_limit(report: dict[str, Any]) -> None:
    line = tables.lines_of(report)[0]
    assert tables.cells(line)[1:] == ("53.7 GB/s", "10 ms", "10 ms", "50%", "numba", "44.7 GB/s", "1.20")
    text = text_of(*tables.summary(report))
    assert "limit: copy 100.0 GB/s by the vendor" in text
    assert "torch is not measured: not installed" in text
    assert "above" not in text
    assert re.search(r"^map 2\*x\+1, 2\^26 +53.7 GB/s +10 ms +10 ms +50% +numba", text, re.MULTILINE)
    report["rows"] = [one for one in report["rows"] if one["ours"]]
    assert "best peer" not in text_of(*tables.summary(report))


def test_only_measured_targets_have_a_line(report: dict[str, Any]) -> None:
    found = tables.target_cells(report)
    assert [cells[3] for cells in found] == ["missed"]
    assert len(list(targets.verdicts(report))) > len(found)


def test_more_than_the_limit_has_a_word(report: dict[str, Any]) -> None:
    first, *_, small = report["rows"]
    first["fraction"], small["fraction"], report["device"]["cache"] = 1.03, 0.7, 2**20
    small["bytes"] = 2**20
    assert [tables.share(one, 2**20) for one in (first, small)] == ["103%, above", "70%, cache"]
    assert tables.share(small | {"fraction": 1.4}, None) == "140%, above"
    assert tables.share(first | {"fraction": 1.004}, 2**20) == "100%"
    text = text_of(*tables.summary(report))
    for word, meaning in tables.MARKS.items():
        assert re.search(rf" \d+%, {word}\b", text)
        assert f"{word}: {meaning}" in text
        assert f"<p>{word}: {meaning}</p>".replace("'", "&#x27;") in html(report, {})


def test_a_cache_is_that_of_the_device(device: gpuprims.Device) -> None:
    found = cache_bytes(device)
    if found is None:
        pytest.skip("nothing here tells the size of the cache")
    assert 2**15 <= found <= 2**31
    assert results.new_report(device, full=False, commit="abc1234")["device"]["cache"] == found


def test_a_row_that_is_slower_beyond_the_band_fails(
    report: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = tmp_path / "old.json", tmp_path / "new.json"
    for path, factor in zip(paths, (1, 1.2), strict=True):
        made = copy.deepcopy(report)
        made["rows"][0]["device_s"] *= factor
        made["rows"][2]["device_s"] *= 9  # a peer's, which is no business of ours
        results.write(path, made)
    old, new = map(str, paths)
    assert compare.main([old, new]) == 1
    told = capsys.readouterr().out
    assert re.search(r"map 2\*x\+1, 2\^26 float32, gpuprims +10 ms +12 ms +1\.20 +0\.10 +slower", told)
    assert "2 of 3 within the band" in told
    assert compare.main([old, new, "--band", "0.25"]) == 0
    assert compare.main([new, old]) == 0
    assert "faster" in capsys.readouterr().out
    assert cli.main(["bench", "--from", new, "--compare", old]) == 1


def test_noise_and_a_slower_machine_are_no_change_of_a_kernel(report: dict[str, Any]) -> None:
    slower = copy.deepcopy(report)
    slower["rows"][0] |= {"device_s": 0.012, "spread": 0.15}
    assert [change.word for change in compare.changes(report, slower)] == ["", "", ""]
    slower["rows"][0]["spread"] = 0.01
    slower["limits"]["copy"]["bytes_per_s"] = 1e11 / 1.2  # memory, and with it every row that it bounds
    slower["rows"][1]["device_s"] = slower["rows"][4]["device_s"] = 0
    assert compare.changes(report, slower)[0].ratio == pytest.approx(1)


def test_reports_of_two_devices_are_not_compared(
    report: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = copy.deepcopy(report)
    other["device"]["name"] = "Another"
    paths = tmp_path / "old.json", tmp_path / "new.json"
    for path, made in zip(paths, (report, other), strict=True):
        results.write(path, made)
    assert compare.main([*map(str, paths)]) == 2
    assert "one device's reports; got 'Example <GPU>' and 'Another'" in capsys.readouterr().err


def test_a_page_stands_alone_and_marks_what_was_missed(report: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib, which draws the pictures, is not installed")
    assert write_page(report, tmp_path).startswith("drawn in ")
    (page,) = tmp_path.glob("*.html")
    text = page.read_text()
    assert not re.search(r'(src|href)="(?!data:)', text)
    assert '<meta name="viewport"' in text
    assert "prefers-color-scheme: dark" in text
    assert text.count("<table>") == text.count('<div class="wide"><table>') == 4
    assert "Example &lt;GPU&gt;" in text
    assert '<td class="missed">missed</td>' in text
    drawn = {path.name for path in (tmp_path / page.stem).iterdir()}
    names = ("throughput", "latency", "roofline", "ladder", "rungs", "two-kernels", "threads", "histogram")
    thesis = tuple(f"figure-{number}" for number in (8, 9, 10, 12, 13))
    assert drawn == {f"{name}.png" for name in (*names, *thesis, "convergence")} | {"log-likelihood.gif"}
    assert text.count("data:image/") == len(drawn)


def test_a_page_without_pictures_has_the_tables(report: dict[str, Any]) -> None:
    assert "<img" not in html(report, {})
    assert "numba" in html(report, {})


def test_a_report_of_figures_alone_has_no_empty_tables(report: dict[str, Any]) -> None:
    alone = report | {"rows": [], "limits": {}}
    text = html(alone, {})
    assert "<h2>Targets</h2>" not in text
    assert "<h2>Every" not in text
    assert "exceeds resources" in text
    assert tables.summary(alone)[:2] == ["", f"figures, which --html draws: {'; '.join(report['series'])}"]


def test_figure_11_has_the_thesis_numbers_beside_ours_and_refusals(report: dict[str, Any]) -> None:
    rows = {row[:3]: row[3:] for row in thesis_charts.figure_11_rows(report)}
    rates = ("25.00",) * 6
    assert rows["warp_atomic", "2", "128"] == ("25", "2.44", *rates, "3.97")
    assert rows["warp_atomic", "8", "256"] == ("exceeds resources", "exceeds resources", *("-",) * 6, "36.80")
    assert rows["linear", "2", "128"] == ("15", "-", *rates, "-")
    assert rows["CPU, scikit-learn", "-", "-"] == ("5", "2.86", *rates, "3.20")
    assert "<td>exceeds resources</td>" in html(report, {})


def test_a_sentence_says_where_articles_differ(report: dict[str, Any]) -> None:
    found = said(report)
    assert "persistent is fastest with 900,000." in found["ladder"]
    assert "takes 25 ms an epoch (thesis: 2.44): 1.7 times as long as the linear reduction" in found["figure-12"]
    assert "5 times as long as scikit-learn's SGD" in found["figure-12"]
    cpu = next(point for point in report["series"]["thesis, Figure 11"] if point["kernel"].startswith("CPU"))
    cpu["seconds"] = 0.0575
    assert "15% faster than scikit-learn's SGD" in said(report)["figure-12"]
    assert "from 100 samples on, some runs do" in found["figure-9"]
    assert "Here 1 of 3 runs time out, and the longest takes 100 epochs" in found["figure-8"]
    assert "Here they take 100 us and 50.0% are lost; with atomics they take 2,500 us, 25 times" in found["histogram"]
    assert set(found) <= set(charts.CHARTS) | {"log-likelihood"}
    assert said(report | {"series": {}}) == {}
    for words in found.values():
        assert "  " not in words
        assert words.endswith(".")


def test_titles_and_legends_of_charts_lie_within_them(report: dict[str, Any]) -> None:
    agg = pytest.importorskip("matplotlib.backends.backend_agg", reason="matplotlib is not installed")
    report["device"]["name"] = "pthread-skylake-avx512-AMD EPYC with a name that its vendor wrote in full (R) (TM) " * 2
    for name, draw in charts.CHARTS.items():
        figure = draw(report)
        agg.FigureCanvasAgg(figure).draw()
        width, height = figure.canvas.get_width_height()
        for part in (figure._suptitle, *figure.legends, *(axes.title for axes in figure.axes)):
            box = part.get_window_extent()
            assert box.x0 >= 0, name
            assert box.y0 >= 0, name
            assert box.x1 <= width, name
            assert box.y1 <= height, name


def test_a_page_says_when_there_is_no_matplotlib(
    report: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert "without pictures, for want of matplotlib" in write_page(report, tmp_path)


def test_the_table_of_the_documentation_is_that_of_the_reports() -> None:
    text = speeds.PAGE.read_text()
    assert speeds.with_table(text, speeds.shown()) == text


def test_the_table_has_a_line_a_case(report: dict[str, Any]) -> None:
    lines = speeds.table(dict.fromkeys(speeds.SHOWN, report)).splitlines()
    (found,) = [line for line in lines if line.startswith("| map 2*x+1 |")]
    ours, peer = "53.7 GB/s", "numba 44.7 GB/s"
    assert found == f"| map 2*x+1 | 2^26 | {ours}, 50% | {ours}, 50% | {peer} | {ours} | {peer} |"


def test_an_old_report_keeps_the_dates_of_its_rows_and_series(tmp_path: Path) -> None:
    made = results.new_report(REFERENCE, full=False, commit="abc1234")
    made |= {"date": "2020-01-02", "series": {"ladder": [], "threads": []}, "series_dates": {"threads": "2019-05-06"}}
    results.write(tmp_path / f"{results.slug(made)}.json", made)
    run = Session(Options(device="reference", append=True, out=tmp_path))
    run.add_series("two kernels", [])
    today = results.today()
    assert run.report["series_dates"] == {"ladder": "2020-01-02", "threads": "2019-05-06", "two kernels": today}
    assert drawing.on(run.report, "ladder").endswith(", 2020-01-02")
    assert drawing.on(run.report).endswith(", 2020-01-02")  # no row was measured anew
    assert run.report["commit"] == "abc1234"


def test_rows_of_an_earlier_run_say_when_they_were_measured(report: dict[str, Any], tmp_path: Path) -> None:
    made = results.new_report(REFERENCE, full=False, commit="abc1234") | {"date": "2020-01-02"}
    made["rows"] = [report["rows"][0], report["rows"][1] | {"measured": "2019-05-06, commit fed4321"}]
    results.write(tmp_path / f"{results.slug(made)}.json", made)
    run = Session(Options(device="reference", append=True, out=tmp_path))
    assert [row["measured"] for row in run.report["rows"]] == [
        "2020-01-02, commit abc1234",
        "2019-05-06, commit fed4321",
    ]
    write_page(run.report, tmp_path)
    (page,) = tmp_path.glob("*.html")
    assert "2019-05-06, commit fed4321: 1 of 2 rows" in page.read_text()
