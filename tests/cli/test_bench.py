"""The benchmarks' own parts: oracles that reject, rounds that take turns, reports and the page made of them."""

from __future__ import annotations

import copy
import re
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuprims
from bench import compare, oracles, results, speeds, tables, targets
from bench.ahead import delay_of
from bench.cases import SIZES, WORKS, Case, cases, matches
from bench.clocks import HostClock, Span, clock_of, timed_device
from bench.contenders import PEERS, Contender, contenders, peers_of
from bench.elements import Elements, Samples
from bench.measuring import Arrays, Racer, measure, race
from bench.page import html, write_page
from gpuprims.cli import bench as benching
from gpuprims.cli import main as cli

REFERENCE = gpuprims.Device("reference")


def small(work: Any) -> Any:
    return work.inputs.host(600 if isinstance(work.inputs, Samples) else 4096)


def wrong(result: Any) -> Any:
    """A result with one element changed, as a kernel that misses its last tile would."""
    if isinstance(result, tuple):
        return (result[0], wrong(result[1]))
    result = np.array(result)
    result.reshape(-1)[-1] += 3
    return result


@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.name)
def test_gpuprims_and_the_host_pass_each_oracle_and_a_wrong_result_does_not(work: Any) -> None:
    host = small(work)
    expected = work.expected(*host)
    work.check(work.host(*host), expected)
    result = work.call(*host, device=REFERENCE)
    work.check(result, expected)
    with pytest.raises(AssertionError):
        work.check(wrong(result), expected)


def test_elements_are_the_same_from_run_to_run_whatever_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs: tuple[Any, ...] = Elements(spread="skewed"), Elements("uint8", shape="pixels"), Samples(3)
    before = [one.host(2**16) for one in inputs]
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    for arrays, one in zip(before, inputs, strict=True):
        for x, y in zip(arrays, one.host(2**16), strict=True):
            np.testing.assert_array_equal(x, y)


def test_running_sums_in_pieces_are_those_of_one_thread() -> None:
    for size in (1, 2, 63, 10_007):
        x = Elements(spread="steps").host(size)[0]
        np.testing.assert_array_equal(oracles.running_sum(x), np.cumsum(x, dtype=np.float64))


def test_both_ends_of_a_blur_are_those_of_the_whole() -> None:
    x = Elements(shape="square").host(2**16)[0]
    for blur in (oracles.cross, oracles.box_9, oracles.gaussian_2):
        oracles.near_blur(blur(x), oracles.first_and_last(blur, x))


def test_cases_have_labels_of_their_own_and_fit() -> None:
    for full in (False, True):
        labels = [case.label for case in cases(REFERENCE, full=full)]
        assert len(labels) == len(set(labels))
    assert list(cases(replace_memory(REFERENCE, 10**6), full=True))[-1].size < 2**18


def replace_memory(device: gpuprims.Device, memory: Any) -> Any:
    class Small:
        capabilities = replace(device.capabilities, memory=memory)

    return Small()


def test_patterns_are_parts_of_labels() -> None:
    assert matches("scan sum, 2^20 float32", None)
    assert matches("scan sum, 2^20 float32", "reduce; SCAN*2^20")
    assert not matches("scan sum, 2^20 float32", "reduce;2^21")


def test_every_target_is_of_a_case_that_is_measured() -> None:
    sizes = {(work.name, size) for work in WORKS for kind in SIZES[work.sizes].__dict__.values() for size in kind}
    named = {(target.case, target.size) for target in targets.TARGETS if target.size != 1000}
    assert named <= sizes


def test_rounds_take_turns() -> None:
    class Fake:
        name = "fake"

        def span(self, call: Any, times: Any = 1) -> Any:
            call()
            return Span(2.0, 1.0)

    called: list[str] = []
    racers: Any = {name: Racer(partial(called.append, name), Fake(), Fake()) for name in "abc"}
    times = race(racers, 0)
    assert "".join(called) == "abc" + "abcbcacab"
    assert (times["a"].device, times["a"].wall_s, times["a"].spread) == ([2.0] * 3, 1.0, 0)


def test_short_calls_begin_while_the_device_is_kept_busy() -> None:
    class Fake:
        name = "fake"

        def span(self, call: Any, times: Any = 1) -> Any:
            called.append(times)
            return Span(1e-4, 1e-3)

    called: list[Any] = []
    race({"a": Racer(list, Fake(), Fake(), lambda seconds: called.append(f"busy {seconds}"))}, 0)
    assert called == [1, *["busy 0.005", 10, 1] * 3]


def test_a_gpu_is_kept_busy_for_as_long_as_asked(device: gpuprims.Device) -> None:
    timed = timed_device(device)
    clock = clock_of(timed)
    delay = delay_of(timed, clock)
    if device.capabilities.kind != "gpu":
        assert delay is None
        return
    assert delay is not None
    spans = [min(clock.span(partial(delay, seconds)).device for _ in range(3)) for seconds in (0, 4e-3)]
    assert 2e-3 < spans[1] - spans[0] < 8e-3


def test_a_wrong_contender_is_not_timed_and_the_others_are() -> None:
    case = Case(WORKS[0], 4096)
    who = [Contender("gpuprims", WORKS[0].call), Contender("off by one", lambda x: 2 * x + 2)]
    who.append(Contender("broken", lambda x: 1 / 0))
    found = measure(REFERENCE, HostClock(REFERENCE.synchronize), None, case, who, Arrays(REFERENCE), 0)
    assert list(found.times) == ["gpuprims"]
    assert list(found.failures) == ["off by one", "broken"]


def test_device_time_is_of_the_device(device: gpuprims.Device) -> None:
    timed = timed_device(device)
    x = timed.asarray(np.ones(2**16, np.float32))
    gpuprims.reduce(x)
    span = clock_of(timed).span(lambda: gpuprims.reduce(x), 20)
    assert 0 < span.device <= 2 * span.wall


def test_contenders_are_gpuprims_first_and_peers_that_are_there(device: gpuprims.Device) -> None:
    case = next(case for case in cases(device, full=False) if case.work.name == "reduce sum")
    names = [who.name for who in contenders(device, case, peers=True, variants=True)]
    there, absent = peers_of(device)
    assert names[0] == "gpuprims"
    assert len(names) == len(set(names))
    assert all(reason.startswith(f"{name} is not measured: ") for name, reason in absent.items())
    assert {peer.name for peer in PEERS if peer.serves(device)} == {peer.name for peer in there} | set(absent)


def row(case: Any, contender: Any, seconds: Any, **more: Any) -> dict[str, Any]:
    given = {
        "case": case, "primitive": "map", "label": f"{case}, 2^26 float32", "contender": contender,
        "ours": contender.startswith("gpuprims"), "size": 2**26, "dtype": "float32", "distribution": "uniform",
        "bytes": 8 * 2**26, "steps": 1, "device_s": seconds, "wall_s": seconds, "clock": "CUDA events", "rounds": 5,
        "spread": 0.01, "gb_per_s": 8 * 2**26 / seconds / 1e9, "limit": "copy", "fraction": 0.5,
    }  # fmt: skip
    return given | more


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
    ladder = [("tree", 64, 2e4), ("tree", 128, 3e4), ("descent", 1, 9e5), ("NumPy", 1, 1e5), ("vec4", 512, None)]
    made["series"] = {
        "ladder": [{"rung": rung, "work_items": items, "its_per_s": rate} for rung, items, rate in ladder],
        "log-likelihood": [{"iteration": k, "log_likelihood": -100.0 / (k + 1)} for k in range(10)],
        "histogram ways": [
            {"way": way, "seconds": 0.1, "gb_per_s": 2.0, "lost": lost} for way, lost in (("racy", 0.05), ("chosen", 0))
        ],
        "threads": [
            {"datapoints_per_block": rows, "threads_per_datapoint": threads, "seconds": 0.01, "rows": 5, "features": 4}
            | {"epochs": 1}
            for rows, threads in ((None, None), (1, 32), (1, 64), (4, 8))
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
    text = "\n".join(tables.summary(report))
    assert "limit: copy 100.0 GB/s by the vendor" in text
    assert "torch is not measured: not installed" in text


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
    assert "Example &lt;GPU&gt;" in text
    assert '<td class="missed">missed</td>' in text
    drawn = {path.name for path in (tmp_path / page.stem).iterdir()}
    assert drawn == {f"{name}.png" for name in ("throughput", "latency", "roofline", "ladder", "rungs", "threads")} | {
        "histogram.png",
        "log-likelihood.gif",
    }
    assert text.count("data:image/") == len(drawn)


def test_a_page_without_pictures_has_the_tables(report: dict[str, Any]) -> None:
    assert "<img" not in html(report, {})
    assert "numba" in html(report, {})


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


def test_the_command_says_what_it_needs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(benching, "find_spec", lambda name: None)
    assert cli.main(["bench"]) == 1
    assert "pip install 'gpuprims[bench]'" in capsys.readouterr().err


def test_the_command_refuses_what_is_no_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pytest_benchmark", reason="pytest-benchmark, which gpuprims bench needs, is not installed")
    path = tmp_path / "none.json"
    assert cli.main(["bench", "--from", str(path), "--html"]) == 1
    assert "a report that gpuprims bench wrote" in capsys.readouterr().err


def test_the_command_measures_and_appends(device: gpuprims.Device, tmp_path: Path) -> None:
    pytest.importorskip("pytest_benchmark", reason="pytest-benchmark, which gpuprims bench needs, is not installed")
    if device.backend == "reference":
        pytest.skip("the reference has no suite of its own")
    for pattern in ("reduce sum, 2^10", "map 2*x+1, 2^10;log-likelihood"):
        given = ["--device", device.spec, "--cases", pattern, "--out", str(tmp_path), "--append"]
        ran = subprocess.run([sys.executable, "-m", "gpuprims", "bench", *given], capture_output=True, text=True)
        assert ran.returncode == 0, ran.stdout
    (path,) = tmp_path.glob("*.json")
    found = results.load(path)
    assert [one["case"] for one in found["rows"] if one["contender"] == "gpuprims"] == ["reduce sum", "map 2*x+1"]
    assert found["limits"]["copy"]["bytes_per_s"] > 0
    assert len(found["series"]["log-likelihood"]) > 100
