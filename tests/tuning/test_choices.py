"""When a choice is used."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tuned import HERE, NUMPY, QUICK, SIZE, X, entry, runs

import gpuprims
from gpuprims.cli import main as cli
from gpuprims.cli.tune import state_of
from gpuprims.core.geometry import Geometry
from gpuprims.core.traits import CallTraits
from gpuprims.core.tuned_choices import Named, keep, read_entries, write_entries
from gpuprims.primitives.histogram.traits import HistogramTraits
from gpuprims.primitives.stencil.traits import Neighbourhood, StencilTraits


def test_a_choice_is_for_calls_like_the_one_that_was_measured(path: Path, offered: Any) -> None:
    offered(QUICK)
    write_entries(path, {HERE: [entry()]})
    assert runs() == ("quick", 8)
    assert runs(X.reshape(64, 64)) == ("quick", 8)
    assert runs(X[:256]) == ("quick", 8)
    assert runs(X[:255]) == ("numpy", NUMPY.items)
    assert runs(X.astype(np.int32)) == ("numpy", NUMPY.items)
    assert runs(X.astype(np.float64)) == ("numpy", NUMPY.items)


def test_a_variant_asked_for_by_name_is_obeyed(path: Path, offered: Any) -> None:
    offered(QUICK)
    write_entries(path, {HERE: [entry()]})
    assert runs(variant="numpy") == ("numpy", NUMPY.items)
    assert runs(variant="quick") == ("quick", 4)


def test_a_variant_that_refuses_the_call_is_not_used(path: Path, offered: Any) -> None:
    offered(dataclasses.replace(QUICK, refuse=lambda capabilities, call: "is busy"))
    write_entries(path, {HERE: [entry()]})
    assert runs() == ("numpy", NUMPY.items)


def test_explain_says_that_the_choice_is_tuned_and_from_what(path: Path, offered: Any) -> None:
    offered(QUICK)
    write_entries(path, {HERE: [entry()]})
    told = gpuprims.explain("map", "reference", size=SIZE)
    assert told.chosen is not None
    assert told.ranked is not None
    assert (told.chosen.name, told.chosen.items, told.ranked.name) == ("quick", 8, "numpy")
    lines = str(told).splitlines()
    assert lines[1].split()[:2] == ["able", "numpy"]
    assert lines[2].split()[:2] == ["chosen", "quick"]
    assert lines[3].strip() == (
        f"tuned 2026-11-22: 1 x 8 takes 1 ms for 4096 elements of float32, where numpy {NUMPY.geometry} takes 2"
    )
    assert gpuprims.explain("map", "reference", size=255).tuned is None


@pytest.mark.parametrize(
    "other",
    [
        {"dtypes": (np.dtype(np.int32),)},
        {"value_bytes": 8},
        {"bins": 257},
        {"commutative": False},
        {"size": 99},
    ],
)
def test_a_call_that_differs_is_not_covered(other: dict[str, Any]) -> None:
    call = HistogramTraits((np.dtype(np.float32),), 100, bins=256)
    measured = entry(measured={"bins": 256}, least=100)
    assert measured.covers(call)
    assert not measured.covers(dataclasses.replace(call, **other))


def test_neighbourhoods_are_covered_up_to_those_measured() -> None:
    around = Neighbourhood(lines=True, across=False, table=False, span=3, beside=2, taps=9)
    call = StencilTraits((np.dtype(np.float32),), 100, neighbourhood=around)
    measured = entry(measured=call.measured, least=1)
    assert measured.covers(dataclasses.replace(call, neighbourhood=around._replace(taps=5, beside=8)))
    for other in ({"taps": 10}, {"span": 5}, {"across": True}, {"lines": False}, {"times": 2}):
        assert not measured.covers(dataclasses.replace(call, neighbourhood=around._replace(**other)))


def test_a_call_of_another_primitive_is_not_covered() -> None:
    one, counted = CallTraits((np.dtype(np.float32),), 100), HistogramTraits((np.dtype(np.float32),), 100, bins=9)
    around = StencilTraits((np.dtype(np.float32),), 100)
    for call in (one, counted, around):
        for other in (one, counted, around):
            assert entry(least=1, measured=call.measured).covers(other) == (call is other)


STALE = [
    ({"chosen": Named("gone", Geometry(1, 8))}, {}, "map/gone is no longer there"),
    ({"default": Named("gone", Geometry(1, 8))}, {}, "map/gone is no longer there"),
    ({"default": Named("numpy", Geometry(2, 8))}, {}, f"numpy 2 x 8 is {NUMPY.geometry} now"),
    ({"chosen": Named("quick", Geometry(1, 3))}, {}, "map/quick is no longer tuned to 1 x 3"),
    ({"chosen": Named("numpy", Geometry(1, 3))}, {}, "map/numpy is no longer tuned to 1 x 3"),
    ({}, {"driver": "NumPy 1.0"}, f"the driver is {HERE.driver} now"),
    ({}, {"version": "0.0.9"}, f"gpuprims is {gpuprims.__version__} now"),
    ({}, {"device": "an abacus"}, "no such device here"),
]


@pytest.mark.parametrize(("changed", "moved", "reason"), STALE)
def test_a_choice_that_no_longer_fits_is_not_used_and_shown_so(
    path: Path, offered: Any, capsys: Any, changed: Any, moved: Any, reason: str
) -> None:
    offered(QUICK)
    place = HERE._replace(**moved)
    write_entries(path, {place: [entry(**changed)]})
    assert runs() == ("numpy", NUMPY.items)
    assert state_of(place, entry(**changed), [HERE]) == f"not used: {reason}"
    cli.main(["tune", "--show"])
    assert f"not used: {reason}" in capsys.readouterr().out


def test_choosing_again_keeps_one_choice_for_a_call(path: Path) -> None:
    for items in (8, 2):
        found = entry(chosen=Named("quick", Geometry(1, items)))
        keep(path, HERE, found)
    keep(path, HERE, entry(dtype="int32"))
    keep(path, HERE, entry(dtype="int8"))
    keep(path, HERE, entry(dtype="int8", chosen=entry().default))
    assert [kept.chosen.geometry.items for kept in read_entries(path)[HERE]] == [2, 8]


def test_an_entry_is_read_as_it_was_written(path: Path) -> None:
    measured = {"around": Neighbourhood(True, False, False, 3, 2, 9), "bins": 7}
    kept = entry(measured=measured), entry(chosen=Named("quick", Geometry(1, 8, 4)))
    write_entries(path, {HERE: kept, HERE._replace(device="b"): kept[:1]})
    assert read_entries(path) == {HERE: kept, HERE._replace(device="b"): kept[:1]}
