"""What a person sees: info, demo and explain."""

from __future__ import annotations

import contextlib
import io
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from children import child_environment

import gpuprims
from gpuprims.cli import info
from gpuprims.cli import main as cli
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
        line = next(line for line in out.splitlines() if line.startswith(device.spec))
        assert device.capabilities.kind in line
        assert line.endswith("yes")


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
    assert "reference:0 fails a trial kernel: unknown target CPU\n    to mend it:" in out
    assert not re.search(r"yes$", out, re.MULTILINE)


def test_demo_agrees_with_numpy_and_learns(
    device: gpuprims.Device, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)  # where it draws
    status, out, _ = run(capsys, "demo", "--device", device.spec)
    assert status == 0
    assert device.capabilities.name in out
    difference = float(found(r"largest difference from NumPy +(\S+)", out)[0])
    assert difference < 1e-4
    for name in ("min", "max", "mean"):
        ours, numpys = found(rf"^  {name} +(\S+) +(\S+)$", out)
        assert ours == numpys
    assert re.search(r"^  counts +equal to NumPy's$", out, re.MULTILINE)
    assert "█" in out
    assert float(found(r"held-out accuracy +(\S+)%", out)[0]) >= 95
    assert float(found(r"scikit-learn's +(\S+)%", out)[0]) >= 95


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
    status, out, _ = run(capsys, "explain", "reduce", "--device", "reference", "--op", "argmax", "--dtype", "int8")
    assert status == 0
    assert re.search(r"chosen +numpy +rank 0", out)


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


def test_explain_tells_each_kernel_in_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "explain", "--device", "reference")
    assert status == 0
    assert "map on" in out
    assert "numpy          rank 0   Fold neighbours until one value is left of each row" in out


def test_explain_takes_the_shape_of_a_call(device: gpuprims.Device, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("--size", "16", "--outputs", "100000", "--side-by-side")
    status, out, _ = run(capsys, "explain", "reduce", "--device", device.spec, *asked)
    assert status == 0
    assert out.count("chosen") == 1


# How commands end


@pytest.mark.parametrize("command", cli.COMMANDS)
@pytest.mark.parametrize(("raised", "expected"), [(KeyboardInterrupt, 130), (BrokenPipeError, 141)])
def test_every_command_ends_alike(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    raised: type[BaseException],
    expected: int,
) -> None:
    def end(*given: Any, **how: Any) -> None:
        raise raised

    monkeypatch.setattr(cli.COMMANDS[command], "run", end)
    action = ("list",) if command == "kernels" else ()
    assert run(capsys, command, *action) == (expected, "", "")


def start(arguments: Iterable[str], program: Iterable[str] = ("-m", "gpuprims"), **how: Any) -> subprocess.Popen[str]:
    """Start a command as a shell does."""
    command = [sys.executable, *program, *arguments]
    outside = dict.fromkeys(name for name in os.environ if name.startswith("PYTEST_"))  # else it is a worker
    environment = child_environment(**outside, **how.pop("environment", {}))
    return subprocess.Popen(command, text=True, env=environment, **how)


PIPED = {
    "explain": ("explain", "--device", "reference"),
    "help": ("--help",),
    "demo": ("demo", "--device", "reference"),
    "show": ("tune", "--show"),
    "bench": ("bench", "--device", "reference", "--cases", "map*"),
}


@pytest.mark.skipif(os.name != "posix", reason="pipes break otherwise")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", PIPED)
def test_a_reader_that_goes_away_ends_a_command_quietly(tmp_path: Path, command: str, unbuffered: str) -> None:
    if command == "bench":
        pytest.importorskip("pytest_benchmark", reason="pytest-benchmark, which the suite needs, is not installed")
    environment = {"PYTHONUNBUFFERED": unbuffered, "GPUPRIMS_TUNING": str(tmp_path / "tuning.json")}
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with start(PIPED[command], cwd=tmp_path, environment=environment, **pipes) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    # argparse itself ignores output errors if nothing is buffered.
    assert process.returncode == (0 if (command, unbuffered) == ("help", "1") else 141)
    assert said == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no disk that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_told_in_a_line(unbuffered: str) -> None:
    with open("/dev/full", "w") as full:
        environment = {"PYTHONUNBUFFERED": unbuffered}
        arguments = ("explain", "map", "--device", "reference")
        with start(arguments, environment=environment, stdout=full, stderr=subprocess.PIPE) as process:
            assert process.stderr is not None
            said = process.stderr.read()
    assert process.returncode == 1
    assert said.startswith("gpuprims: standard output: a place to write to; got [Errno 28]")
    assert len(said.splitlines()) == 1


# A search that finds nothing for the first dtype, and would search ten minutes for the second one.
SEARCHING = """
import sys, time
from gpuprims.cli import main as cli
from gpuprims.cli import tune as command
from gpuprims.tuning.search import Found

def tune(*asked, say, **how):
    yield Found("map", "float32", note="nothing to try")
    say("map int32: grid")
    time.sleep(600)

command.tune = tune
raise SystemExit(cli.main(sys.argv[1:]))
"""


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is no signal")
@pytest.mark.parametrize("command", ["tune", "demo"])
def test_ctrl_c_ends_a_command_with_130_and_a_clean_line(tmp_path: Path, command: str) -> None:
    import pty

    program = ("-c", SEARCHING) if command == "tune" else ("-m", "gpuprims")
    ours, theirs = pty.openpty()  # so that tune shows what it tries, as to a person
    environment = {"PYTHONUNBUFFERED": "1", "GPUPRIMS_TUNING": str(tmp_path / "tuning.json")}
    pipes = {"stdout": subprocess.PIPE, "stderr": theirs}
    asked = (command, "--device", "reference")
    with start(asked, program, cwd=tmp_path, environment=environment, **pipes) as process:
        assert process.stdout is not None
        os.close(theirs)
        assert "reference:0" in process.stdout.readline()  # it has begun
        shown = os.read(ours, 4096).decode() if command == "tune" else ""
        process.send_signal(signal.SIGINT)
        out = process.stdout.read()
        shown += rest_of(ours)
    assert process.returncode == 130
    assert "Traceback" not in out + shown
    if command == "tune":
        assert "map int32: grid" in shown
        assert re.search(
            r"nothing to try\n.*interrupted; the choices above are saved\n\nsaved in .*tuning.json", out, re.DOTALL
        )
        assert shown.endswith("\r\x1b[K")
    else:
        assert shown == ""


def rest_of(terminal: Any) -> str:
    """Return what is left to read of a terminal that nobody writes to any more."""
    found = b""
    with contextlib.suppress(OSError), open(terminal, "rb", buffering=0) as file:  # an error is how Linux tells the end
        while part := file.read(4096):
            found += part
    return found.decode()


def test_ctrl_c_while_the_command_line_is_imported_ends_it_with_130() -> None:
    program = """
import sys
class Pressed:
    def find_spec(self, name, *more):
        if name == "gpuprims.cli.main":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Pressed())
from gpuprims.__main__ import main
raise SystemExit(main())
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=child_environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
