"""The registry: which variant runs, what the refusals say, and packages that bring kernels or backends of their own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpuprims
from gpuprims import registry
from gpuprims.calls import Call
from gpuprims.errors import NoVariantError, RegistryError, UnknownDeviceError, UnknownVariantError
from gpuprims.registry import Registry, Variant, first_refusal

CALL = Call((np.dtype(np.float32),), 100)
ABLE = gpuprims.Device("reference").capabilities
ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "gpuprims-single-task"


def refusing(reason: str | None) -> Callable[..., str | None]:
    return lambda capabilities, call: reason


def variant(name: str, rank: int, reason: str | None = None, **more: Any) -> Variant:
    given_ = {"primitive": "map", "backend": "fake", "source": Path("none"), "block": 1, "items": 1} | more
    return Variant(name=name, rank=rank, refuse=refusing(reason), **given_)


@dataclass
class FakeBackend:
    """A backend without devices."""

    name: str = "fake"
    variants: Sequence[Variant] = ()

    def drivers(self) -> Sequence[Any]:
        return ()

    def driver_of(self, array: Any) -> None:
        return None


@dataclass
class FakePoint:
    """An entry point that counts how often it is loaded."""

    name: str
    group: str
    loaded_value: Any = None
    value: str = "some.package:THING"
    loads: list[str] = field(default_factory=list)

    def load(self) -> Any:
        self.loads.append(self.name)
        return self.loaded_value


def offer(monkeypatch: pytest.MonkeyPatch, *points: FakePoint) -> None:
    """Make these the entry points of all installed packages."""
    monkeypatch.setattr(registry, "entry_points", lambda group: [point for point in points if point.group == group])


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Registry:
    """A registry that knows one more backend, ``fake``, with no variants yet."""
    offer(monkeypatch, FakePoint("fake", "gpuprims.backends", FakeBackend()))
    return Registry()


def select(of: Registry, name: str | None = None) -> Variant:
    return of.select("map", "fake", "<a device>", ABLE, CALL, name)


def register(into: Registry, *variants: Variant) -> None:
    for each in variants:
        into.register(each)


# Choosing


def test_the_highest_able_rank_is_chosen(fresh: Registry) -> None:
    register(fresh, variant("low", 1), variant("high", 9, "is too good"), variant("middle", 5))
    assert select(fresh).name == "middle"


def test_variants_are_listed_best_rank_first(fresh: Registry) -> None:
    register(fresh, variant("b", 1), variant("c", -7), variant("a", 9))
    assert [v.name for v in fresh.variants("map", "fake")] == ["a", "b", "c"]


def test_primitives_do_not_mix(fresh: Registry) -> None:
    register(fresh, variant("tree", 1), variant("tree", 1, primitive="reduce"))
    assert [v.primitive for v in fresh.variants("map", "fake")] == ["map"]


def test_a_refusal_is_asked_with_the_capabilities_and_the_call(fresh: Registry) -> None:
    asked = []

    def refuse(capabilities: Any, call: Any) -> None:
        asked.append((capabilities, call))

    fresh.register(Variant("map", "curious", "fake", Path("none"), 1, 1, 1, refuse))
    select(fresh)
    assert asked == [(ABLE, CALL)]


@given(order=st.permutations(range(5)), able=st.sets(st.integers(0, 4), min_size=1))
@settings(deadline=None, max_examples=50)
def test_the_choice_does_not_depend_on_the_order_of_registration(order: Sequence[int], able: set[int]) -> None:
    made = Registry()
    made._backends["fake"] = FakeBackend()
    register(made, *(variant(f"v{k}", k, None if k in able else "cannot") for k in order))
    assert select(made).name == f"v{max(able)}"
    assert [v.rank for v in made.variants("map", "fake")] == [4, 3, 2, 1, 0]


def test_every_registration_is_a_new_generation(fresh: Registry) -> None:
    before = fresh.generation
    register(fresh, variant("a", 1), variant("b", 2))
    assert fresh.generation > before


def test_the_first_rule_that_objects_gives_the_reason() -> None:
    assert first_refusal(refusing(None), refusing("is one"), refusing("is two"))(ABLE, CALL) == "is one"
    assert first_refusal(refusing(None), refusing(None))(ABLE, CALL) is None
    assert first_refusal()(ABLE, CALL) is None


# Claims


def test_a_name_is_claimed_once(fresh: Registry) -> None:
    register(fresh, variant("tree", 1))
    with pytest.raises(RegistryError, match="fake map/tree: a name claimed once; got a second variant of that name"):
        fresh.register(variant("tree", 2))
    assert [v.rank for v in fresh.variants("map", "fake")] == [1]


def test_a_rank_is_claimed_once(fresh: Registry) -> None:
    register(fresh, variant("tree", 7))
    with pytest.raises(RegistryError, match="fake map/warp: a rank of its own; got 7, which 'tree' has"):
        fresh.register(variant("warp", 7))
    assert [v.name for v in fresh.variants("map", "fake")] == ["tree"]


def test_a_registry_error_is_a_value_error() -> None:
    assert issubclass(RegistryError, ValueError)
    assert issubclass(NoVariantError, RegistryError)
    assert issubclass(UnknownVariantError, RegistryError)


def test_this_librarys_own_names_and_ranks_are_taken() -> None:
    tree = next(v for v in registry.REGISTRY.variants("reduce", "reference"))
    with pytest.raises(RegistryError, match="a name claimed once"):
        gpuprims.register(tree)


# Refusals


def test_an_error_lists_every_refusal(fresh: Registry) -> None:
    register(fresh, variant("a", 1, "wants a GPU"), variant("b", 2, "wants float64"))
    with pytest.raises(NoVariantError, match="map: a variant able to run the call; got a refusal: wants") as caught:
        select(fresh)
    for line in ("wants a GPU", "wants float64", "rank 1", "rank 2", "<a device>"):
        assert line in str(caught.value)


@pytest.mark.parametrize(
    ("reasons", "said"),
    [
        (["is for CPUs", "needs float64", "needs shuffles", "needs float64"], "needs float64"),
        (["is for CPUs", "needs shuffles", "needs groups", "adds in any order"], "needs groups"),
        (["is for CPUs", "is for CPUs", "adds in any order"], "adds in any order"),
        (["is for GPUs", "is for many rows"], "is for many rows"),
    ],
)
def test_an_error_begins_with_what_the_device_lacks(fresh: Registry, reasons: list[str], said: str) -> None:
    register(fresh, *(variant(f"v{k}", 9 - k, reason) for k, reason in enumerate(reasons)))
    with pytest.raises(NoVariantError) as caught:
        select(fresh)
    assert str(caught.value).splitlines()[0] == f"map: a variant able to run the call; got a refusal: {said}"


def test_explain_prints_the_list_that_the_error_holds(fresh: Registry) -> None:
    register(fresh, variant("a", 1, "wants a GPU"), variant("b", 2, "wants float64"))
    explanation = fresh.explain("map", "fake", "<a device>", ABLE, CALL)
    with pytest.raises(NoVariantError) as caught:
        select(fresh)
    assert str(explanation) in str(caught.value)
    assert explanation.chosen is None


def test_explain_says_who_is_chosen_who_is_able_and_who_refused(fresh: Registry) -> None:
    register(fresh, variant("slow", 1), variant("fast", 2), variant("best", 3, "wants a GPU"))
    explanation = fresh.explain("map", "fake", "<a device>", ABLE, CALL)
    assert explanation.chosen is not None
    assert explanation.chosen.name == "fast"
    assert [line.split() for line in str(explanation).splitlines()] == [
        ["map", "on", "<a", "device>:"],
        ["refused", "best", "rank", "3"],
        ["wants", "a", "GPU"],
        ["chosen", "fast", "rank", "2"],
        ["able", "slow", "rank", "1"],
    ]


def test_a_variant_asked_for_by_name_is_obeyed(fresh: Registry) -> None:
    register(fresh, variant("slow", 1), variant("fast", 2))
    assert select(fresh, "slow").name == "slow"


def test_a_variant_asked_for_by_name_never_falls_back(fresh: Registry) -> None:
    register(fresh, variant("slow", 1), variant("fast", 2, "wants a GPU"))
    with pytest.raises(NoVariantError, match="map: variant 'fast' able to run the call; got a refusal: wants a GPU"):
        select(fresh, "fast")


def test_an_unknown_variant_is_refused_with_the_known_ones(fresh: Registry) -> None:
    register(fresh, variant("slow", 1), variant("fast", 2))
    with pytest.raises(UnknownVariantError, match="a variant among 'fast', 'slow'; got 'fastest'"):
        select(fresh, "fastest")


def test_a_primitive_without_variants_says_so(fresh: Registry) -> None:
    with pytest.raises(UnknownVariantError, match="a variant among none at all; got 'tree'"):
        select(fresh, "tree")
    with pytest.raises(NoVariantError):
        select(fresh)


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


@pytest.mark.parametrize("name", ["cuda", "opencl", "reference"])
def test_a_package_cannot_claim_a_backend_of_this_library(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    offer(monkeypatch, FakePoint(name, "gpuprims.backends"))
    with pytest.raises(
        RegistryError, match=f"backend '{name}': a name claimed once; got a second claim by some.package"
    ):
        _ = Registry().backend_names


def test_two_packages_cannot_claim_one_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, FakePoint("npu", "gpuprims.backends"), FakePoint("npu", "gpuprims.backends"))
    with pytest.raises(RegistryError, match="backend 'npu': a name claimed once"):
        Registry().backend("npu")


def test_two_packages_cannot_claim_one_variant(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [FakePoint(f"p{k}", "gpuprims.kernels.reference", [variant("x", k, backend="reference")]) for k in (5, 6)]
    offer(monkeypatch, *points)
    with pytest.raises(RegistryError, match="reference map/x: a name claimed once"):
        Registry().variants("map", "reference")


def test_a_claim_that_fails_once_fails_again(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, FakePoint("p", "gpuprims.kernels.reference", [variant("x", 0, backend="reference")]))
    made, messages = Registry(), []
    for _ in range(2):
        with pytest.raises(RegistryError, match="a rank of its own") as caught:
            made.variants("map", "reference")
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


# The example package


def test_the_example_package_is_short() -> None:
    files = [path for path in EXAMPLE.rglob("*") if path.is_file() and path.suffix not in (".pyc", ".md")]
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
from gpuprims.calls import Call
from gpuprims.registry import REGISTRY

small, large = (Call((np.dtype(np.float32),), 1, outputs) for outputs in (10, 10_000))
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
    from gpuprims.device import absences

    for absence in absences():
        if absence.backend == "opencl":
            pytest.skip(str(absence))
    command = [sys.executable, "-c", PROGRAM, str(installed), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "chosen", done.stderr
