"""bench.record: what it keeps of a call, and what its comparison finds."""

from __future__ import annotations

import copy
import json
from functools import partial
from itertools import islice

import numpy as np
import pytest

import gpuprims
from bench import record
from bench.record_calls import calls
from bench.record_kit import Call, array, found

REFERENCE = gpuprims.Device("reference")
TAKEN = 40


@pytest.fixture(scope="module")
def recording():
    """A short recording, as a file keeps it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record, "calls", lambda device, quick: islice(calls(device, quick=quick), TAKEN))
        return json.loads(json.dumps(record.record(REFERENCE, quick=True)))


def one(recording):
    return recording["calls"]["map x + x float32"]


def test_a_recording_has_variants_results_and_times(recording):
    assert len(recording["calls"]) == TAKEN
    assert one(recording)["variants"] == ["map/numpy"]
    (result,) = one(recording)["results"]
    assert (result["type"], result["dtype"], result["shape"]) == ("ndarray", "float32", [1003])
    assert len(result["sha256"]) == 64
    assert 0 < one(recording)["least"] <= one(recording)["seconds"]
    assert all(python > 0 for python, _ in recording["function_calls"].values())


def test_calls_are_left_out_by_a_part_of_their_names(monkeypatch):
    monkeypatch.setattr(record, "calls", lambda device, quick: islice(calls(device, quick=quick), TAKEN))
    kept = record.record(REFERENCE, quick=True, without=["size 0", "map x"])["calls"]
    assert kept
    assert not [name for name in kept if "size 0" in name or name.startswith("map x")]


def test_a_recording_equals_itself(recording):
    lines, same = record.compare(recording, copy.deepcopy(recording))
    assert same
    assert f"calls             {TAKEN} in both" in lines


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda call: call["variants"].__setitem__(0, "map/other"), "map/numpy -> map/other"),
        (lambda call: call["results"][0].update(sha256="0" * 64), "other bytes"),
        (lambda call: call["results"][0].update(dtype="float64"), "ndarray float64[1003]"),
        (lambda call: (call.pop("results"), call.update(raised="NoVariantError")), "-> NoVariantError"),
    ],
)
def test_other_variants_and_results_are_found(recording, change, told):
    after = copy.deepcopy(recording)
    change(one(after))
    lines, same = record.compare(recording, after)
    assert not same
    assert any("map x + x float32" in line and told in line for line in lines)


def test_calls_that_are_missing_are_found(recording):
    after = copy.deepcopy(recording)
    del after["calls"]["map x + x float32"]
    assert not record.compare(recording, after)[1]
    assert record.compare(after, recording)[1]  # more calls are no loss


def test_a_recording_whose_hook_saw_nothing_is_found(recording):
    after = copy.deepcopy(recording)
    for call in after["calls"].values():
        call["variants"] = []
    assert not record.compare(recording, after)[1]


def test_slower_calls_are_told_and_do_not_fail(recording):
    after = copy.deepcopy(recording)
    for key in ("seconds", "least", "first"):
        one(after)[key] = 1 + 2 * one(after)[key]
    lines, same = record.compare(recording, after)
    assert same
    assert sum("map x + x float32" in line for line in lines) == 2


def test_recordings_of_two_devices_are_refused(recording):
    with pytest.raises(record.RecordError, match="recordings of the same device"):
        record.compare(recording, recording | {"device": "another"})


def test_the_command_compares_files(recording, tmp_path, capsys):
    before, after, neither = (tmp_path / name for name in ("before.json", "after.json", "neither.json"))
    before.write_text(json.dumps(recording))
    changed = copy.deepcopy(recording)
    one(changed)["variants"] = ["map/other"]
    after.write_text(json.dumps(changed))
    neither.write_text("{}")
    assert record.main(["--compare", str(before), str(before)]) == 0
    assert record.main(["--compare", str(before), str(after)]) == 1
    assert record.main(["--compare", str(before), str(neither)]) == 2
    assert "a recording of format" in capsys.readouterr().err


def test_a_refusal_is_recorded_by_its_class():
    refused = Call("no such variant", partial(gpuprims.map, "x", np.ones(3), device=REFERENCE, variant="none"))
    assert record.record_call(refused, REFERENCE.synchronize)["raised"] == "UnknownVariantError"


def test_a_result_that_differs_from_run_to_run_is_told():
    numbers = iter(range(10**6))
    unsteady = Call("counter", lambda: next(numbers))
    for exact, kept in ((True, "differs from run to run"), (False, None)):
        (result,) = record.record_call(unsteady._replace(exact=exact), REFERENCE.synchronize)["results"]
        assert result.get("sha256") == kept


def test_functions_are_counted():
    assert record.function_calls(lambda: len(())) == (1, 1)
    assert record.function_calls(lambda: sorted([2, 1], key=lambda x: x)) == (3, 1)


def test_the_names_of_calls_differ_and_arrays_are_the_same_in_each_run():
    names = [call.name for call in calls(REFERENCE, quick=True)]
    assert len(names) == len(set(names)) > 250
    np.testing.assert_array_equal(array("complex64", 9), array.__wrapped__("complex64", 9))


def test_functions_are_found_wherever_they_are():
    assert found("csr_product").__name__ == "csr_product"
    with pytest.raises(LookupError, match="no_such_function"):
        found("no_such_function")
