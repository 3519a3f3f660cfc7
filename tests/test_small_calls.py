"""The small calls that bench.host_calls measures: each runs, and by its plan gives the same."""

from __future__ import annotations

import numpy as np
import pytest

import gpuprims
from bench import first_calls, host_calls
from bench.small_calls import CASES, arrays, number_calls, peer_call, peers

REFERENCE = gpuprims.Device("reference")


@pytest.mark.parametrize("name", CASES)
def test_a_plan_does_the_same_as_its_call(name: str) -> None:
    case = CASES[name]
    found = case.call(arrays(), device=REFERENCE)()
    if case.planned:
        planned = case.plan(arrays(), device=REFERENCE)()
        expected = found[0] if case.function == "histogram" else found
        np.testing.assert_equal(planned, expected)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.numpy])
def test_numpy_does_the_same_work(name: str) -> None:
    case, (module, there) = CASES[name], peers(REFERENCE)["NumPy"]
    theirs, ours = peer_call(case, "NumPy", module, there), case.call(arrays(), device=REFERENCE)
    assert theirs is not None
    found = [np.atleast_1d(result[0] if isinstance(result, tuple) else result) for result in (theirs(), ours())]
    if name == "partition":  # which leaves open how elements lie around the one of the rank
        found = [np.sort(one) for one in found]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)


def test_sums_as_numbers_are_numbers() -> None:
    calls = number_calls(REFERENCE, peers(REFERENCE))
    assert {type(call()) for call in calls.values()} == {float}
    np.testing.assert_allclose([call() for call in calls.values()], arrays()["x"].sum(), rtol=1e-5)


def test_tables_have_a_column_for_each_contender() -> None:
    rows = [{"call": "a", "gpuprims": 1.25}, {"call": "b", "gpuprims": 2.0, "CuPy": 3.0}]
    assert host_calls.table(rows).splitlines()[0] == "| call | gpuprims | CuPy |"
    assert host_calls.table(rows).splitlines()[2:] == ["| a | 1.2 |  |", "| b | 2.0 | 3.0 |"]


def test_sizes_are_compared_with_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_calls, "_SIZES", (1000, 1040))
    monkeypatch.setattr(host_calls, "_WAITED", 2)
    monkeypatch.setattr(host_calls, "CASES", {name: CASES[name] for name in ("take", "blur", "partition")})
    rows = host_calls.sizes(REFERENCE)
    assert [row["call"] for row in rows] == ["take", "partition"]  # NumPy has no blur
    assert list(rows[0]) == ["call", "us", "NumPy", "NumPy / ours, 1,000", "NumPy / ours, 1,040"]
    assert min(row["us"] for row in rows) > 0


def test_first_calls_are_made_in_processes_of_their_own(device: gpuprims.Device) -> None:
    (row,) = first_calls.first_calls(device.spec, ["reduce"], 1)
    assert row["call"] == "reduce"
    assert min(row["empty cache"], row["cache on the disk"], row["imports"]) > 0
    compiles = device.backend != "reference"
    assert (row["programs"] >= row["read"] > 0) == compiles
    assert row["compiled again"] == 0


def test_first_calls_tell_what_went_wrong() -> None:
    with pytest.raises(RuntimeError, match="first call of nothing: a process that ends well; got 1"):
        first_calls.first_call("reference", "nothing", "unused")
