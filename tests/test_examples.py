"""The example programs and the code of README and docs run as they stand."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from children import child_environment
from kernel_cases import ASKED

import gpuprims
from gpuprims.core.device import absences

ROOT = Path(__file__).parent.parent
PROGRAMS = sorted((ROOT / "examples").glob("*.py"))
PACKAGES = sorted(path.parent for path in (ROOT / "examples").glob("*/pyproject.toml"))
GALLERY = sorted((ROOT / "examples" / "gallery").glob("*.py"))
# The blocks of Python of each page.
PAGES = {
    page.relative_to(ROOT).with_suffix("").as_posix(): blocks
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs").glob("[gh]*/*.md")))
    if (blocks := re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
}
# Of the gallery, which the site's build runs whole, those of more than ten seconds wait for a whole run.
WAITING = {"plot_game_of_life", "plot_heat_equation", "plot_few_shot", "plot_bifurcations"}
# A page whose arrays a run that is not whole makes shorter: ten launches of a kernel that was not optimised.
SHORTER = {"docs/howto/profile": ("10_000_000", "1_000_000")}
# Makes the copies short that the end of a first profile measures.
SHORT_COPIES = "from gpuprims.profiling import limit; limit._USUAL = 1 << 18"
# Runs programs, each as one of its own, but in one process: a start, with imports and a runtime for CPUs, takes longer
# than most of them. Writes what went wrong to a file.
EACH = """
import json, sys, traceback
failures = {}
for name, code in json.load(sys.stdin):
    if name not in failures:
        try:
            exec(compile(code, name, "exec"), {"__name__": "__main__"})
        except BaseException:
            failures[name] = traceback.format_exc()
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
with open(sys.argv[1], "w") as file:
    json.dump(failures, file)
"""


def run(arguments, device, told=None, **variables):
    environment = child_environment(GPUPRIMS_DEVICE=device.spec, **variables)
    command = [sys.executable, "-W", "error", *arguments]
    return subprocess.run(command, env=environment, input=told, capture_output=True, text=True, check=False)


@cache
def failures(programs, **variables):
    """Return what went wrong, by name, in programs that run in one process on the first device."""
    device = next(iter(gpuprims.devices()), gpuprims.Device("reference"))
    with TemporaryDirectory() as folder:
        told = Path(folder, "failures")
        done = run(["-c", EACH, told], device, json.dumps(programs), **variables)
        assert done.returncode == 0, done.stderr
        return json.loads(told.read_text())


def beside(request, argument):
    """Return the values of an argument of a test in this run; in a whole run its own, for a process of its own."""
    whole = request.config.getoption("whole")
    functions = [item for item in request.session.items if isinstance(item, pytest.Function)]  # others are doctests
    items = [request.node] if whole else [item for item in functions if item.function is request.function]
    return [item.callspec.params[argument] for item in items]


def pytest_generate_tests(metafunc):
    """Give a test each program with each device; by default each program with one, the next program with another."""
    if "program" in metafunc.fixturenames:
        specs = ASKED or (*(device.spec for device in gpuprims.devices()), "reference")
        most = len(specs) if metafunc.config.getoption("whole") else 1
        pairs = [(path, specs[(k + n - 1) % len(specs)]) for k, path in enumerate(PROGRAMS) for n in range(most)]
        metafunc.parametrize(("program", "spec"), pairs, ids=[f"{path.stem}-{spec}" for path, spec in pairs])
    if "drawing" in metafunc.fixturenames:
        waiting = set() if metafunc.config.getoption("whole") else WAITING
        drawings = [path for path in GALLERY if path.stem not in waiting]
        metafunc.parametrize("drawing", drawings, ids=[path.stem for path in drawings])


def test_an_example_runs_and_prints(program, spec):
    done = run([program], gpuprims.Device(spec))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_a_program_of_the_gallery_runs(drawing, request):
    """The site's build draws; here matplotlib's backend "template" does not."""
    programs = tuple((path.stem, path.read_text()) for path in beside(request, "drawing"))
    failed = failures(programs, MPLBACKEND="template")
    assert drawing.stem not in failed, failed[drawing.stem]


def test_programs_of_the_gallery_are_short_and_say_what_is_seen():
    assert len(GALLERY) >= 12
    for program in GALLERY:
        text = program.read_text()
        title, line, _, words = (ast.get_docstring(ast.parse(text)) or "").split("\n", 3)
        assert 20 <= len(text.splitlines()) <= 60, program
        assert line == "=" * len(title), program
        assert len(words) > 120, program


def installed(package, folder):
    """Write the metadata that pip would write for a package of ``examples``; return the folders to import from."""
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    told = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    told.mkdir()
    (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    points = project["entry-points"].items()
    (told / "entry_points.txt").write_text(
        "".join(f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in own.items()) for group, own in points)
    )
    return folder, package


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_an_example_package_passes_the_kit(package, tmp_path):
    if "single-task" in package.name and any(absence.backend == "opencl" for absence in absences()):
        pytest.skip("its kernel is for OpenCL")
    environment = child_environment(*installed(package, tmp_path))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", package, package / "tests"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout


@pytest.mark.parametrize("backend", ["cuda", "opencl:gpu"])
def test_the_kernel_of_the_example_is_one_text_for_both_backends(backend, tmp_path):
    package = ROOT / "examples" / "gpuprims-adjacent-difference"
    environment = child_environment(*installed(package, tmp_path))
    command = [sys.executable, "-m", "gpuprims", "kernels", "show", "adjacent_difference/tiles", "--device", backend]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "void adjacent_difference_tiles(INPUTS" in done.stdout
    if backend == "cuda":
        nvrtc = pytest.importorskip("cuda.bindings.nvrtc", reason="cuda-bindings is not installed")
        options = [b"--std=c++17", b"-arch=sm_90"]
        _, program = nvrtc.nvrtcCreateProgram(done.stdout.encode(), b"generated.cu", 0, [], [])
        assert nvrtc.nvrtcCompileProgram(program, len(options), options) == (nvrtc.nvrtcResult.NVRTC_SUCCESS,)


def test_the_example_of_a_primitive_is_short():
    package = ROOT / "examples" / "gpuprims-adjacent-difference"
    files = [path for path in package.rglob("*") if path.suffix in (".py", ".cl")]
    assert len(files) == 3
    assert sum(len(path.read_text().splitlines()) for path in files) < 120


def test_every_page_of_functions_has_examples():
    assert PAGES.keys() >= {"README", "docs/guide/map", "docs/howto/cuda-graphs", "docs/kernels", "docs/models"}
    assert sum(map(len, PAGES.values())) >= 24


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_the_pages_runs(page, request):
    programs = [(name, code) for name in beside(request, "page") for code in PAGES[name] if not lacks(code)]
    if not request.config.getoption("whole"):
        assert all(long in "".join(PAGES[name]) for name, (long, _) in SHORTER.items())
        shorter = [(name, code.replace(*SHORTER.get(name, ("", "")))) for name, code in programs]
        programs = [("", SHORT_COPIES), *shorter]
    failed = failures(tuple(programs))
    assert page not in failed, failed[page]


def lacks(code):
    """Return True if a program's first line imports a library that is not installed, or if its device is absent."""
    libraries = re.findall(r"\b(?:torch|jax|dask)\b", code.partition("\n")[0])
    on_a_cpu = "opencl:cpu" in code and all(device.capabilities.kind != "cpu" for device in gpuprims.devices())
    return on_a_cpu or any(not find_spec(library) for library in libraries)
