"""The example programs and the code of README and docs run as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from children import child_environment

import gpuprims

ROOT = Path(__file__).parent.parent
PROGRAMS = sorted((ROOT / "examples").glob("*.py"))
BLOCKS = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
]


def run(arguments, device):
    environment = child_environment(GPUPRIMS_DEVICE=device.spec)
    return subprocess.run(
        [sys.executable, "-W", "error", *arguments], env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.whole
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_an_example_runs_and_prints(program, device):
    done = run([program], device)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_every_page_of_functions_has_examples():
    pages = {str(block.id).rpartition("-")[0] for block in BLOCKS}
    assert pages >= {"README", "guide", "kernels", "models"}
    assert len(BLOCKS) >= 20


@pytest.mark.parametrize("code", BLOCKS)
def test_the_code_of_the_pages_runs(code):
    for library in re.findall(r"\b(?:torch|jax)\b", code.partition("\n")[0]):
        pytest.importorskip(library, reason=f"{library} is not installed")
    done = run(["-c", code], next(iter(gpuprims.devices()), gpuprims.Device("reference")))
    assert done.returncode == 0, done.stderr
