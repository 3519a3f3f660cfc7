"""What a person sees: info, demo and explain."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuprims
from gpuprims.cli import info
from gpuprims.cli import main as cli
from gpuprims.core.registry import REGISTRY
from gpuprims.errors import BackendUnavailableError, BuildError
from gpuprims.models import pictures


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = cli.main(arguments)
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def found(pattern: str, text: str) -> tuple[str, ...]:
    """Return the groups of a pattern, which must be there."""
    match = re.search(pattern, text, re.MULTILINE)
    assert match is not None
    return match.groups()


def test_info_has_a_line_for_every_device(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "info")
    assert (status, err) == (0, "")
    for device in (*gpuprims.devices(), gpuprims.Device("reference")):
        names, facts, *_ = (line for line in out.splitlines() if line.startswith(f"{device.spec} ") and "  " in line)
        assert names.endswith("  yes")
        assert facts.split()[1] == device.capabilities.kind
    assert max(map(len, out.splitlines())) <= 100


def test_info_has_the_lengths_of_vectors_that_drivers_prefer(capsys: pytest.CaptureFixture[str]) -> None:
    told = {d.spec: d.capabilities.vector_widths for d in gpuprims.devices() if d.capabilities.vector_widths}
    if not told:
        pytest.skip("no OpenCL device")
    _, out, _ = run(capsys, "info")
    lines = out[out.index("numbers of a vector") :].splitlines()[2:]
    assert lines[0].split() == ["device", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]
    for (spec, widths), line in zip(told.items(), lines[1:], strict=False):
        assert line.split() == [spec, *(str(width or "-") for _, width in widths)]


def test_info_gives_reason_and_remedy_of_an_absent_backend(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = BackendUnavailableError("cuda", "CuPy is not installed", "pip install 'gpuprims[cuda13]'")
    monkeypatch.setattr(info, "absences", lambda: [absent])
    _, out, _ = run(capsys, "info")
    assert "cuda is absent: CuPy is not installed\n    pip install 'gpuprims[cuda13]'" in out


def test_info_says_what_is_wrong_with_a_device_that_is_listed_but_fails(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: gpuprims.Device) -> str:
        return f"fails a trial kernel: {BuildError('unknown target CPU')}"

    monkeypatch.setattr(gpuprims.Device, "check", fail)
    _, out, _ = run(capsys, "info")
    assert "reference:0 fails a trial kernel: unknown target CPU\n    to fix it:" in out
    assert re.search(r"^reference:0 .*  no$", out, re.MULTILINE)


def test_demo_races_the_peers_and_leaves_no_files(
    device: gpuprims.Device, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("gpuprims.cli.demo._COPIES", 2)
    monkeypatch.chdir(tmp_path)
    status, out, err = run(capsys, "demo", "--device", device.spec)
    assert (status, err, list(tmp_path.iterdir())) == (0, "", [])
    assert len(out.splitlines()) <= 25
    assert max(map(len, out.splitlines())) <= 100
    assert device.capabilities.name in out
    lines = out.splitlines()
    headings = next(k for k, line in enumerate(lines) if line.startswith("call "))
    rows = [re.split(r"  +", line) for line in lines[headings + 1 : headings + 8]]
    for call, ours, peer, theirs, gain, difference in rows:
        (least_ours, most_ours), (least, most) = seconds(ours), seconds(theirs)
        assert least / most_ours - 0.05 <= float(gain.removesuffix(" x")) <= most / max(least_ours, 1e-9) + 0.05
        assert difference == "none" or difference.startswith("1 of ") or "%" in difference or float(difference) < 1e-5
        assert peer in ("NumPy", "SciPy", "scikit-learn"), call
    ours, theirs = found(r"^of 20,000 other samples, LogReg labels (\S+)% right, scikit-learn (\S+)%$", out)
    assert abs(float(ours) - float(theirs)) < 0.2
    wins = sum(float(row[4].removesuffix(" x")) > 1 for row in rows)
    assert abs(int(found(r"^faster in (\d) of 7 calls", out)[0]) - wins) <= 1  # the table has rounded gains
    assert "█" in out


def seconds(text: str) -> tuple[float, float]:
    """Return the least and the most that the demo means by 1.2 ms or 3.4 s, which are rounded."""
    number, unit = text.split()
    scale = {"ms": 1e-3, "s": 1}[unit]
    return (float(number) - 0.05) * scale, (float(number) + 0.05) * scale


def test_demo_draws_only_to_the_folder_that_it_is_given(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib, which draws the demo's pictures, is not installed")
    monkeypatch.chdir(tmp_path)
    status, out, _ = run(capsys, "demo", "--device", "reference", "--out", "some/pictures")
    assert status == 0
    assert f"drawn in {Path('some/pictures/blur.png')}" in out
    assert {path.name for path in (tmp_path / "some" / "pictures").iterdir()} == {"blur.png", "brightness.png"}
    (tmp_path / "file").touch()
    status, _, err = run(capsys, "demo", "--device", "reference", "--out", "file")
    assert (status, err) == (1, "gpuprims: demo: --out with a folder to write to; got 'file' (File exists)\n")


def test_demo_draws_a_histogram_or_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    counts, edges, path = np.array([3, 1]), np.array([0.0, 4.0, 8.0]), tmp_path / "brightness.png"
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "matplotlib.figure", None)
        assert "pip install 'gpuprims[bench]'" in pictures.draw(counts, edges, path)
    pytest.importorskip("matplotlib", reason="matplotlib, which draws the demo's histogram, is not installed")
    assert pictures.draw(counts, edges, path) == f"drawn in {path}"
    assert path.read_bytes().startswith(b"\x89PNG")
    assert "No such file" in pictures.draw(counts, edges, tmp_path / "nowhere" / "brightness.png")


def test_demo_draws_images_side_by_side_or_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    images, path = [np.zeros((4, 5, 3), np.uint8)] * 2, tmp_path / "blur.png"
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "matplotlib.figure", None)
        assert "pip install 'gpuprims[bench]'" in pictures.side_by_side(images, ["a", "b"], path)
    pytest.importorskip("matplotlib", reason="matplotlib, which draws the demo's pictures, is not installed")
    assert pictures.side_by_side(images, ["a", "b"], path) == f"drawn in {path}"
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("encoding", "highest"), [("utf-8", "█"), ("ascii", "#")])
def test_a_sketch_is_as_high_as_its_counts(monkeypatch: pytest.MonkeyPatch, encoding: str, highest: str) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding))
    lines = pictures.sketch(np.array([0, 1, 500, 1000]))
    assert [line[3] for line in lines] == [highest] * 4
    assert [line[2] for line in lines] == [" ", " ", highest, highest]
    assert [line[0] for line in lines] == [" "] * 4
    assert lines[-1][1] != " "
    assert set("".join(pictures.sketch(np.zeros(3)))) == {" "}


def test_demo_without_pillow_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(name: Any) -> None:
        raise ImportError("Pillow")

    monkeypatch.setattr("sklearn.datasets.load_sample_image", missing)
    status, _, err = run(capsys, "demo", "--device", "reference")
    assert status == 1
    assert "pip install 'gpuprims[demo]'" in err


def test_explain_lists_who_was_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("explain", "reduce", "--device", "reference", "--op", "argmax", "--dtype", "int8")
    status, out, _ = run(capsys, *asked, "-v")
    assert status == 0
    assert re.search(r"^chosen +numpy +0  ", out, re.MULTILINE)
    assert re.search(r"^reduce +numpy +1 of 2  Fold lanes of fixed blocks", run(capsys, *asked)[1], re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "got"),
    [
        (("explain", "reduce", "--device", "abacus"), "'abacus'"),
        (("explain", "reduce", "--device", "reference", "--op", "median"), "'median'"),
        (("explain", "map", "--device", "reference", "--dtype", "clongdouble"), "complex256"),
        (("demo", "--device", "opencl:abacus"), "'opencl:abacus'"),
    ],
)
def test_a_wrong_argument_is_one_line_without_a_traceback(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], got: str
) -> None:
    status, _, err = run(capsys, *arguments)
    assert status == 1
    assert err.startswith("gpuprims: ")
    assert got in err
    assert len(err.strip().splitlines()) == 1


def test_explain_has_a_line_for_each_primitive(
    device: gpuprims.Device, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    status, out, _ = run(capsys, "explain", "--device", device.spec)
    assert status == 0
    assert max(map(len, out.splitlines())) <= 100  # in a pipe
    monkeypatch.setenv("COLUMNS", "80")
    status, out, _ = run(capsys, "explain", "--device", device.spec)
    first, headings, *lines, _, last = out.splitlines()
    assert first.startswith(device.spec)
    assert headings.split() == ["primitive", "variant", "able", "why"]
    assert last.startswith("able: ")
    assert [line.split()[0] for line in lines] == list(REGISTRY.primitive_names)
    assert max(map(len, out.splitlines())) <= 80
    for line in lines:
        name, variant = line.split()[:2]
        found = gpuprims.explain(name, device)
        assert variant == ("none" if found.chosen is None else found.chosen.name)
        able = sum(reason is None for _, reason in found.refusals)
        assert f"  {able} of {len(found.refusals)}  " in line


def test_explain_tells_each_kernel_in_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "explain", "-v", "--device", "reference")
    assert status == 0
    assert "map on" in out
    assert re.search(
        r"^chosen +numpy +0  Fold lanes of fixed blocks, and then neighbours, by the tree", out, re.MULTILINE
    )


@pytest.mark.parametrize(("function", "primitive"), [("argsort", "sort"), ("random", "philox"), ("cumsum", "scan")])
def test_explain_takes_the_name_of_a_function(
    function: str, primitive: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = run(capsys, "explain", function, "--device", "reference")
    assert (status, out.splitlines()[2].split()[0]) == (0, primitive)
    assert gpuprims.explain(function, "reference").primitive == primitive


def test_explain_takes_the_shape_of_a_call(device: gpuprims.Device, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("--size", "16", "--outputs", "1e5", "--side-by-side", "-v")
    status, out, _ = run(capsys, "explain", "reduce", "--device", device.spec, *asked)
    assert status == 0
    assert out.count("chosen") == 1
    explained = gpuprims.explain("reduce", device, size=16, outputs=100_000, side_by_side=True)
    assert explained.chosen is not None
    assert re.search(rf"^chosen +{explained.chosen.name} ", out, re.MULTILINE)
    reasons = [reason for _, reason in explained.refusals if reason is not None]
    assert [reason for reason in reasons if f"- {reason}" not in out] == []
