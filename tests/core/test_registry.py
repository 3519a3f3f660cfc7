"""The registry: which variant runs, what the refusals say, and what is checked at registration."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packages import (
    ABLE,
    CALL,
    DEVICE,
    FakeBackend,
    FakePoint,
    compute,
    explain,
    offer,
    refusing,
    register,
    select,
    variant,
)

import gpuprims
from gpuprims.core import registry
from gpuprims.core.geometry import Geometry, first_refusal
from gpuprims.core.registry import Registry
from gpuprims.core.variant import Variant
from gpuprims.errors import (
    NoVariantError,
    RegistryError,
    UnknownDeviceError,
    UnknownVariantError,
)


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Registry:
    """A registry that knows one more backend, ``fake``, with no variants yet."""
    offer(monkeypatch, FakePoint("fake", "gpuprims.backends", FakeBackend()))
    return Registry()


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

    fresh.register(Variant("map", "curious", "fake", compute, 1, Geometry(1, 1), refuse))
    select(fresh)
    assert asked == [(ABLE, CALL)]


@given(order=st.permutations(range(5)), able=st.sets(st.integers(0, 4), min_size=1))
@settings(max_examples=50)
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
    for line in ("wants a GPU", "wants float64", "rank 1", "rank 2", "fake:0"):
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
    explanation = explain(fresh)
    with pytest.raises(NoVariantError) as caught:
        select(fresh)
    assert str(explanation) in str(caught.value)
    assert explanation.chosen is None


def test_explain_says_who_is_chosen_who_is_able_and_who_refused(fresh: Registry) -> None:
    register(fresh, variant("slow", 1), variant("fast", 2), variant("best", 3, "wants a GPU"))
    explanation = explain(fresh)
    assert explanation.chosen is not None
    assert explanation.chosen.name == "fast"
    assert [line.split() for line in str(explanation).splitlines()] == [
        ["map", "on", *f"{DEVICE.spec}, {DEVICE.capabilities.name}:".split()],
        ["refused", "best", "rank", "3", "run"],
        ["wants", "a", "GPU"],
        ["chosen", "fast", "rank", "2", "run"],
        ["able", "slow", "rank", "1", "run"],
    ]


def test_a_variant_asked_for_by_name_is_obeyed(fresh: Registry) -> None:
    register(fresh, variant("slow", 1), variant("fast", 2))
    assert select(fresh, "slow").name == "slow"


def test_a_variant_asked_for_by_name_never_falls_back(fresh: Registry) -> None:
    register(fresh, variant("slow", 1), variant("fast", 2, "wants a GPU"))
    with pytest.raises(NoVariantError, match="map: variant 'fast' able to run the call; got a refusal: wants a GPU"):
        select(fresh, "fast")


def test_a_variant_that_yields_a_call_runs_it_by_name(fresh: Registry) -> None:
    small = dataclasses.replace(variant("fast", 2), yields=refusing("is faster for more"))
    register(fresh, variant("slow", 1), small)
    assert select(fresh).name == "slow"
    assert "is faster for more" in str(explain(fresh))
    assert select(fresh, "fast").name == "fast"
    with fresh.outranking(small):
        assert select(fresh).name == "fast"


def test_an_unknown_variant_is_refused_with_the_known_ones(fresh: Registry) -> None:
    register(fresh, variant("slow", 1), variant("fast", 2))
    with pytest.raises(UnknownVariantError, match="a variant among 'fast', 'slow'; got 'fastest'"):
        select(fresh, "fastest")


def test_a_primitive_without_variants_says_so(fresh: Registry) -> None:
    with pytest.raises(UnknownVariantError, match="a variant among none at all; got 'tree'"):
        select(fresh, "tree")
    with pytest.raises(NoVariantError):
        select(fresh)


# Checks at registration


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "primitive": ({"primitive": "turn"}, "a primitive among .*map.*; got 'turn'"),
    "a name that is no word": ({"name": "my kernel"}, "a name of letters, digits and underscores; got 'my kernel'"),
    "a name that is no text": ({"name": 5}, "name of type str; got 5"),
    "a backend that is no text": ({"backend": ["opencl"]}, r"backend of type str; got \['opencl'\]"),
    "a rank that is no number": ({"rank": "high"}, "rank of type int; got 'high'"),
    "a rank that is a truth": ({"rank": True}, "rank of type int; got True"),
    "a rank of half": ({"rank": 0.5}, "rank of type int; got 0.5"),
    "no work-items": ({"geometry": Geometry(0, 1)}, "block from 1 to 65536; got 0"),
    "no items": ({"geometry": Geometry(1, -4)}, "items from 1 to .*; got -4"),
    "no groups": ({"geometry": Geometry(1, 1, 0)}, "groups_per_unit from 1 to .*; got 0"),
    "more outputs than elements": ({"outputs_per_group": 2}, "an element or more for each of outputs_per_group; got 2"),
    "a refusal that is a sentence": ({"refuse": "never"}, "refuse of type Refusal; got 'never'"),
    "a geometry that is none": ({"geometry": (1, 1)}, r"geometry of type Geometry; got \(1, 1\)"),
    "half a work-item": ({"geometry": Geometry(0.5, 1)}, "geometry of type Geometry; got Geometry"),  # type: ignore[arg-type]  # as given
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
