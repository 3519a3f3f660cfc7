"""The landscape of random calls: the same calls under a seed, right results, floors, percentiles, wrong results."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuprims
from bench import results
from bench.clocks import HostClock, clock_of, timed_device
from bench.landscape import calls, command, data, oracles, report
from bench.landscape.calls import PRIMITIVES, Call, Operand
from bench.landscape.dice import Bounds
from bench.landscape.draw import draw, draws
from bench.landscape.floor import Limits, floor_s, least_fmas, moved_bytes
from bench.landscape.known import known
from bench.landscape.measure import Bench, Row, variants_seen
from gpuprims.cli import main as cli

REFERENCE = gpuprims.Device("reference")
SMALL = Bounds(2**8, 2**12)
LIMITS = Limits(1e9, {"float32": 1e9, "float64": 5e8}, 1e-6)


def test_a_seed_and_a_number_decide_a_call() -> None:
    drawn = list(draws(7, 60, SMALL))
    assert drawn == list(draws(7, 60, SMALL))
    assert draw(7, 41, SMALL) == drawn[41]
    assert drawn != list(draws(8, 60, SMALL))
    for call in drawn[:10]:
        for one, other in zip(data.stored(call), data.stored(call), strict=True):
            np.testing.assert_array_equal(one, other)


def test_calls_are_of_every_kind_and_keep_the_bounds() -> None:
    bounds = Bounds(2**18, 2**26)
    drawn = list(draws(0, 1000, bounds))
    operands = [operand for call in drawn for operand in call.operands]
    assert {call.primitive for call in drawn} == set(PRIMITIVES)
    assert {operand.layout for operand in operands} == {"x", "transpose", "x[..., 3:]", "x[..., ::2]", "x[..., ::-1]"}
    hard = {"reversed", "organ pipe", "two values", "geometric", "NaN", "denormal"}
    assert hard | {"uniform", "skewed", "constant", "sorted", "offsets"} == {operand.data for operand in operands}
    assert {len(operand.shape) for operand in operands} == {1, 2, 3, 4}
    assert {np.dtype(operand.dtype).kind for operand in operands} == set("biufc")
    assert {"affine", "heaviest", "xor", "hypot"} <= {call["op"] for call in drawn}
    lines = [call.operands[0].nbytes for call in drawn if call.primitive in ("map", "reduce", "scan", "segments")]
    assert bounds.least / 4 < min(lines)
    assert max(lines) < bounds.most * 4
    np.testing.assert_allclose(np.median(np.log2(lines)), 22, atol=1)


def test_views_have_their_strides_and_texts_say_them() -> None:
    for layout, strides in {
        "x": (16, 4),
        "x[..., 3:]": (28, 4),
        "x[..., ::2]": (32, 8),
        "x[..., ::-1]": (16, -4),
    }.items():
        call = Call(0, 3, "map", "map", (Operand("x", "float32", (5, 4), layout),), {"fn": "2*x + 1"})
        (view,) = data.views(call, data.stored(call))
        assert (view.shape, view.strides) == ((5, 4), strides)
        assert f"strides {strides}" in call.text
    turned = Operand("x", "int16", (2, 3, 4), "transpose", (2, 0, 1))
    view = turned.view(np.zeros(turned.stored_shape, np.int16))
    assert view.shape == turned.shape
    assert f"(2, 3, 4) strides {view.strides}, transpose(2, 0, 1)" in turned.text


@pytest.mark.parametrize(("kind", "number"), [("reference", 30), ("cpu", 20)])  # compiling takes most of the time
def test_every_call_of_a_seed_is_right(kind: str, number: int) -> None:
    device = REFERENCE
    if kind == "cpu":
        found = [one for one in gpuprims.devices() if one.capabilities.kind == "cpu"]
        if not found:
            pytest.skip("no OpenCL runtime for CPUs")
        device = timed_device(found[0])
    bench = Bench(device, clock_of(device), LIMITS, 0)
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # of NumPy's calls, beside ours
        rows = list(bench.rows((call, None) for call in draws(1, number, SMALL)))
    assert [(row.text, row.wrong, row.refused) for row in rows if not row.timed] == []
    assert all(row.device_s > 0 and row.floor_s >= 1e-6 and row.variants for row in rows)


def test_every_known_call_is_right() -> None:
    bench = Bench(REFERENCE, clock_of(REFERENCE), LIMITS, 0)
    cliffs = known(2**12, 2**14)
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):
        rows = list(bench.rows((cliff.call, cliff.sample) for cliff in cliffs))
    assert [(row.text, row.wrong, row.refused) for row in rows if not row.timed] == []
    table = report.known_lines(cliffs, rows)
    assert len(table) == len(cliffs) + 1
    assert all(cliff.name in line for cliff, line in zip(cliffs, table[1:], strict=True))
    assert cliffs[0].reached(8, 2) == 4
    assert cliffs[-1].reached(8, 2) == 2


def test_a_star_of_weights_has_no_others() -> None:
    x = Operand("x", "float32", (8, 8, 8))
    call = Call(0, 0, "stencil", "stencil", (x,), {"weights": (3, 5, 3), "star": True})
    weights = calls.stencil_weights(call)
    assert np.count_nonzero(weights) == 9
    assert np.count_nonzero(weights[1, :, 1]) == 5
    assert least_fmas(call) == 512 * 9


def test_floors_of_examples() -> None:
    x, row = Operand("x", "float32", (1000, 50), "x[..., ::2]"), Operand("y", "float32", (50,))
    added = Call(0, 0, "map", "map", (x, row), {"fn": "x + y"})
    assert moved_bytes(added, 200_000) == 200_000 + 200 + 200_000
    assert floor_s(added, 200_000, LIMITS) == pytest.approx(400_200 / 1e9 + 1e-6)
    dense = Call(0, 0, "stencil", "stencil", (x,), {"weights": (5, 7), "separable": False, "mode": "wrap"})
    assert least_fmas(dense) == 50_000 * 35
    assert floor_s(dense, 200_000, LIMITS) == pytest.approx(50_000 * 35 / 1e9 + 1e-6)
    apart = Call(0, 0, "stencil", "stencil", (x,), {"weights": (5, 7), "separable": True, "mode": "wrap"})
    assert least_fmas(apart) == 50_000 * 12
    doubles = Operand("x", "float64", (100, 100))
    gaussian = Call(0, 0, "blur", "blur", (doubles,), {"kind": "gaussian", "sigma": 2.0, "mode": "nearest"})
    assert floor_s(gaussian, 80_000, LIMITS) == pytest.approx(10_000 * 2 * 17 / 5e8 + 1e-6)
    assert least_fmas(Call(0, 0, "blur", "blur", (x,), {"kind": "box", "size": 9})) == 0


@pytest.mark.parametrize("mode", ["nearest", "reflect", "mirror", "wrap", "constant"])
def test_bands_of_a_stencil_are_those_of_the_whole(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = Operand("x", "float32", (2, 100, 30))
    call = Call(0, 0, "stencil", "stencil", (x,), {"weights": (5, 5), "separable": False, "mode": mode})
    views = data.views(call, data.stored(call))
    whole = oracles.expected(call, views)
    monkeypatch.setattr(oracles, "_MOST_FMAS", 1)
    bands = oracles.expected(call, views)
    assert bands.values.shape == (2, 72, 30)
    np.testing.assert_allclose(bands.of(whole), bands.values)


def test_running_composition_is_that_of_one_by_one() -> None:
    x, y = Operand("x", "float64", (3, 211)), Operand("y", "float64", (3, 211))
    call = Call(0, 0, "scan", "scan", (x, y), {"op": "affine", "axis": 1, "inclusive": True})
    factors, terms = data.stored(call)
    got = oracles.expected(call, [factors, terms])[1]
    kept = np.zeros(3)
    for k in range(211):
        kept = kept * factors[:, k] + terms[:, k]
        np.testing.assert_allclose(got[:, k], kept)


def test_the_variant_that_runs_is_seen() -> None:
    with variants_seen() as seen:
        gpuprims.reduce([1, 2, 3], device=REFERENCE)
        gpuprims.histogram([1, 2, 3], device=REFERENCE)
    assert "reduce/numpy" in seen
    assert "histogram/numpy" in seen


def row(number: int, fraction: float, peer: float | None = None, primitive: str = "map") -> Row:
    peers = {} if peer is None else {"slow": 9.0, "fast": peer}
    first = 0.1 * number
    return Row(number, primitive, f"#{number}", device_s=1, wall_s=1, first_s=first, floor_s=fraction, peers=peers)


def test_percentiles_of_a_list() -> None:
    assert report.spread([0.3, 0.1, 0.5, 0.2, 0.4]) == pytest.approx(
        {"worst": 0.1, "5": 0.12, "25": 0.2, "50": 0.3, "75": 0.4}
    )
    rows = [row(0, 0.1, 0.5), row(1, 0.3, 0.95), row(2, 0.5), row(3, 0.9, 2.0, "scan")]
    found = report.summary_of(rows)
    assert list(found) == ["map", "scan", "all"]
    assert found["map"]["fraction"]["50"] == pytest.approx(0.3)
    assert found["all"]["peer"] == pytest.approx({"worst": 0.5, "5": 0.545, "25": 0.725, "50": 0.95, "75": 1.475})
    assert (found["all"]["slower"], found["all"]["raced"]) == (1, 3)
    assert found["all"]["first_s"] == pytest.approx({"50": 0.15, "95": 0.285})
    told = report.lines(rows)
    assert report._ABOVE not in told
    assert report._ABOVE in report.lines([*rows, row(4, 1.2)])
    assert told[told.index("first calls, which compile") + 4].split() == ["all", "150", "ms", "285", "ms"]


def test_refusals_and_the_worst_calls_are_listed() -> None:
    rows = [row(number, 1 / (number + 1)) for number in range(30)]
    rows.append(Row(30, "scan", "#30 a scan", refused="NoVariantError: no kernel"))
    told = report.lines(rows)
    assert told[told.index("refused: 1") + 1] == "#30 a scan\n  NoVariantError: no kernel"
    worst = told[told.index("furthest from the limit: 25") + 1 :]
    assert [line.split("#")[1] for line in worst] == [str(number) for number in range(29, 4, -1)]


def test_a_picture_has_a_curve_for_each_primitive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, path = [row(0, 0.1), row(1, 0.3), row(2, 0.9, primitive="scan")], tmp_path / "drawn.png"
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "matplotlib.figure", None)
        assert not report.picture(rows, "title", path)
    pytest.importorskip("matplotlib", reason="matplotlib, which draws the picture, is not installed")
    assert report.picture(rows, "title", path)
    assert path.stat().st_size > 1000


def test_a_crash_is_a_wrong_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "way_of", lambda call: 1 / 0)
    bench = Bench(REFERENCE, HostClock(REFERENCE.synchronize), LIMITS, 0)
    assert bench.row(draw(0, 0, SMALL)).wrong == "ZeroDivisionError: division by zero"


@pytest.fixture
def command_on_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the command on the reference, with limits given, and return its status and its report."""
    monkeypatch.setenv("GPUPRIMS_TUNING", "off")
    monkeypatch.setattr(command, "measured_limits", lambda *given: LIMITS)

    def run(*more: str) -> tuple[int, Any]:
        sizes = ["--least-bytes", "256", "--most-bytes", "4096", "--seconds", "1e-9", "--out", str(tmp_path)]
        status = cli.main(["bench", "--landscape", "--device", "reference", *sizes, *more])
        paths = list(tmp_path.glob("landscape-*.json"))
        return status, json.loads(paths[0].read_text()) if paths else None

    return run


def test_the_command_writes_a_report(
    command_on_reference: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, written = command_on_reference("--calls", "5", "--seed", "3")
    assert status == 0
    assert [one["number"] for one in written["rows"]] == [0, 1, 2, 3, 4]
    assert written["bounds"] == {"least": 256, "most": 4096}
    assert written["summary"]["all"]["calls"] == 5
    text = capsys.readouterr().out
    assert "--seed 3 --least-bytes 256 --most-bytes 4096 --only NUMBER" in text
    with pytest.raises(results.ReportError, match="got one of random calls"):
        results.load(next(tmp_path.glob("*.json")))
    status, alone = command_on_reference("--only", "4", "--seed", "3")
    assert [one["text"] for one in alone["rows"]] == [written["rows"][4]["text"]]


def test_a_wrong_result_is_reported_and_fails(
    command_on_reference: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    right = calls.way_of

    def broken(call: Call) -> Any:
        def run(*arrays: Any, **where: Any) -> Any:
            result = right(call)(*arrays, **where)
            if call.number != 3:
                return result
            first = np.array(result[0] if isinstance(result, tuple) else result)
            first.reshape(-1)[-1:] = ~first.reshape(-1)[-1:] if first.dtype.kind in "iub" else 1e9
            return (first, *result[1:]) if isinstance(result, tuple) else first

        return run

    monkeypatch.setattr(calls, "way_of", broken)
    status, written = command_on_reference("--calls", "4")
    assert status == 1
    assert [bool(one["wrong"]) for one in written["rows"]] == [False, False, False, True]
    assert "wrong: 1" in capsys.readouterr().out


def test_a_refused_call_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any, **where: Any) -> Any:
        raise gpuprims.errors.NoVariantError("map: no kernel")

    monkeypatch.setattr(calls, "way_of", lambda call: refuse)
    bench = Bench(REFERENCE, HostClock(REFERENCE.synchronize), LIMITS, 0)
    assert bench.row(draw(0, 0, SMALL)).refused == "NoVariantError: map: no kernel"


def test_the_command_refuses_bounds_that_cross(command_on_reference: Any, capsys: pytest.CaptureFixture[str]) -> None:
    status, _ = command_on_reference("--least-bytes", "10", "--most-bytes", "5")
    assert status == 1
    assert "1 <= --least-bytes <= --most-bytes; got 10 and 5" in capsys.readouterr().err
    assert command_on_reference("--full", "--html")[0] == 1
    assert "--landscape without options of the suite; got full, html" in capsys.readouterr().err
    assert command_on_reference("--known", "--only", "99")[0] == 1
    assert "--only below 33, the number of known calls; got 99" in capsys.readouterr().err
    assert cli.main(["bench", "--known"]) == 1
    assert "--known with --landscape; got no --landscape" in capsys.readouterr().err
