"""What is tuned: how it is found, what is kept, and when it is used."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_cases import as_it_stands, extreme_shapes, is_guest

import gpuprims
from gpuprims.cli import main as cli
from gpuprims.cli import tune as workbench
from gpuprims.core import notices, settings
from gpuprims.core import tuned_choices as tuning
from gpuprims.core.choice import Choice
from gpuprims.core.geometry import Geometry, Tunable, geometries
from gpuprims.core.registry import REGISTRY
from gpuprims.core.settings import MOST_BYTES
from gpuprims.core.traits import CallTraits
from gpuprims.core.tuned_choices import Entry, Named, Place, keep, read_entries, state_of, tuned_on, write_entries
from gpuprims.core.variant import Variant
from gpuprims.errors import (
    ArgumentError,
    BuildError,
    GpuprimsError,
    GpuprimsWarning,
    NoVariantError,
    RegistryError,
    TuningError,
)
from gpuprims.primitives.histogram.traits import HistogramTraits
from gpuprims.primitives.map.reference import map_numpy
from gpuprims.primitives.stencil.traits import Neighbourhood, StencilTraits
from gpuprims.tuning.cases import TRIALS
from gpuprims.tuning.search import Found, tune
from gpuprims.tuning.timing import Pace, Stopwatch

REFERENCE = gpuprims.Device("reference")
HERE = Place.of("reference", REFERENCE.capabilities)
SIZE = 4096
X = np.arange(SIZE, dtype=np.float32)
NUMPY = REGISTRY.variants("map", "reference")[0]


def able(shape: Geometry) -> Callable[..., str | None]:
    return lambda capabilities, call: None


QUICK = dataclasses.replace(
    NUMPY, name="quick", rank=-1, geometry=Geometry(1, 4), tunable=Tunable(geometries((1,), (1, 2, 4, 8, 16)), able)
)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file of choices that is not there yet."""
    monkeypatch.setenv("GPUPRIMS_TUNING", str(tmp_path / "kept" / "tuning.json"))
    tuning.forget()
    yield tmp_path / "kept" / "tuning.json"
    tuning.forget()


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Registers variants of the reference's map for one test."""

    def offer(*variants: Variant) -> None:
        known = {variant.name: variant for variant in (NUMPY, *variants)}
        monkeypatch.setattr(REGISTRY, "_variants", REGISTRY._variants | {("reference", "map"): known})
        REGISTRY.outdate()

    return offer


def timer(times: dict[tuple[str, int], float]) -> Callable[[Variant, Any], float]:
    """Time by a table of names and items; what it lacks takes a second."""

    def time(variant: Variant, run: Callable[[], Any]) -> float:
        run()
        return times.get((variant.name, variant.items), 1.0)

    return time


def search(times: dict[tuple[str, int], float], **how: Any) -> Found:
    (found,) = tune("reference", ["map"], ["float32"], **({"size": SIZE, "timer": timer(times)} | how))
    return found


def entry(**changed: Any) -> Entry:
    default, chosen = Named("numpy", NUMPY.geometry), Named("quick", Geometry(1, 8))
    of = Entry("map", "float32", 4, {}, SIZE, 256, default, chosen, 2e-3, 1e-3, "2026-11-22")
    return dataclasses.replace(of, **changed)


def runs(x: Any = X, **how: Any) -> tuple[str, int]:
    """Return which variant a call runs, and its items."""
    variant = gpuprims.plan("map", "2*x + 1", x, device="reference", **how).variant
    np.testing.assert_array_equal(gpuprims.map("2*x + 1", x, device="reference", **how), 2 * x + 1)
    return variant.name, variant.items


# The search


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
    def off_by_one(definitions: Any, memories: Any, layout: Any, count: int) -> None:
        map_numpy(definitions, memories, layout, count)
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
    assert reason == "computes something else for (333,) elements"
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
    with pytest.raises(GpuprimsError, match="a best rank that is right; got map_quick, which computes something else"):
        search({})


@pytest.mark.parametrize("fault", [{"deterministic": False}])
def test_variants_whose_sums_differ_from_run_to_run_are_no_candidates(path: Path, offered: Any, fault: Any) -> None:
    offered(dataclasses.replace(QUICK, **fault))
    found = search({("quick", 4): 0.1})
    assert (found.tried, found.chosen) == (0, None)


def test_a_shape_that_does_not_fit_is_not_tried(path: Path, offered: Any) -> None:
    def fits(shape: Geometry) -> Any:
        return lambda capabilities, call: "is too much" if shape.items > 4 else None

    offered(dataclasses.replace(QUICK, tunable=dataclasses.replace(QUICK.tunable, fits=fits)))
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
    assert notes == ["has one variant, in one shape", "is for real numbers"] * 2


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


# The choice


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


def test_a_call_of_another_primitive_is_not_covered() -> None:
    one, many = CallTraits((np.dtype(np.float32),), 100), HistogramTraits((np.dtype(np.float32),), 100, bins=9)
    assert entry(least=1).covers(one)
    assert not entry(least=1).covers(many)
    assert not entry(least=1, measured=many.measured).covers(one)
    around = StencilTraits((np.dtype(np.float32),), 100)
    assert not entry(least=1, measured=around.measured).covers(many)
    assert not entry(least=1, measured=many.measured).covers(around)


def test_neighbourhoods_are_covered_up_to_those_measured() -> None:
    around = Neighbourhood(lines=True, across=False, table=False, span=3, beside=2, taps=9)
    call = StencilTraits((np.dtype(np.float32),), 100, neighbourhood=around)
    measured = entry(measured=call.measured, least=1)
    assert measured.covers(dataclasses.replace(call, neighbourhood=around._replace(taps=5, beside=8)))
    for other in ({"taps": 10}, {"span": 5}, {"across": True}, {"lines": False}, {"times": 2}):
        assert not measured.covers(dataclasses.replace(call, neighbourhood=around._replace(**other)))


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
        keep(path, HERE, found, found.replaces)
    keep(path, HERE, entry(dtype="int32"), entry(dtype="int32").replaces)
    assert [kept.chosen.geometry.items for kept in read_entries(path)[HERE]] == [2, 8]


def test_an_entry_is_read_as_it_was_written(path: Path) -> None:
    around = StencilTraits((np.dtype(np.float32),), 1, neighbourhood=Neighbourhood(True, False, False, 3, 2, 9))
    kept = entry(measured=around.measured), entry(chosen=Named("quick", Geometry(1, 8, 4)))
    write_entries(path, {HERE: kept, HERE._replace(device="b"): kept[:1]})
    assert read_entries(path) == {HERE: kept, HERE._replace(device="b"): kept[:1]}


# The file


def _whole(**changed: Any) -> str:
    kept = json.loads(json.dumps({"place": HERE._asdict(), "entries": [dataclasses.asdict(entry()) | changed]}))
    return json.dumps({"format": 1, "devices": [kept]})


BROKEN = {
    "no json": "{",
    "nothing": "",
    "a list": "[]",
    "another format": json.dumps({"format": 2, "devices": []}),
    "no place": json.dumps({"format": 1, "devices": [{"entries": []}]}),
    "another entry": json.dumps(
        {"format": 1, "devices": [{"place": HERE._asdict(), "entries": [{"primitive": "map"}]}]}
    ),
    "a size in words": _whole(size="many"),
    "no shape": _whole(chosen=("quick", "wide")),
    "a shape of words": _whole(chosen=("quick", ["wide", "high", None])),
    "a shape of truths": _whole(chosen=("quick", [1, [], None])),
    "a neighbourhood of words": _whole(around=["a", "b", "c", "d", "e", "f"]),
    "no time": _whole(seconds=0),
    "less than no time": _whole(default_seconds=-1.0),
    "a time that is none": _whole(seconds=float("nan")),
    "a size beyond all": _whole(size=10**400),
    "nested without end": "[" * 100_000,
    "a number without end": "9" * 10_000,
    "bytes": b"\xff\xfe",
    "too much": " " * (MOST_BYTES + 1),
}


@pytest.fixture
def unwarned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every warning be given again."""
    monkeypatch.setattr(notices, "_given", set())


def assert_ranks_after_one_warning(match: str) -> None:
    """Make two calls, the first of which warns, and neither of which uses a choice."""
    tuning.forget()
    with pytest.warns(GpuprimsWarning, match=match) as warned:
        assert runs() == ("numpy", NUMPY.items)
    assert len(warned) == 1
    tuning.forget()
    assert runs(X[1:]) == ("numpy", NUMPY.items)  # a second warning would be an error


@pytest.mark.usefixtures("unwarned")
@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_warned_of_once_and_how_to_begin_anew(path: Path, capsys: Any, text: str | bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert_ranks_after_one_warning(rf"by rank, .*{re.escape(str(path))}.*gpuprims tune --reset")
    with pytest.raises(TuningError, match=re.escape(str(path))) as caught:
        read_entries(path)
    assert len(str(caught.value)) < len(str(path)) + 320
    assert REFERENCE.check() is None
    assert gpuprims.map("x + 1", X, device="reference", variant="numpy")[1] == 2
    assert cli.main(["tune", "--show"]) == 1
    assert cli.main(["tune", "--device", "reference"]) == 1
    assert cli.main(["tune", "--reset"]) == 0
    assert "nothing is tuned" in capsys.readouterr().out
    assert gpuprims.map("x + 1", X, device="reference")[1] == 2


@pytest.mark.usefixtures("unwarned")
@pytest.mark.parametrize("kind", ["folder", "pipe", "permission"])
def test_what_is_no_file_is_warned_of_once(path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    path.parent.mkdir()
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)  # to which nobody writes: reading it would wait for ever
    else:
        forbid(monkeypatch, path)
    assert_ranks_after_one_warning(f"by rank, .*{re.escape(str(path))}")


def forbid(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """Let a file be unreadable, whoever runs the test: root may read every file."""
    opened = os.open

    def fail(name: Any, *how: Any, **more: Any) -> int:
        if Path(name) == path:
            raise PermissionError(13, "Permission denied", str(name))
        return opened(name, *how, **more)

    monkeypatch.setattr(os, "open", fail)


@pytest.mark.usefixtures("unwarned")
@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this system's files have no owner by number")
@pytest.mark.parametrize("owner", ["another", "own"])
def test_the_file_in_another_users_home_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, offered: Any, owner: str
) -> None:
    offered(QUICK)
    monkeypatch.delenv("GPUPRIMS_TUNING", raising=False)
    monkeypatch.setattr(settings, "user_cache_path", lambda name: tmp_path / name)
    path = tmp_path / "gpuprims" / "tuning.json"
    write_entries(path, {HERE: [entry()]})
    if owner == "own":
        assert runs() == ("quick", 8)
        return
    status = os.stat(path)
    seen = os.stat_result((*status[:4], status.st_uid + 4711, *status[5:]))
    monkeypatch.setattr(os, "fstat", lambda handle: seen)
    assert_ranks_after_one_warning(rf"{re.escape(str(path))}.*a file of user {status.st_uid + 4711}; this process")
    monkeypatch.setenv("GPUPRIMS_TUNING", str(path))  # a file that the user names is used, whosever it is
    tuning.forget()
    assert runs() == ("quick", 8)


@pytest.mark.usefixtures("unwarned")
@pytest.mark.skipif(os.name != "posix", reason="homes are found otherwise")
def test_without_a_home_calls_go_by_ranks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, offered: Any, capsys: Any
) -> None:
    import pwd

    def nobody(number: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {number}")

    offered(QUICK)
    for name in ("HOME", "XDG_CACHE_HOME", "GPUPRIMS_TUNING"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    monkeypatch.chdir(tmp_path)
    write_entries(tmp_path / "~" / ".cache" / "gpuprims" / "tuning.json", {HERE: [entry()]})  # planted
    assert_ranks_after_one_warning(r"by rank, .*a home folder for the file of choices; got OSError\(.*~/\.cache")
    assert cli.main(["tune", "--show"]) == 1
    assert "set GPUPRIMS_TUNING to a file, or to off" in capsys.readouterr().err
    with pytest.raises(TuningError, match="a home folder for the file"):
        next(tune("reference"))


def test_off_reads_no_file(path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    path.parent.mkdir()
    path.write_text("{")
    monkeypatch.setenv("GPUPRIMS_TUNING", "off")
    tuning.forget()
    assert runs() == ("numpy", NUMPY.items)
    assert cli.main(["tune", "--show"]) == 0
    assert "GPUPRIMS_TUNING is off" in capsys.readouterr().out


def test_the_file_is_in_the_users_cache_unless_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPUPRIMS_TUNING", raising=False)
    monkeypatch.setattr(settings, "user_cache_path", lambda name: Path("/cache") / name)
    assert tuning.tuning_path() == Path("/cache/gpuprims/tuning.json")
    monkeypatch.setenv("GPUPRIMS_TUNING", "mine.json")
    assert tuning.tuning_path() == Path("mine.json")


def test_nothing_is_asked_where_nothing_is_tuned(path: Path) -> None:
    assert tuned_on("reference", REFERENCE.capabilities) is None


# The command


def run(capsys: Any, *arguments: str) -> tuple[int, str, str]:
    status = cli.main(["tune", *arguments])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def test_the_command_shows_a_table(path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {}

    def search(device: Any, primitives: Any, dtypes: Any, **how: Any) -> Iterator[Found]:
        asked.update(how, device=device, primitives=primitives, dtypes=dtypes)
        yield Found("map", "float32", Named("a", Geometry(1, 2)), Named("b", Geometry(1, 4)), 2e-3, 1e-3, 7)
        yield Found("map", "int32", Named("a", Geometry(1, 2)), dropped=[(Named("c", Geometry(1, 1)), "fails")])
        yield Found("scan", "int32", note="refuses")
        raise KeyboardInterrupt

    monkeypatch.setattr(workbench, "tune", search)
    given = ("--device", "reference", "--primitive", "map", "scan", "--dtype", "int32", "--seconds", "5", "--size", "9")
    status, out, err = run(capsys, *given)
    assert (status, err) == (130, "")
    assert (asked["device"], asked["primitives"], asked["dtypes"]) == (REFERENCE, ["map", "scan"], ["int32"])
    assert (asked["seconds"], asked["size"]) == (5.0, 9)
    rows = [line.split() for line in out.splitlines()]
    assert ["map", "float32", "a", "1", "x", "2", "2", "b", "1", "x", "4", "1", "2.00x", "7"] in rows
    assert ["scan", "int32", "refuses"] in rows
    assert "dropped: map/c 1 x 1, fails" in out
    assert "broken off; what is listed is kept" in out


def test_the_command_shows_and_resets_what_is_kept(path: Path, capsys: Any, offered: Any) -> None:
    offered(QUICK)
    other = HERE._replace(device="an abacus")
    write_entries(path, {HERE: [entry()], other: [entry()]})
    assert runs() == ("quick", 8)
    _, out, _ = run(capsys, "--show")
    assert f"reference {HERE.device} ({HERE.driver}), gpuprims {gpuprims.__version__}" in out
    assert "for 256 elements or more; used" in out
    run(capsys, "--reset", "--device", "reference")
    assert list(read_entries(path)) == [other]
    assert runs() == ("numpy", NUMPY.items)
    run(capsys, "--reset")
    assert not path.exists()
    assert "nothing is tuned" in run(capsys, "--show")[1]


def test_the_command_searches(path: Path, capsys: Any, offered: Any) -> None:
    offered(QUICK)
    given = ("--device", "reference", "--primitive", "map", "--dtype", "float32", "--size", "300", "--seconds", "0.2")
    status, out, _ = run(capsys, *given)
    assert status == 0
    assert re.search(r"^map +float32 +numpy", out, re.MULTILINE)
    assert f"kept in {path}" in out


# Shapes


def test_shapes_one_step_away_differ_in_one_number() -> None:
    some = Tunable(geometries((64, 128, 256), (2, 4), (1, 8), most_elements=512), able)
    assert Geometry(256, 4, 1) not in some.geometries
    assert set(some.beside(Geometry(128, 4, 1))) == {Geometry(64, 4, 1), Geometry(128, 2, 1), Geometry(128, 4, 8)}
    assert set(some.beside(Geometry(96, 4, 1))) == {Geometry(64, 4, 1), Geometry(128, 4, 1)}
    assert Geometry(64, 4, 2).distance(Geometry(128, 1, 2)) == 3
    assert str(Geometry(64, 4, 2)) == "64 x 4, 2 groups a unit"


def test_a_variant_takes_only_shapes_that_it_is_written_for() -> None:
    assert QUICK.with_geometry(Geometry(1, 16)) is QUICK.with_geometry(Geometry(1, 16))
    assert QUICK.with_geometry(QUICK.geometry) is QUICK
    with pytest.raises(RegistryError, match="map/quick: a geometry that it may have; got 1 x 3"):
        QUICK.with_geometry(Geometry(1, 3))


def test_a_variant_may_be_given_in_a_shape(path: Path, offered: Any) -> None:
    offered(QUICK)
    assert runs(variant=QUICK.with_geometry(Geometry(1, 16))) == ("quick", 16)
    refusing = dataclasses.replace(QUICK, refuse=lambda capabilities, call: "is busy")
    with pytest.raises(NoVariantError, match="is busy"):
        runs(variant=refusing)


@pytest.mark.parametrize("backend", ["cuda", "opencl"])
def test_every_registered_shape_is_among_those_it_may_be_tuned_to(backend: str) -> None:
    every = [variant for primitive in TRIALS for variant in REGISTRY.variants(primitive, backend)]
    tunable = [variant for variant in every if variant.tunable is not None]
    assert len(tunable) >= 10
    for variant in tunable:
        assert variant.geometry in variant.tunable.geometries
        assert variant.deterministic
        assert not getattr(variant, "accumulates", False)
        assert len(set(variant.tunable.geometries)) == len(variant.tunable.geometries)


def test_twins_may_be_tuned_to_the_same_shapes() -> None:
    for primitive in TRIALS:
        twins = {variant.name: variant.tunable for variant in REGISTRY.variants(primitive, "opencl")}
        for variant in REGISTRY.variants(primitive, "cuda"):
            assert variant.tunable is twins[variant.name]


@pytest.mark.parametrize("primitive", TRIALS)
def test_kernels_compute_the_same_in_every_shape(
    primitive: str, device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    for variant in REGISTRY.variants(primitive, device.backend):
        guest = is_guest(device.capabilities.kind, variant.name)
        if guest and not pytestconfig.getoption("whole"):  # nobody tunes it for this device
            continue
        with monkeypatch.context() as patched:
            if guest:
                as_it_stands(patched)
            ran = [computes_alike(device, variant.with_geometry(shape)) for shape in extreme_shapes(variant)]
        assert any(ran) or variant.tunable is None or not computes_alike(device, variant)


def computes_alike(device: gpuprims.Device, variant: Variant) -> bool:
    """Hold a variant against NumPy; return whether it takes the calls."""
    rng, trial = np.random.default_rng(20261122), TRIALS[variant.primitive]
    try:
        for dtype in ("uint8",) if variant.name == "bytes" else ("float32", "uint8"):
            for size in (1, 10_007, 300_013):
                x = trial.elements(rng, np.dtype(dtype), size)
                np.testing.assert_array_equal(trial.run(x, device=device, variant=variant), trial.expected(x))
        if variant.primitive == "scan" and variant.scratch != "none":  # which also rank what is kept
            x = rng.standard_normal(100_003).astype(np.float32)
            np.testing.assert_array_equal(gpuprims.compact(x, "x > 0", device=device, variant=variant), x[x > 0])
    except NoVariantError:
        return False
    return True


# Trials and time


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8"])
@pytest.mark.parametrize("primitive", TRIALS)
def test_trials_know_what_numpy_makes_of_them(primitive: str, dtype: str) -> None:
    trial = TRIALS[primitive]
    x = trial.elements(np.random.default_rng(1), np.dtype(dtype), 5003)
    got, expected = trial.run(x, device="reference"), trial.expected(x)
    assert np.asarray(got).dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)
    assert len(np.unique(expected)) > 3 or primitive == "reduce"


@pytest.mark.parametrize("primitive", TRIALS)
def test_what_is_measured_is_what_explain_asks_for(primitive: str, device: gpuprims.Device) -> None:
    trial = TRIALS[primitive]
    x = trial.elements(np.random.default_rng(1), np.dtype(np.float32), SIZE)
    call = trial.call(device, x)
    chosen = device.ranked(primitive, call).ranked
    named = Named(chosen.name, chosen.geometry)
    measured = entry(primitive=primitive, value_bytes=call.value_bytes, measured=call.measured, default=named, least=1)
    asked = []

    def listen(ranked: Variant, told: CallTraits) -> Choice | None:
        asked.append(measured.covers(told))
        return None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gpuprims.core.device.tuned_on", lambda *of: listen)
        gpuprims.explain(primitive, device, size=SIZE)
    assert asked == [True]


def test_a_real_choice_is_used_on_a_real_device(path: Path, device: gpuprims.Device) -> None:
    x = np.ones(5000, np.float32)
    ranked = gpuprims.plan("map", "x + 1", x, device=device).variant
    if ranked.tunable is None:
        pytest.skip("has one shape")
    other = ranked.with_geometry(next(shape for shape in ranked.tunable.geometries if shape != ranked.geometry))
    names = {"default": Named(ranked.name, ranked.geometry), "chosen": Named(other.name, other.geometry)}
    write_entries(path, {Place.of(device.backend, device.capabilities): [entry(**names)]})
    assert gpuprims.plan("map", "x + 1", x, device=device).variant is other
    np.testing.assert_array_equal(gpuprims.map("x + 1", x, device=device), x + 1)


def test_a_stopwatch_repeats_short_calls() -> None:
    calls = []
    assert Stopwatch(REFERENCE, least=1e-3)(NUMPY, lambda: calls.append(1)) < 1e-3
    assert len(calls) > 2
