"""The command ``gpuprims bench``."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from children import child_environment

import gpuprims
from bench import results
from gpuprims.cli import bench as benching
from gpuprims.cli import main as cli


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gpuprims", "bench", *arguments]
    outside = dict.fromkeys(name for name in os.environ if name.startswith("PYTEST_"))  # else it is a worker
    return subprocess.run(command, capture_output=True, text=True, env=child_environment(**outside))


def test_the_command_says_what_it_needs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(benching, "find_spec", lambda name: None)
    assert cli.main(["bench"]) == 1
    assert "pip install 'gpuprims[bench]'" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--from", "--compare"])
def test_the_command_refuses_what_is_no_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    monkeypatch.setattr("bench.command._measured", lambda *given: pytest.fail("it measured first"))
    path = tmp_path / "none.json"
    assert cli.main(["bench", option, str(path), "--html"]) == 1
    assert "a report that gpuprims bench wrote" in capsys.readouterr().err


@pytest.mark.parametrize("suite", [[], ["--landscape"]])
def test_the_command_refuses_a_folder_that_it_cannot_make(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, suite: list[str]
) -> None:
    monkeypatch.setattr(benching, "find_spec", lambda name: True)
    monkeypatch.setattr(benching, "_suite", lambda name: pytest.fail("it measured first"))
    (tmp_path / "file").touch()
    assert cli.main(["bench", *suite, "--out", str(tmp_path / "file")]) == 1
    said = f"gpuprims: bench: --out with a folder to write to; got '{tmp_path / 'file'}' (File exists)\n"
    assert capsys.readouterr().err == said


def test_the_command_refuses_cases_that_there_are_not(tmp_path: Path) -> None:
    ran = bench("--device", "reference", "--cases", "reduce sum; nothinglikeit", "--out", str(tmp_path))
    assert (ran.returncode, ran.stdout, list(tmp_path.iterdir())) == (1, "", [])
    assert ran.stderr.startswith("gpuprims: bench: --cases with parts of a case's name, such as map 2*x+1")
    assert ran.stderr.endswith("; got 'nothinglikeit'\n")


def test_the_command_measures_and_appends(device: gpuprims.Device, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    if not pytestconfig.getoption("whole"):
        pytest.skip("some 15 seconds on each device; runs with --whole")
    if device.backend == "reference":
        pytest.skip("the reference has no suite of its own")
    for pattern in ("reduce sum, 2^10", "map 2*x+1, 2^10;log-likelihood"):
        given = ["--device", device.spec, "--cases", pattern, "--out", str(tmp_path), "--append"]
        ran = bench(*given)
        assert ran.returncode == 0, ran.stdout
        said = [line for line in ran.stderr.splitlines() if not line.endswith("warnings generated.")]  # PoCL's
        assert said == []
        assert "SKIPPED" not in ran.stdout
        assert "test session starts" not in ran.stdout
    assert re.search(r"^reduce sum, 2\^10 +\S+ GB/s", ran.stdout, re.MULTILINE)
    assert f"measured: {tmp_path}" in ran.stdout
    (path,) = tmp_path.glob("*.json")
    found = results.load(path)
    assert [one["case"] for one in found["rows"] if one["contender"] == "gpuprims"] == ["reduce sum", "map 2*x+1"]
    assert found["limits"]["copy"]["bytes_per_s"] > 0
    assert len(found["series"]["log-likelihood"]) > 100
