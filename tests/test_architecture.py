"""The structure that design and CONTRIBUTING promise, read off the code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
import sanitizer
from import_map import FLOORS, MODULES, PACKAGE, PAGE, circle, drawn, floor, imports, own_imports, room

import gpuprims
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant import Variant

TESTS = Path(__file__).parent
VENDORS = {"cupy", "pyopencl", "sklearn", "tqdm", "cuda", "matplotlib", "dask"}
HOMES = {"cupy": "backends.cuda", "pyopencl": "backends.opencl", "sklearn": "models", "matplotlib": "models"}
HOMES["dask"] = "distributed"
# Libraries that rooms beside their homes import.
ALSO = {"models": {"sklearn", "tqdm"}, "cli": {"sklearn"}, "distributed": {"sklearn", "tqdm"}}


ROOMS = [module for module in MODULES if module != "gpuprims"]


@pytest.mark.parametrize("module", ROOMS)
def test_no_module_imports_from_a_floor_above(module: str) -> None:
    assert [name for name in own_imports(module) if floor(name) > floor(module)] == []


@pytest.mark.parametrize("module", ROOMS)
def test_vendors_are_imported_by_their_backends_alone(module: str) -> None:
    for name in imports(module):
        library = name.partition(".")[0]
        allowed = ALSO.get(module.split(".")[1], set())
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
    assert len(rooms) <= 17
    assert len(FLOORS) <= 10
    assert {name for floor in FLOORS for name in floor} == rooms


def test_contributing_draws_the_floors() -> None:
    page = PAGE.read_text()
    assert drawn(page) == page, "python -m tests.import_map"


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("backends/*/device.py")), ids=lambda path: path.parent.name)
def test_a_backends_device_fits_on_three_screens(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 150


def test_files_are_short() -> None:
    limits = {PACKAGE: 300, TESTS: 400}
    lines = {
        (path, most): len(path.read_text().splitlines()) for room, most in limits.items() for path in room.rglob("*.py")
    }
    assert {str(path): length for (path, most), length in lines.items() if length > most} == {}


def test_compute_sanitizer_watches_every_test_that_oclgrind_watches() -> None:
    watched = [TESTS.parent / path for path in sanitizer.PATHS]
    for path in TESTS.rglob("test_*.py"):
        if "pytest.mark.oclgrind" in path.read_text() and path != Path(__file__):
            assert any(path.is_relative_to(one) for one in watched), f"name {path} in tests/sanitizer.py"


@pytest.mark.parametrize("primitive", REGISTRY.primitive_names)
def test_oclgrind_watches_the_kernels_of_every_primitive(primitive: str) -> None:
    texts = [path.read_text() for path in (TESTS / "backends" / "watched").glob("test_*.py")]
    assert any(f'of("{primitive}")' in text for text in texts), "add a test of it to tests/backends/watched"


SHARED = sorted(PACKAGE.glob("primitives/*/kernels/*.cl"))
OWN = sorted(path for path in PACKAGE.glob("backends/*/kernels/*") if path.is_file() and path.suffix != ".h")


def kernels(backend: str) -> dict[str, Variant]:
    """Return the kernels of this package that a backend runs, by their entries."""
    known = [variant for primitive in REGISTRY.primitive_names for variant in REGISTRY.variants(primitive, backend)]
    return {variant.entry: variant for variant in known if variant.path.is_relative_to(PACKAGE)}


def test_every_kernel_text_exists_once() -> None:
    stems = [path.stem for path in (*SHARED, *OWN)]
    assert sorted(set(stems)) == sorted(stems)
    assert not list(PACKAGE.glob("primitives/**/*.cu"))
    used = {variant.source for backend in ("cuda", "opencl") for variant in kernels(backend).values()}
    assert used == {*SHARED, *OWN}


def test_a_kernel_of_one_backend_says_why() -> None:
    both = kernels("cuda").keys() & kernels("opencl").keys()
    assert len(both) >= 35
    for path in {*SHARED} - {kernels("opencl")[entry].source for entry in both}:
        header = path.read_text().partition("*/")[0]
        assert "_cpu_" in path.stem
        assert re.search(r"CPU[\s*]+threads", header), path.name
    for path in OWN:
        assert re.search(r"\n \* needs   ", path.read_text().partition("*/")[0]), path.name
        assert path.suffix == {"cuda": ".cu", "opencl": ".cl"}[path.parts[-3]]


@pytest.mark.parametrize("backend", ["cuda", "opencl"])
def test_file_entry_and_registry_agree(backend: str) -> None:
    for entry, variant in kernels(backend).items():
        text = variant.path.read_text()
        assert variant.path.stem == entry
        assert re.search(rf"\n__kernel WORK_GROUP(_RESIDENT)?\(.*\).*\nvoid {entry}\(", text)
        assert text.startswith(f"/* {variant.primitive}/{variant.name}: ")
        assert ("LOCAL_PARAMETER" in text) == variant.asks_local_memory


def test_importing_the_package_loads_no_library() -> None:
    code = "import sys, gpuprims; print(sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for library in ("numpy", "cupy", "pyopencl", "rich", "sklearn", "tqdm", "matplotlib", "dask"):
        assert f"'{library}'" not in loaded


def test_no_module_hides_a_public_name() -> None:
    names = set(gpuprims.__all__) - {"datasets", "distributed", "errors", "models", "ndimage", "xp"}
    assert names.isdisjoint(module.split(".")[1] for module in ROOMS)


def test_models_are_loaded_on_first_use() -> None:
    code = (
        "import sys, gpuprims, gpuprims.cli.main; gpuprims.map;"
        " before = 'sklearn' in sys.modules; gpuprims.models; print(before)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_a_wheel_holds_every_file_that_the_package_reads(tmp_path: Path) -> None:
    builder = pytest.importorskip("hatchling.builders.wheel", reason="hatchling, which builds wheels, is not installed")
    (wheel,) = builder.WheelBuilder(str(PACKAGE.parent)).build(directory=str(tmp_path), versions=["standard"])
    packed = set(ZipFile(wheel).namelist())
    kept = {path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".cl", ".cu", ".cuh", ".h")}
    assert {str(path.relative_to(PACKAGE.parent)) for path in kept} <= packed
    for name in ("primitives/reduce/kernels/folding.h", "core/kernels/shuffling.h", "backends/cuda/prelude.cuh"):
        assert f"gpuprims/{name}" in packed


def table(head: str) -> list[list[str]]:
    """Return the cells of a table of CONTRIBUTING, without its head."""
    rows = PAGE.read_text().partition(f"| {head} |\n")[2].partition("\n\n")[0].splitlines()[1:]
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]


def test_contributing_maps_every_room() -> None:
    rooms = [row[0].strip("` ") for row in table("room | content")]
    assert rooms == [name for names in FLOORS for name in names if name != "__main__"]


def test_contributing_names_the_parameters_of_every_kernel() -> None:
    listed = {
        (primitive, parameters.strip("`"))
        for names, parameters, _ in table("primitive | parameters | meaning")
        for primitive in names.split(", ")
    }
    heads = {}
    for path in SHARED:
        text = path.read_text()
        several = re.findall(rf"\nvoid {path.stem}\((.*?)(?: LOCAL_PARAMETER)?\)\n", text, re.DOTALL)
        assert several
        for k, head in enumerate(several):  # each launch of a kernel may have its own
            names = [re.findall(r"\w+", parameter)[-1] for parameter in head.split(",")]
            heads[path.stem + "'" * k] = path.parts[-3], ", ".join(names)
    renamed = {"slots": "replicas", "span": "replicas"}  # of a cache, of a range of bins
    special = {"descent_cpu_persistent", "stencil_cpu_rows", "stencil_rolling", "stencil_tiled"}
    found = {
        (name, re.sub(r"\w+$", lambda last: renamed.get(last[0], last[0]), given)) for name, given in heads.values()
    }
    known = {heads[entry] for entry in special}
    assert found - known - listed == set()
    assert {pair for pair in listed if "`" not in pair[1]} <= found


PATHS = re.findall(r"`((?:gpuprims|tests|bench|docs|examples|\.ci)/[\w./*-]+)`|\]\(([^)#]+)\)", PAGE.read_text())


@pytest.mark.parametrize("path", sorted({one or other for one, other in PATHS}))
def test_the_paths_of_contributing_exist(path: str) -> None:
    assert list(PAGE.parent.glob(path.rstrip("/"))), path
