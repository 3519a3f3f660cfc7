"""Installed packages that bring kernels, backends or primitives of their own."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from packages import (
    ROOT,
    FakeBackend,
    FakePoint,
    offer,
    package,
    register,
    run_beside,
    select,
    variant,
)

from gpuprims.core import notices, plugins
from gpuprims.core.geometry import Geometry
from gpuprims.core.registry import Registry
from gpuprims.errors import (
    BackendUnavailableError,
    GpuprimsWarning,
    NoVariantError,
    UnknownDeviceError,
)

EXAMPLE = ROOT / "examples" / "gpuprims-single-task"


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Registry:
    """A registry that knows one more backend, ``fake``, with no variants yet."""
    offer(monkeypatch, FakePoint("fake", "gpuprims.backends", FakeBackend()))
    return Registry()


@pytest.fixture
def unwarned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the warnings that were given."""
    monkeypatch.setattr(notices, "_given", set())


# Installed packages


def test_an_unknown_backend_is_refused_with_the_known_ones(fresh: Registry) -> None:
    with pytest.raises(UnknownDeviceError, match="backend: one of cuda, opencl, reference, fake; got 'metal'"):
        fresh.backend("metal")


def test_a_backend_of_a_package_is_known_by_its_entry_point(fresh: Registry) -> None:
    assert fresh.backend_names == ("cuda", "opencl", "reference", "fake")
    assert fresh.backend("fake").name == "fake"


def test_a_backend_of_a_package_brings_its_variants(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, FakePoint("fake", "gpuprims.backends", FakeBackend(variants=(variant("own", 3),))))
    assert [v.name for v in Registry().variants("map", "fake")] == ["own"]


def test_kernels_of_a_package_join_a_backends_own(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = [variant("third", 4, backend="reference"), variant("fourth", -4, backend="reference")]
    offer(monkeypatch, FakePoint("anything", "gpuprims.kernels.reference", kernels))
    assert [v.name for v in Registry().variants("map", "reference")] == ["third", "numpy", "fourth"]


def test_packages_are_loaded_when_their_backend_is_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = FakePoint("fake", "gpuprims.backends", FakeBackend())
    kernels = FakePoint("more", "gpuprims.kernels.fake", [variant("more", 1)])
    others = FakePoint("others", "gpuprims.kernels.opencl", [])
    offer(monkeypatch, backend, kernels, others)
    made = Registry()
    assert made.backend_names[-1] == "fake"
    assert (backend.loads, kernels.loads) == ([], [])
    for _ in range(2):
        made.variants("map", "fake")
    assert (backend.loads, kernels.loads, others.loads) == (["fake"], ["more"], [])


@pytest.mark.usefixtures("unwarned")
@pytest.mark.parametrize("name", ["cuda", "opencl", "reference"])
def test_a_package_cannot_claim_a_backend_of_this_library(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    offer(monkeypatch, FakePoint(name, "gpuprims.backends"))
    with pytest.warns(GpuprimsWarning, match=f"without .*backend '{name}': a name claimed once.*gpuprims itself"):
        assert Registry().backend_names == ("cuda", "opencl", "reference")


@pytest.mark.usefixtures("unwarned")
@pytest.mark.parametrize("turned", [False, True])
def test_of_two_packages_that_claim_one_backend_the_first_by_name_has_it(
    monkeypatch: pytest.MonkeyPatch, turned: bool
) -> None:
    points = [
        FakePoint("npu", "gpuprims.backends", FakeBackend("npu"), dist=SimpleNamespace(name=name)) for name in "ab"
    ]
    offer(monkeypatch, *(points[::-1] if turned else points))
    made = Registry()
    with pytest.warns(GpuprimsWarning, match="goes on without b .*'npu': a name claimed once; .* after that of a "):
        assert made.backend("npu").name == "npu"
    assert (points[0].loads, points[1].loads) == (["npu"], [])


@pytest.mark.usefixtures("unwarned")
@pytest.mark.parametrize("turned", [False, True])
def test_of_two_packages_that_claim_one_variant_the_first_by_name_has_it(
    monkeypatch: pytest.MonkeyPatch, turned: bool
) -> None:
    points = [FakePoint(f"p{k}", "gpuprims.kernels.reference", [variant("x", k, backend="reference")]) for k in (5, 6)]
    offer(monkeypatch, *(points[::-1] if turned else points))
    with pytest.warns(GpuprimsWarning, match="goes on without .*p6 = some.*: reference map/x: a name claimed once"):
        assert [v.rank for v in Registry().variants("map", "reference")] == [5, 0]


@pytest.mark.usefixtures("unwarned")
def test_a_package_is_left_out_whole_and_warned_of_once(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = [variant(name, rank, backend="reference") for name, rank in (("good", 3), ("x", 0))]
    offer(monkeypatch, FakePoint("p", "gpuprims.kernels.reference", kernels))
    made = Registry()
    with pytest.warns(GpuprimsWarning, match="a rank of its own; got 0, which 'numpy' has"):
        assert [v.name for v in made.variants("map", "reference")] == ["numpy"]
    assert [v.name for v in made.variants("map", "reference")] == ["numpy"]  # a second warning would be an error


@pytest.mark.usefixtures("unwarned")
def test_a_package_may_use_gpuprims_while_it_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Registry()

    class Asking(FakePoint):
        def load(self) -> Any:
            assert [v.name for v in made.variants("map", "reference")] == ["numpy"]
            return super().load()

    offer(monkeypatch, Asking("p", "gpuprims.kernels.reference", [variant("x", 5, backend="reference")]))
    assert [v.name for v in made.variants("map", "reference")] == ["x", "numpy"]


@pytest.mark.usefixtures("unwarned")
@pytest.mark.parametrize("answer", [ValueError("broken"), True, 5, "raises KeyError"])
def test_a_refusal_that_fails_refuses_and_is_warned_of(fresh: Registry, answer: Any) -> None:
    def refuse(capabilities: Any, call: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return {}["no such key"] if isinstance(answer, str) else answer

    register(fresh, variant("sound", 1), dataclasses.replace(variant("broken", 9), refuse=refuse))
    with pytest.warns(GpuprimsWarning, match="goes on without fake map/broken of gpuprims.register: its refuse"):
        assert select(fresh).name == "sound"
    assert select(fresh).name == "sound"
    with pytest.raises(NoVariantError, match="variant 'broken' able to run the call; got a refusal: does not run"):
        select(fresh, "broken")


@pytest.mark.usefixtures("unwarned")
@pytest.mark.parametrize(
    "made",
    [FakeBackend(variants=(variant("x", 1, geometry=Geometry(0, 1)),)), object(), SimpleNamespace(name="fake"), None],
)
def test_a_backend_that_is_none_is_absent(monkeypatch: pytest.MonkeyPatch, made: Any) -> None:
    offer(monkeypatch, FakePoint("fake", "gpuprims.backends", made))
    known = Registry()
    with pytest.warns(GpuprimsWarning, match="goes on without a package without a name .*gpuprims.backends: fake = "):
        assert [backend.name for backend in known.backends()] == ["cuda", "opencl", "reference"]
    assert known.backend_of(list) is None
    for _ in range(2):
        with pytest.raises(BackendUnavailableError, match=r"fake: .* fails: .*to fix it: update or uninstall"):
            known.backend("fake")


@pytest.mark.usefixtures("unwarned")
@pytest.mark.parametrize("failure", [RuntimeError("lost"), SystemExit(3), KeyError("x")])
def test_a_backend_whose_devices_fail_is_absent(monkeypatch: pytest.MonkeyPatch, failure: BaseException) -> None:
    class Failing(FakeBackend):
        def drivers(self) -> Sequence[Any]:
            raise failure

    offer(monkeypatch, FakePoint("fake", "gpuprims.backends", Failing()))
    known = Registry()
    known.backend("fake")
    with (
        pytest.warns(GpuprimsWarning, match=type(failure).__name__),
        pytest.raises(BackendUnavailableError, match="update or uninstall"),
    ):
        known.drivers("fake")


@pytest.mark.usefixtures("unwarned")
def test_a_damaged_file_of_entry_points_costs_one_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, text in (("bad", "[gpuprims.backends]\nno equals sign\n"), ("good", "[gpuprims.backends]\nnpu = x:y\n")):
        package(tmp_path, name, text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.warns(GpuprimsWarning, match="goes on without the entry points of bad"):
        assert [point.name for point in plugins.find_plugins("gpuprims.backends")] == ["npu"]


def test_entry_points_are_read_once_for_each_search_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package(tmp_path, "good", "[gpuprims.backends]\nnpu = x:y\n")
    read: list[Path] = []
    monkeypatch.setattr(plugins, "entry_points", lambda: (read.append(tmp_path), entry_points())[1])
    plugins.select_in.cache_clear()
    before = plugins.find_plugins("gpuprims.backends")
    assert plugins.find_plugins("gpuprims.backends") == before
    monkeypatch.syspath_prepend(tmp_path)
    names = [point.name for group in ("backends", "primitives") for point in plugins.find_plugins(f"gpuprims.{group}")]
    assert "npu" in names
    assert len(read) == 2


# Faults of packages: the group of the entry point, the module, and the expected message.
KERNEL = """
import dataclasses
from gpuprims import Geometry, Variant
from gpuprims.core.registry import REGISTRY
def none(capabilities, call): return None
def sums(*given): raise AssertionError
PLACE = dict(primitive="map", name="theirs", backend="reference", source=sums)
GIVEN = PLACE | dict(rank=7, geometry=Geometry(1, 1), refuse=none)
"""
BROKEN: dict[str, tuple[str, str, str]] = {
    "import": ("kernels.reference", "import no_such_module", "ModuleNotFoundError"),
    "exit": ("kernels.reference", "import sys; sys.exit(3)", "SystemExit"),
    "attribute": ("kernels.reference", "", "AttributeError"),
    "syntax": ("kernels.reference", "def", "SyntaxError"),
    "rank": (
        "kernels.reference",
        KERNEL + "THING = [Variant(**GIVEN | dict(name='ranked', rank=0))]",
        "a rank of its own",
    ),
    "name": ("kernels.reference", KERNEL + "THING = [Variant(**GIVEN | dict(name='numpy'))]", "a name claimed once"),
    "thing": ("kernels.reference", "THING = [5]", "a gpuprims.Variant; got int 5"),
    "number": ("kernels.reference", "THING = 5", "TypeError"),
    "file": (
        "kernels.opencl",
        KERNEL + "import pathlib\nTHING = [Variant(**GIVEN | dict(backend='opencl', source=pathlib.Path('gone.cl')))]",
        "an existing kernel file; got 'gone.cl'",
    ),
    "elsewhere": ("kernels.opencl", KERNEL + "THING = [Variant(**GIVEN)]", "backend 'opencl', as the entry point"),
    "backend": ("backends", "raise RuntimeError('no driver')", "no driver"),
    "devices": (
        "backends",
        "class THING:\n variants, array_library, dlpack_device, driver_of, from_dlpack = (), None, None, None, None\n"
        " def drivers(): raise OSError('lost')",
        "OSError",
    ),
    "asked": (
        "kernels.reference",
        KERNEL + "def asked(a, b): raise KeyError('units')\nTHING = [Variant(**GIVEN | dict(refuse=asked))]",
        "its refuse raises KeyError",
    ),
}
CALLS = """
import gpuprims, gpuprims.cli.main, gpuprims.core.registry
assert gpuprims.reduce([1, 2, 3], device="reference") == 6
assert gpuprims.map("2*x", [1, 2], device="reference").tolist() == [2, 4]
assert gpuprims.core.registry.REGISTRY.backend("opencl")
raise SystemExit(gpuprims.cli.main.main(["info"]))
"""


def test_packages_that_fail_cost_a_warning_each_and_nothing_else(tmp_path: Path) -> None:
    for name, (group, code, _) in BROKEN.items():
        package(tmp_path, f"broken_{name}", f"[gpuprims.{group}]\np_{name} = broken_{name}:THING\n", code)
    good = KERNEL + "THING = [Variant(**GIVEN | dict(name='good', rank=-1))]"
    package(tmp_path, "good", "[gpuprims.kernels.reference]\ngood = good:THING\n", good)
    status, out, warned = run_beside(tmp_path, CALLS)
    assert status == 0
    assert re.search(r"^reference:0 .*yes$", out, re.MULTILINE)
    for name, (group, _, cause) in BROKEN.items():
        (line,) = [line for line in warned if f"broken_{name} (" in line]
        assert f"(entry point gpuprims.{group}: p_{name} = broken_{name}:THING)" in line
        assert cause in line
    assert len(warned) == len(BROKEN)
    assert "p_backend is absent: broken_backend (entry point" in out
    assert "update or uninstall broken_devices" in out


# The example package


def test_the_example_package_is_short() -> None:
    package = [EXAMPLE / "pyproject.toml", *(EXAMPLE / "gpuprims_single_task").rglob("*")]
    files = [path for path in package if path.is_file() and path.suffix not in (".pyc", ".md")]
    lines = sum(len(path.read_text().splitlines()) for path in files)
    assert {path.suffix for path in files} == {".toml", ".py", ".cl"}
    assert lines < 60


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the example package is installed in."""
    folder = tmp_path_factory.mktemp("installed")
    pytest.importorskip("hatchling", reason="hatchling, which builds the example package, is not installed")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet"]
    pip = [sys.executable, "-m", "pip", "install", *options, "--target", str(folder), str(EXAMPLE)]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


PROGRAM = """
import sys
sys.path[:0] = sys.argv[1:]
import numpy as np
import gpuprims
from gpuprims.core.traits import CallTraits
from gpuprims.core.registry import REGISTRY

small, large = (CallTraits((np.dtype(np.float32),), 1, outputs) for outputs in (10, 10_000))
listed = [variant.name for variant in REGISTRY.variants("map", "opencl")]
assert listed[0] == "single_task", listed
device = gpuprims.Device("opencl")
assert device.select("map", small).name == "single_task", device.explain("map", small)
assert device.select("map", large).name != "single_task", device.explain("map", large)
assert "single_task" in str(device.explain("map", large))
x = np.arange(10, dtype=np.float32)
np.testing.assert_array_equal(gpuprims.map("2*x + 1", x, device=device), 2 * x + 1)
np.testing.assert_array_equal(gpuprims.map("2*x + 1", x, device=device, variant="single_task"), 2 * x + 1)
print("chosen")
"""


def test_an_installed_kernel_package_is_chosen_and_computes(installed: Path) -> None:
    pytest.importorskip("pyopencl")
    from gpuprims.core.device import absences

    for absence in absences():
        if absence.backend == "opencl":
            pytest.skip(str(absence))
    command = [sys.executable, "-c", PROGRAM, str(installed), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "chosen", done.stderr
