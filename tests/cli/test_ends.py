"""How commands end: by themselves, by Ctrl-C, and when their output has nowhere to go."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from children import child_environment

from gpuprims.cli import main as cli


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
    action = {"kernels": ("list",), "completion": ("bash",), "profile": ("script.py",)}.get(command, ())
    assert cli.main([command, *action]) == expected
    assert capsys.readouterr() == ("", "")


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
def test_a_reader_that_goes_away_ends_a_command_quietly(
    tmp_path: Path, command: str, unbuffered: str, pytestconfig: pytest.Config
) -> None:
    slow = command == "bench" or (command, unbuffered) == ("demo", "")
    if slow and not pytestconfig.getoption("whole"):
        pytest.skip("takes some seconds until it writes; runs with --whole")
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
    assert shown.endswith("\r\x1b[K") or (command, shown) == ("demo", "")  # which may not have drawn yet


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
