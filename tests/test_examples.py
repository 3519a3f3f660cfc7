"""The programs and the README's code run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import gpuprims

ROOT = Path(__file__).parent.parent
PROGRAMS = sorted((ROOT / "examples").glob("*.py"))
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def run(arguments, device):
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"GPUPRIMS_DEVICE": device.spec, "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, "-W", "error", *arguments], env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.whole
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_an_example_runs_and_prints(program, device):
    done = run([program], device)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_the_readme_has_examples():
    assert len(BLOCKS) >= 4


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_the_readmes_code_runs(number):
    for library in re.findall(r"\b(?:torch|jax)\b", BLOCKS[number].partition("\n")[0]):
        pytest.importorskip(library, reason=f"{library} is not installed")
    done = run(["-c", BLOCKS[number]], next(iter(gpuprims.devices()), gpuprims.Device("reference")))
    assert done.returncode == 0, done.stderr
