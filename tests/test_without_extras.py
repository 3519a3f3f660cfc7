"""The primitives without the packages of the extras."""

from __future__ import annotations

import subprocess
import sys

import pytest

import gpuprims

ABSENT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        absent = ("sklearn", "scipy", "tqdm", "matplotlib", "PIL", "pytest", "mako", "cupy", "torch")
        if name.partition(".")[0] in absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
"""

PRIMITIVES = """
import numpy as np
import gpuprims
x = np.arange(1, 101, dtype=np.float32)
for spec in SPECS:
    with gpuprims.use_device(spec):
        assert gpuprims.reduce(x) == 5050
        assert gpuprims.map("2*x", x)[-1] == 200
        assert gpuprims.map(lambda p: p + 1, x)[0] == 2
        assert gpuprims.cumsum(x)[-1] == 5050
        assert gpuprims.scan(x, op="max")[-1] == 100
        assert gpuprims.compact(x, "x > 60").size == 40
        assert gpuprims.histogram(x, 10)[0].sum() == 100
        assert gpuprims.bincount(x.astype(np.int32)).size == 101
        assert gpuprims.reduce(x, segments=[0, 50, 100]).sum() == 5050
        assert gpuprims.blur(x.reshape(10, 10), "box", size=3).shape == (10, 10)
        assert gpuprims.stencil(x, [1, 2, 1])[50] == 204
        assert gpuprims.plan("reduce", x).item(x) == 5050
print("all right")
"""

MODELS = """
import gpuprims
for name in ("models", "hash_counts"):
    try:
        getattr(gpuprims, name)
    except ImportError as error:
        assert isinstance(error, gpuprims.errors.GpuprimsError)
        print(error)
"""


TORCH = MODELS.replace('"models", "hash_counts"', '"torch",')

# Commands that need more than the primitives, and the extras that they name.
EXTRAS = {"spam --load none": "models", "fingerprint --device reference": "models", "demo": "demo"}


def _run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", ABSENT + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_primitives_need_none() -> None:
    specs = ["reference", *[device.spec for device in gpuprims.devices() if device.backend == "opencl"]]
    assert "all right" in _run(f"SPECS = {specs}" + PRIMITIVES)


def test_operators_of_torch_name_their_extra() -> None:
    rule, got = "torch installed", "No module named 'torch'"
    wanted = f"gpuprims.torch: {rule}; got \"{got}\": pip install 'gpuprims[torch]'"
    assert _run(TORCH).splitlines() == [wanted]


def test_models_name_their_extra() -> None:
    rule, got = "scikit-learn, SciPy and tqdm installed", "No module named 'scipy'"
    wanted = f"gpuprims.models: {rule}; got \"{got}\": pip install 'gpuprims[models]'"
    assert _run(MODELS).splitlines() == [wanted] * 2


@pytest.mark.parametrize("command", ["info", "explain", "kernels list", *EXTRAS])
def test_commands_run_or_name_their_extra(command: str) -> None:
    code = f"""
from gpuprims.cli.main import main
raise SystemExit(main({command.split()!r}))
"""
    done = subprocess.run([sys.executable, "-c", ABSENT + code], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    if command in EXTRAS:
        assert f"pip install 'gpuprims[{EXTRAS[command]}]'" in done.stderr
    assert done.returncode == (1 if command in EXTRAS else 0), done.stderr
