"""The structure that design and CONTRIBUTING promise, read off the code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from import_map import FLOORS, MODULES, PACKAGE, PAGE, circle, drawn, floor, imports, own_imports, room

import gpuprims
from gpuprims.core.explain import PRIMITIVES
from gpuprims.core.registry import REGISTRY

VENDORS = {"cupy", "pyopencl", "sklearn", "tqdm", "cuda", "matplotlib"}
HOMES = {"cupy": "backends.cuda", "pyopencl": "backends.opencl", "sklearn": "models", "matplotlib": "models.pictures"}
# Text around a kernel, in each dialect's own words.
AROUND = {"prelude", "exchange", "counting"}
# Kernels that one dialect has alone.
ALONE = {
    "descent_cpu_persistent": "for CPUs, which CUDA does not run on",
    "csr_cpu_rows": "for CPUs, which CUDA does not run on",
    "histogram_cpu_private": "for CPUs, which CUDA does not run on",
    "logistic_cpu_fused": "for CPUs, which CUDA does not run on",
    "map_cpu_chunks": "for CPUs, which CUDA does not run on",
    "reduce_cpu_best": "for CPUs, which CUDA does not run on",
    "reduce_cpu_chunks": "for CPUs, which CUDA does not run on",
    "reduce_cpu_columns": "for CPUs, which CUDA does not run on",
    "scan_cpu_chunks": "for CPUs, which CUDA does not run on",
    "scan_cpu_columns": "for CPUs, which CUDA does not run on",
    "segments_cpu_runs": "for CPUs, which CUDA does not run on",
    "sgd_cpu_sequential": "for CPUs, which CUDA does not run on",
    "stencil_cpu_rows": "for CPUs, which CUDA does not run on",
}


ROOMS = [module for module in MODULES if module != "gpuprims"]


@pytest.mark.parametrize("module", ROOMS)
def test_no_module_imports_from_a_floor_above(module: str) -> None:
    assert [name for name in own_imports(module) if floor(name) > floor(module)] == []


@pytest.mark.parametrize("module", ROOMS)
def test_vendors_are_imported_by_their_backends_alone(module: str) -> None:
    for name in imports(module):
        library = name.partition(".")[0]
        allowed = {"models": {"sklearn", "tqdm"}, "cli": {"sklearn"}}.get(module.split(".")[1], set())
        if library in VENDORS - allowed:
            assert module.startswith(f"gpuprims.{HOMES[library]}"), f"{module} imports {library}"


def test_importing_a_backend_imports_no_vendor() -> None:
    for backend in ("cuda", "opencl", "reference"):
        for name in imports(f"gpuprims.backends.{backend}", top_level=True):
            assert not name.endswith(".device") or backend == "reference"
            assert name.partition(".")[0] not in VENDORS


def test_primitives_know_no_backend() -> None:
    for module in MODULES:
        if module.startswith("gpuprims.primitives"):
            assert not [name for name in imports(module) if "backends" in name]


def test_imports_make_no_circle() -> None:
    assert circle() == []


def test_the_package_has_few_rooms_and_floors() -> None:
    rooms = {room(module) for module in ROOMS}
    assert len(rooms) <= 12
    assert len(FLOORS) <= 10
    assert {name for floor in FLOORS for name in floor} == rooms


def test_contributing_draws_the_floors() -> None:
    page = PAGE.read_text()
    assert drawn(page) == page, "python -m tests.import_map"


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("backends/*/device.py")), ids=lambda path: path.parent.name)
def test_a_backends_device_fits_on_three_screens(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 150


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_room_has_at_most_400_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400


def kernels(dialect: str) -> dict[str, Path]:
    folder = {"cl": "opencl", "cu": "cuda"}[dialect]
    own = (PACKAGE / "backends" / folder / "kernels").glob(f"*.{dialect}")
    return {path.stem: path for path in (*own, *PACKAGE.glob(f"primitives/*/kernels/*.{dialect}"))}


def test_every_kernel_has_its_twin() -> None:
    assert set(kernels("cl")) ^ set(kernels("cu")) == set(ALONE)


def test_twins_differ_in_dialect_words_alone() -> None:
    words = {
        r'extern "C" __global__': "__kernel",
        r"__launch_bounds__\(BLOCK(, [^)]*)?\)": "__attribute__((reqd_work_group_size(BLOCK, 1, 1)))",
        r"\bthreadIdx\.x": "get_local_id(0)",
        r"\bblockIdx\.x": "get_group_id(0)",
        r"\bgridDim\.x": "get_num_groups(0)",
        r"__shared__": "__local",
        r"__syncthreads\(\)": "barrier(CLK_LOCAL_MEM_FENCE)",
    }
    for stem in set(kernels("cl")) & set(kernels("cu")) - AROUND:
        text = kernels("cu")[stem].read_text()
        for cuda, opencl in words.items():
            text = re.sub(cuda, opencl, text)
        assert text == kernels("cl")[stem].read_text()


@pytest.mark.parametrize("dialect", ["cl", "cu"])
def test_file_entry_and_registry_agree(dialect: str) -> None:
    backend = {"cl": "opencl", "cu": "cuda"}[dialect]
    known = [variant for primitive in PRIMITIVES for variant in REGISTRY.variants(primitive, backend)]
    variants = {variant.entry: variant for variant in known if variant.path.is_relative_to(PACKAGE)}
    files = {stem: path for stem, path in kernels(dialect).items() if stem not in AROUND}
    assert {entry: variant.source for entry, variant in variants.items()} == files
    for stem, path in files.items():
        assert re.search(rf"\nvoid {stem}\(", path.read_text())
        assert path.read_text().startswith(f"/* {stem.replace('_', '/', 1)}: ")
        assert ("LOCAL_PARAMETER" in path.read_text()) == variants[stem].asks_local_memory


def test_importing_the_package_loads_no_library() -> None:
    code = "import sys, gpuprims; print(sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for library in ("numpy", "cupy", "pyopencl", "sklearn", "tqdm", "matplotlib"):
        assert f"'{library}'" not in loaded


def test_no_module_hides_a_public_name() -> None:
    names = set(gpuprims.__all__) - {"errors", "models"}
    assert names.isdisjoint(module.split(".")[1] for module in ROOMS)


def test_models_are_loaded_on_first_use() -> None:
    code = "import sys, gpuprims; gpuprims.map; before = 'sklearn' in sys.modules; gpuprims.models; print(before)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_a_wheel_holds_every_file_that_the_package_reads(tmp_path: Path) -> None:
    builder = pytest.importorskip("hatchling.builders.wheel", reason="hatchling, which builds wheels, is not installed")
    (wheel,) = builder.WheelBuilder(str(PACKAGE.parent)).build(directory=str(tmp_path), versions=["standard"])
    packed = set(ZipFile(wheel).namelist())
    kept = {path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".cl", ".cu", ".h")}
    assert {str(path.relative_to(PACKAGE.parent)) for path in kept} <= packed
    for name in ("primitives/reduce/kernels/folding.h", "core/kernels/shuffling.h", "backends/opencl/progress.cl"):
        assert f"gpuprims/{name}" in packed
