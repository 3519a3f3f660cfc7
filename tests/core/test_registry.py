"""The registry: which variant runs, what the refusals say, and packages that bring kernels or backends of their own."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from children import child_environment
from hypothesis import given, settings
from hypothesis import strategies as st

import gpuprims
from gpuprims.core import notices, plugins, registry
from gpuprims.core.registry import Registry, Variant, first_refusal
from gpuprims.core.traits import Call
from gpuprims.errors import (
    BackendUnavailableError,
    GpuprimsWarning,
    NoVariantError,
    RegistryError,
    UnknownDeviceError,
    UnknownVariantError,
)

CALL = Call((np.dtype(np.float32),), 100)
ABLE = gpuprims.Device("reference").capabilities
ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "gpuprims-single-task"


def refusing(reason: str | None) -> Callable[..., str | None]:
    return lambda capabilities, call: reason


def compute(*given: Any) -> None:
    raise AssertionError("kernels of these tests are not run")


def variant(name: str, rank: int, reason: str | None = None, **more: Any) -> Variant:
    given_ = {"primitive": "map", "backend": "fake", "source": compute, "block": 1, "items": 1} | more
    return Variant(name=name, rank=rank, refuse=refusing(reason), **given_)


@dataclass
class FakeBackend:
    """A backend without devices."""

    name: str = "fake"
    variants: Sequence[Variant] = ()
    array_library: str | None = None
    dlpack_device: int | None = None

    def from_dlpack(self, array: Any) -> Any:
        return array

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
    dist: Any = None

    def load(self) -> Any:
        self.loads.append(self.name)
        return self.loaded_value


def offer(monkeypatch: pytest.MonkeyPatch, *points: FakePoint) -> None:
    """Make these the entry points of all installed packages."""
    monkeypatch.setattr(plugins, "entry_points", lambda group: [point for point in points if point.group == group])


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

    fresh.register(Variant("map", "curious", "fake", compute, 1, 1, 1, refuse))
    select(fresh)
    assert asked == [(ABLE, CALL)]


@given(order=st.permutations(range(5)), able=st.sets(st.integers(0, 4), min_size=1))
@settings(deadline=None, max_examples=50)
def test_the_choice_does_not_depend_on_the_order_of_registration(order: Sequence[int], able: set[int]) -> None:
    made = Registry()
    made._backends["fake"] = FakeBackend()  # type: ignore[assignment]  # it has no devices
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


@pytest.fixture
def unwarned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the warnings that were given."""
    monkeypatch.setattr(notices, "_given", set())


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
    "made", [FakeBackend(variants=(variant("x", 1, block=0),)), object(), SimpleNamespace(name="fake"), None]
)
def test_a_backend_that_is_none_is_absent(monkeypatch: pytest.MonkeyPatch, made: Any) -> None:
    offer(monkeypatch, FakePoint("fake", "gpuprims.backends", made))
    known = Registry()
    with pytest.warns(GpuprimsWarning, match="goes on without a package without a name .*gpuprims.backends: fake = "):
        assert [backend.name for backend in known.backends()] == ["cuda", "opencl", "reference"]
    assert known.backend_of(list) is None
    for _ in range(2):
        with pytest.raises(BackendUnavailableError, match=r"fake: .* fails: .*to mend it: update or uninstall"):
            known.backend("fake")


@pytest.mark.usefixtures("unwarned")
@pytest.mark.parametrize("failure", [RuntimeError("lost"), SystemExit(3), KeyError("x")])
def test_a_backend_whose_devices_fail_is_absent(monkeypatch: pytest.MonkeyPatch, failure: BaseException) -> None:
    class Failing(FakeBackend):
        def drivers(self) -> Sequence[Any]:
            raise failure

    offer(monkeypatch, FakePoint("fake", "gpuprims.backends", Failing()))
    backend = Registry().backend("fake")
    with (
        pytest.warns(GpuprimsWarning, match=type(failure).__name__),
        pytest.raises(BackendUnavailableError, match="update or uninstall"),
    ):
        backend.drivers()


@pytest.mark.usefixtures("unwarned")
def test_a_damaged_file_of_entry_points_costs_one_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, text in (("bad", "[gpuprims.backends]\nno equals sign\n"), ("good", "[gpuprims.backends]\nnpu = x:y\n")):
        package(tmp_path, name, text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.warns(GpuprimsWarning, match="goes on without the entry points of bad"):
        assert [point.name for point in plugins.find_plugins("gpuprims.backends")] == ["npu"]


def package(folder: Path, name: str, points: str, code: str = "") -> None:
    """Install a package as pip does: a module and its metadata."""
    told = folder / f"{name}-1.0.dist-info"
    told.mkdir(parents=True)
    (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (told / "entry_points.txt").write_text(points)
    (folder / f"{name}.py").write_text(code)


# Faults of packages: the group of the entry point, the module, and the expected message.
KERNEL = """
import dataclasses
from gpuprims.core.registry import REGISTRY, Variant
def none(capabilities, call): return None
def sums(*given): raise AssertionError
GIVEN = dict(primitive="map", name="theirs", backend="reference", source=sums, rank=7, block=1, items=1, refuse=none)
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


def run_beside(folder: Path, code: str) -> tuple[int, str, list[str]]:
    """Run a program beside packages; return its exit status, what it printed, and the warnings."""
    environment = child_environment(folder, GPUPRIMS_TUNING="off")
    command = [sys.executable, "-W", "default", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, [line for line in done.stderr.splitlines() if "GpuprimsWarning" in line]


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


# Checks at registration


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "primitive": ({"primitive": "sort"}, "a primitive among .*map.*; got 'sort'"),
    "a name that is no word": ({"name": "my kernel"}, "a name of letters, digits and underscores; got 'my kernel'"),
    "a name that is no text": ({"name": 5}, "name of type str; got 5"),
    "a backend that is no text": ({"backend": ["opencl"]}, r"backend of type str; got \['opencl'\]"),
    "a rank that is no number": ({"rank": "high"}, "rank of type int; got 'high'"),
    "a rank that is a truth": ({"rank": True}, "rank of type int; got True"),
    "a rank of half": ({"rank": 0.5}, "rank of type int; got 0.5"),
    "no work-items": ({"block": 0}, "block from 1 to 65536; got 0"),
    "no items": ({"items": -4}, "items from 1 to .*; got -4"),
    "no groups": ({"groups_per_unit": 0}, "groups_per_unit from 1 to .*; got 0"),
    "more outputs than elements": ({"outputs_per_group": 2}, "an element or more for each of outputs_per_group; got 2"),
    "a refusal that is a sentence": ({"refuse": "never"}, "refuse of type Refusal; got 'never'"),
    "an unknown scratch": ({"scratch": "lots"}, "scratch of type one of .*; got 'lots'"),
    "an unknown window": ({"window": 3}, "window of type Window; got 3"),
    "a truth that is a number": ({"vectors": 1}, "vectors of type bool; got 1"),
    "a tunable that is none": ({"tunable": (64, 1)}, r"tunable of type Tunable \| None; got \(64, 1\)"),
    "a source that is a string": ({"source": "map_x.cl"}, "source of type .*; got 'map_x.cl'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_field_is_refused_when_it_is_registered(fresh: Registry, case: str) -> None:
    changed, message = WRONG[case]
    with pytest.raises(RegistryError, match=message):
        fresh.register(dataclasses.replace(variant("x", 1), **changed))
    assert fresh.variants("map", "fake") == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "an existing kernel file"),
        ("__kernel void map_y(int n) {}", "a kernel file with the function map_x; got .* without it"),
        (b"\xff\xfe", "a kernel file in UTF-8"),
    ],
)
def test_a_kernel_file_is_read_when_it_is_registered(tmp_path: Path, text: Any, message: str) -> None:
    path = tmp_path / "map_x.cl"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(RegistryError, match=message):
        gpuprims.register(variant("x", 12345, backend="opencl", source=path))
    with pytest.raises(RegistryError, match=r"a kernel file, as pathlib\.Path"):
        gpuprims.register(variant("x", 12345, backend="opencl"))
    with pytest.raises(RegistryError, match="a Python function"):
        gpuprims.register(variant("x", 12345, backend="reference", source=path))


@pytest.mark.parametrize("given", [None, 5, "map", {"primitive": "map"}])
def test_what_is_no_variant_is_neither_registered_nor_taken_away(given: Any) -> None:
    for act in (gpuprims.register, gpuprims.unregister):
        with pytest.raises(RegistryError, match=r"kernel: a gpuprims\.Variant; got"):
            act(given)


def test_a_variant_of_an_unknown_backend_is_refused(fresh: Registry) -> None:
    with pytest.raises(UnknownDeviceError, match=r"backend: one of .*; got 'abacus'"):
        fresh.register(variant("x", 1, backend="abacus"))


def test_what_was_registered_can_be_taken_away(fresh: Registry) -> None:
    register(fresh, variant("low", 1), variant("high", 9))
    before = fresh.generation
    fresh.unregister(variant("high", 9))
    assert fresh.generation > before
    assert select(fresh).name == "low"
    with pytest.raises(RegistryError, match="fake map/high: a variant that is registered; got one that is not"):
        fresh.unregister(variant("high", 9))
    register(fresh, variant("high", 9))  # its name and rank are free
    assert select(fresh).name == "high"


def test_calls_go_to_a_registered_function_until_it_is_taken_away() -> None:
    own = registry.REGISTRY.variants("map", "reference")[0]
    theirs = dataclasses.replace(own, name="theirs", rank=own.rank + 1)
    x = np.arange(4.0)
    gpuprims.register(theirs)
    try:
        assert gpuprims.plan("map", "x + 1", x, device="reference").variant.name == "theirs"
    finally:
        gpuprims.unregister(theirs)
    assert gpuprims.plan("map", "x + 1", x, device="reference").variant.name == "numpy"
    with pytest.raises(RegistryError, match="a variant from outside gpuprims; got one of its own"):
        gpuprims.unregister(own)


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
from gpuprims.core.traits import Call
from gpuprims.core.registry import REGISTRY

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
    from gpuprims.core.device import absences

    for absence in absences():
        if absence.backend == "opencl":
            pytest.skip(str(absence))
    command = [sys.executable, "-c", PROGRAM, str(installed), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "chosen", done.stderr
