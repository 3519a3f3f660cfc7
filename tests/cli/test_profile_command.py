"""``gpuprims profile`` runs a script as Python does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from children import child_environment

SCRIPT = """
import sys
import numpy as np, gpuprims
from beside import SIZE
x = np.ones(SIZE, np.float32)
print("total", gpuprims.reduce(x), sys.argv, __name__)
"""


# The command, but for the copies at the end, which take longer than the rest.
SHORT = """
from gpuprims.profiling import limit
limit._USUAL = 1 << 18
from gpuprims.__main__ import main
raise SystemExit(main())
"""


def profiled(
    folder: Path, *arguments: str, program: tuple[str, ...] = ("-c", SHORT)
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *program, "profile", "--device", "reference", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=child_environment(), check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scripts")
    (folder / "scripts").mkdir()
    (folder / "scripts/beside.py").write_text("SIZE = 3000\n")
    (folder / "scripts/sums.py").write_text(SCRIPT)
    (folder / "scripts/fails.py").write_text(SCRIPT + "def fail():\n    raise KeyError('why')\nfail()\n")
    (folder / "scripts/ends.py").write_text(SCRIPT + "sys.exit(int(sys.argv[1]))\n")
    (folder / "scripts/says.py").write_text(SCRIPT + "sys.exit('no such file')\n")
    return folder


def test_a_script_gets_its_arguments_and_a_table_follows(folder: Path) -> None:
    arguments = ("--json", "seen.json", "--trace", "trace.json", "scripts/sums.py", "--json", "3")
    done = profiled(folder, *arguments, program=("-m", "gpuprims"))
    assert (done.returncode, done.stderr) == (0, "")
    first, _, rest = done.stdout.partition("\n")
    assert first == "total 3000.0 ['scripts/sums.py', '--json', '3'] __main__"
    assert "\nreduce(float32[3000])\n  reduce/numpy " in rest
    assert json.loads((folder / "seen.json").read_text())["launches"][0]["nbytes"] == 12004
    assert json.loads((folder / "trace.json").read_text())["traceEvents"]


def test_a_module_runs_as_by_python(folder: Path) -> None:
    done = profiled(folder / "scripts", "-m", "sums", "a", "b")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"total 3000.0 ['{folder / 'scripts/sums.py'}', 'a', 'b'] __main__\n")
    assert "reduce/numpy" in done.stdout


def test_a_script_that_fails_has_its_traceback_and_a_table(folder: Path) -> None:
    done = profiled(folder, "scripts/fails.py")
    assert done.returncode == 1
    assert "reduce/numpy" in done.stdout
    lines = done.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert 'scripts/fails.py", line' in lines[1]
    assert lines[-1] == "KeyError: 'why'"


STATUSES = [pytest.param("ends", "0", 0, marks=pytest.mark.rarely), ("ends", "7", 7), ("says", "", 1)]


@pytest.mark.parametrize(("script", "argument", "status"), STATUSES)
def test_the_scripts_exit_status_is_kept(folder: Path, script: str, argument: str, status: int) -> None:
    done = profiled(folder, f"scripts/{script}.py", argument)
    assert done.returncode == status
    assert "reduce/numpy" in done.stdout
    assert done.stderr == ("no such file\n" if script == "says" else "")


@pytest.mark.parametrize("module", ["absent", "json.absent"])
def test_a_module_that_python_does_not_find_is_said_in_a_line(folder: Path, module: str) -> None:
    done = profiled(folder, "-m", module)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"gpuprims: profile: -m with a module that Python finds; got {module!r}\n"


def test_a_package_of_a_module_tells_what_it_lacks(folder: Path) -> None:
    (folder / "lacking").mkdir()
    (folder / "lacking/__init__.py").write_text("import absent_library\n")
    done = profiled(folder, "-m", "lacking.part")
    assert done.returncode == 1
    assert "No module named 'absent_library'" in done.stderr


def test_a_script_is_all_that_must_be_named(folder: Path) -> None:
    done = profiled(folder)
    assert done.returncode == 2
    assert done.stderr.startswith("gpuprims: the following arguments are required: script\n")


def test_what_cannot_run_or_be_written_is_said_before(folder: Path) -> None:
    done = profiled(folder, "scripts/sumes.py")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "gpuprims: profile: a script that exists; got 'scripts/sumes.py' (for a module: profile -m)\n"
    done = profiled(folder, "--trace", "nowhere/trace.json", "scripts/sums.py")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "gpuprims: profile: a file in a folder that exists; got 'nowhere/trace.json'\n"
