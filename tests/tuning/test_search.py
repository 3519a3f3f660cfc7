"""The search finds what is faster, right and worth keeping."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tuned import HERE, NUMPY, QUICK, SIZE, runs

from gpuprims.core import tuned_choices as tuning
from gpuprims.core.geometry import Geometry, Tunable, geometries
from gpuprims.core.tuned_choices import Named, read_entries
from gpuprims.core.variant import Variant
from gpuprims.errors import (
    ArgumentError,
    BuildError,
    GpuprimsError,
    TuningError,
)
from gpuprims.primitives.map.reference import map_numpy
from gpuprims.tuning.search import Found, tune
from gpuprims.tuning.timing import Pace


def timer(times: dict[tuple[str, int], float]) -> Callable[[Variant, Any], float]:
    """Time by a table of names and items; what it lacks takes a second."""

    def time(variant: Variant, run: Callable[[], Any]) -> float:
        run()
        return times.get((variant.name, variant.items), 1.0)

    return time


def search(times: dict[tuple[str, int], float], **how: Any) -> Found:
    keywords: dict[str, Any] = {"size": SIZE, "timer": timer(times)} | how
    (found,) = tune("reference", ["map"], ["float32"], **keywords)
    return found


def test_what_is_faster_is_kept_and_used_from_then_on(path: Path, offered: Any) -> None:
    offered(QUICK)
    assert runs() == ("numpy", NUMPY.items)
    found = search({("quick", 4): 0.9, ("quick", 8): 0.5, ("quick", 16): 0.7})
    assert (str(found.chosen), found.default_seconds, found.seconds, found.gain) == ("quick 1 x 8", 1.0, 0.5, 2.0)
    assert found.tried == 5
    assert runs() == ("quick", 8)
    tuning.forget()  # as another process, which reads the file
    assert runs() == ("quick", 8)


def test_the_search_climbs_from_shape_to_shape(path: Path, offered: Any) -> None:
    offered(QUICK)
    found = search({("quick", 4): 1.2, ("quick", 2): 1.1, ("quick", 1): 0.6, ("quick", 8): 2.9, ("quick", 16): 0.1})
    assert found.chosen == Named("quick", Geometry(1, 16))  # which steps alone would not have come to


def test_a_wrong_candidate_is_dropped_before_it_is_timed(path: Path, offered: Any) -> None:
    def off_by_one(spec: Any, memories: Any, layout: Any, count: int) -> None:
        map_numpy(spec, memories, layout, count)
        memories[-1].ravel()[-1:] += 1

    timed = []

    def time(variant: Variant, run: Any) -> float:
        timed.append(variant.name)
        return 1.0 if variant.name == "numpy" else 0.01

    offered(dataclasses.replace(QUICK, name="wrong", source=off_by_one, tunable=None))
    found = search({}, timer=time)
    assert found.chosen is None
    ((named, reason),) = found.dropped
    assert named.name == "wrong"
    assert reason == "gives wrong results for elements of shape (333,)"
    assert "wrong" not in timed
    assert runs() == ("numpy", NUMPY.items)


def test_a_candidate_that_fails_is_dropped_with_its_reason(path: Path, offered: Any) -> None:
    def fail(*given: Any) -> None:
        raise BuildError("no such\n  register")

    offered(dataclasses.replace(QUICK, source=fail, tunable=None))
    assert search({("quick", 4): 0.1}).dropped == [(Named("quick", Geometry(1, 4)), "BuildError: no such register")]


def test_a_device_that_is_lost_ends_the_search(path: Path, offered: Any) -> None:
    timed = []

    def time(variant: Variant, run: Any) -> float:
        timed.append(variant.name)
        if "quick" in timed:
            raise RuntimeError("an illegal address")
        return 1.0

    offered(QUICK)
    with pytest.raises(RuntimeError, match="an illegal address"):
        search({}, timer=time)
    assert timed[-2:] == ["quick", "numpy"]


def test_a_best_rank_that_is_wrong_is_no_measure(path: Path, offered: Any) -> None:
    def nothing(*given: Any) -> None:
        pass

    offered(dataclasses.replace(QUICK, rank=9, source=nothing))
    with pytest.raises(GpuprimsError, match="a default that is right; got map_quick, which gives wrong results"):
        search({})


@pytest.mark.parametrize("fault", [{"level": "none"}])
def test_variants_whose_sums_differ_from_run_to_run_are_no_candidates(path: Path, offered: Any, fault: Any) -> None:
    offered(dataclasses.replace(QUICK, **fault))
    found = search({("quick", 4): 0.1})
    assert (found.tried, found.chosen) == (0, None)


def test_a_shape_that_does_not_fit_is_not_tried(path: Path, offered: Any) -> None:
    def fits(shape: Geometry) -> Any:
        return lambda capabilities, call: "is too much" if shape.items > 4 else None

    offered(dataclasses.replace(QUICK, tunable=Tunable(geometries((1,), (1, 2, 4, 8, 16)), fits)))
    found = search({("quick", 4): 0.9, ("quick", 8): 0.1, ("quick", 16): 0.1})
    assert (str(found.chosen), found.tried) == ("quick 1 x 4", 3)


@pytest.mark.parametrize(("seconds", "kept"), [(0.98, False), (0.96, True)])
def test_a_choice_gains_more_than_the_noise(path: Path, offered: Any, seconds: float, kept: bool) -> None:
    offered(dataclasses.replace(QUICK, tunable=None))
    assert (search({("quick", 4): seconds}).chosen is not None) == kept


def test_a_choice_does_not_lose_for_the_smallest_calls_that_it_is_for(path: Path, offered: Any) -> None:
    def time(variant: Variant, run: Any) -> float:
        return 1.0 if variant.name == "numpy" else 0.5 if run().size == SIZE else 1.1

    offered(QUICK)
    assert search({}, timer=time).chosen is None


def test_a_pace_is_faster_or_slower_three_times_out_of_four() -> None:
    assert Pace(1.0, 0.9, 0.9, 0.8, 0.99).faster_by(0.03)
    assert not Pace(1.0, 0.9, 0.9, 0.8, 1.0).faster_by(0.03)
    assert not Pace(1.0, 0.99, 0.9, 0.8, 0.95).faster_by(0.03)
    assert Pace(1.0, 1.1, 1.1, 1.01, 1.2).slower_by(0.03)
    assert not Pace(1.0, 1.1, 1.1, 0.99, 1.2).slower_by(0.03)
    assert not Pace(1.0, 1.02, 1.02, 1.01, 1.2).slower_by(0.03)


def test_a_search_that_finds_nothing_better_forgets_what_was_kept(path: Path, offered: Any) -> None:
    offered(QUICK)
    search({("quick", 8): 0.5})
    assert read_entries(path)[HERE]
    assert search({}).chosen is None
    assert read_entries(path) == {}
    assert runs() == ("numpy", NUMPY.items)


def test_nothing_is_begun_after_the_time(path: Path, offered: Any) -> None:
    now = iter(range(0, 10**6, 100))
    offered(QUICK)
    found = search({("quick", 8): 0.5}, seconds=10, clock=lambda: next(now))
    assert (found.tried, found.note) == (0, "there was no time left")


def test_what_was_found_is_kept_when_the_rest_is_broken_off(path: Path, offered: Any) -> None:
    offered(QUICK)
    finding = tune("reference", ["map"], ["float32", "int32"], size=SIZE, timer=timer({("quick", 8): 0.5}))
    next(finding)
    finding.close()
    assert [kept.dtype for kept in read_entries(path)[HERE]] == ["float32"]


def test_what_has_one_shape_is_said_so(path: Path) -> None:
    notes = [found.note for found in tune("reference", ["map", "reduce"], ["float32", "complex64"], size=100)]
    assert notes == ["has one variant, in one geometry", "is for real numbers"] * 2


@pytest.mark.parametrize(
    ("how", "got"),
    [
        ({"primitives": ["sort"]}, "got 'sort'"),
        ({"seconds": 0}, "got 0"),
        ({"size": 0}, "got 0"),
    ],
)
def test_what_cannot_be_tuned_is_refused(path: Path, how: dict[str, Any], got: str) -> None:
    with pytest.raises(ArgumentError, match=got):
        next(tune("reference", **how))


def test_tuning_that_is_off_cannot_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUPRIMS_TUNING", "off")
    with pytest.raises(ArgumentError, match="a file to keep choices in; got GPUPRIMS_TUNING=off"):
        next(tune("reference"))


def test_a_place_that_cannot_be_written_to_is_known_before_the_search(path: Path) -> None:
    path.parent.parent.joinpath("kept").write_text("a file where a folder should be")
    with pytest.raises(TuningError, match=re.escape(str(path))):
        next(tune("reference"))
