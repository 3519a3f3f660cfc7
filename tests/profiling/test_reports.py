"""Tables, JSON and traces of profiles."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuprims
from gpuprims.profiling import profile
from gpuprims.profiling.files import as_trace
from gpuprims.profiling.records import Compile, Copy, Launch, Seen
from gpuprims.profiling.table import DeviceSeen, table_of

DEVICES = (DeviceSeen("cuda:0", "Example GPU", "CUDA events", 1e9),)
LAUNCH = Launch("scan(int8[9])", 1, "cuda:0", "Main", 0.5, 2.0, "scan/a", 10**9, 7, 0.1, 0.2, 1e9, False)
COPY = Copy("scan(int8[9])", 1, "cuda:0", "Main", 0.3, 0.1, "to device", 5 * 10**8, False)
COMPILE = Compile("scan(int8[9])", 1, "cuda:0", "Main", 0.0, 0.05, "scan/a", "disk")


def lines(*seen: Seen) -> list[list[str]]:
    """Return the words of a table's lines."""
    return [line.split() for line in table_of(DEVICES, seen).splitlines() if line]


def test_a_table_adds_up_launches_of_equal_calls() -> None:
    again = replace(LAUNCH, number=2, seconds=6.0)
    other = replace(LAUNCH, call="map(int8[9])", kernel="map/b", number=3, seconds=2.0)
    assert lines(LAUNCH, again, other, COPY, COMPILE) == [
        ["cuda:0", "Example", "GPU:", "copies", "at", "1.0", "GB/s,", "times", "by", "CUDA", "events"],
        ["call", "and", "kernel", "calls", "launches", "ms", "time", "MB/call", "GB/s", "of", "limit"],
        ["scan(int8[9])"],
        ["scan/a", "2", "2", "8000.000", "80%", "1000.000", "0.2", "25%"],
        ["map(int8[9])"],
        ["map/b", "1", "1", "2000.000", "20%", "1000.000", "0.5", "50%"],
        ["total", "3", "3", "10000.000"],
        ["call", "and", "copy", "copies", "ms", "MB", "GB/s"],
        ["scan(int8[9])"],
        ["to", "device", "1", "100.000", "500.000", "5.0"],
        ["call", "and", "kernel", "from", "ms"],
        ["scan(int8[9])"],
        ["scan/a", "disk", "50.0"],
    ]


def test_several_devices_are_named_beside_each_call() -> None:
    told = table_of((*DEVICES, DEVICES[0]._replace(spec="cuda:1")), [LAUNCH, replace(LAUNCH, device="cuda:1")])
    rows = told.splitlines()
    assert {"scan(int8[9]) on cuda:0", "scan(int8[9]) on cuda:1"} <= set(rows)
    assert " on cuda" not in table_of(DEVICES, [LAUNCH])


def test_a_long_label_widens_no_column() -> None:
    long = replace(LAUNCH, call=f"reduce({', '.join(['float32[80000, 50]'] * 9)})")
    (*_, row, _), (*_, expected, _) = (table_of(DEVICES, [launch]).splitlines() for launch in (long, LAUNCH))
    assert row == expected
    assert len(row) < 80


def test_calls_that_took_longest_come_first() -> None:
    short = replace(LAUNCH, call="map(int8[9])", kernel="map/b", number=3, seconds=0.1)
    told = table_of(DEVICES, [short, LAUNCH])
    assert told.index("scan(int8[9])") < told.index("map(int8[9])")


def test_a_call_of_several_kernels_is_named_once() -> None:
    told = table_of(DEVICES, [LAUNCH, replace(LAUNCH, kernel="scan/b")])
    assert told.count("scan(int8[9])") == 1
    assert "scan/b" in told


def test_passes_over_the_same_arrays_count_once_and_slabs_each() -> None:
    passes = [replace(LAUNCH, prepared=number, seconds=1.0) for number in (1, 2, 3)]
    assert lines(*passes)[3][-3:] == ["1000.000", "0.3", "33%"]
    slabs = [replace(LAUNCH, seconds=1.0)] * 3
    assert lines(*slabs)[3][-3:] == ["3000.000", "1.0", "100%"]


@pytest.mark.parametrize(
    ("launch", "shown"),
    [
        (LAUNCH, "50%"),
        (replace(LAUNCH, in_cache=True), "50% cache"),
        (replace(LAUNCH, in_cache=True, seconds=0.1), "1000% cache"),
        (replace(LAUNCH, seconds=0.1), "1000% over"),
        (replace(LAUNCH, limit=None), ""),
    ],
)
def test_more_than_the_limit_is_marked_and_explained(launch: Launch, shown: str) -> None:
    text = table_of(DEVICES, [launch])
    row = next(line for line in text.splitlines() if line.startswith("  scan"))
    assert row.endswith(shown or f"{launch.rate / 1e9:.1f}")
    for mark in ("cache", "over"):
        assert (mark in shown) == any(line.startswith(f"{mark}: ") for line in text.splitlines())


@pytest.fixture(scope="module")
def seen(device: gpuprims.Device) -> gpuprims.Profile:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(profile, "copy_rate", lambda device: 1e9)
        device._kernels.clear()
        x = np.random.default_rng(0).random(50_000, dtype=np.float32)
        with gpuprims.profile() as seen:
            array = device.asarray(x)
            for _ in range(2):
                gpuprims.histogram(array, device=device)
            device.to_host(array)
        return seen


def test_json_has_every_record(seen: gpuprims.Profile, tmp_path: Path) -> None:
    seen.to_json(tmp_path / "seen.json")
    told = json.loads((tmp_path / "seen.json").read_text())
    assert told["gpuprims"] == gpuprims.__version__
    assert [one["seconds"] for one in told["launches"]] == [one.seconds for one in seen.launches]
    assert [one["rate"] for one in told["launches"]] == [one.rate for one in seen.launches]
    assert [one["nbytes"] for one in told["copies"]] == [one.nbytes for one in seen.copies]
    assert [one["source"] for one in told["compiles"]] == [one.source for one in seen.compiles]
    assert {one["device"] for one in told["launches"]} == {one["spec"] for one in told["devices"]}


def test_a_trace_is_complete_events_with_names(seen: gpuprims.Profile, tmp_path: Path) -> None:
    seen.to_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    names = [one for one in events if one["ph"] == "M"]
    complete = [one for one in events if one["ph"] == "X"]
    assert len(names) + len(complete) == len(events)
    for one in complete:
        assert isinstance(one["name"], str)
        assert isinstance(one["pid"], int)
        assert isinstance(one["tid"], int)
        assert one["dur"] >= 0
    lanes = {(one["pid"], one["tid"]) for one in names if one["name"] == "thread_name"}
    assert {(one["pid"], one["tid"]) for one in complete} <= lanes
    assert {pid for pid, _ in lanes} == {one["pid"] for one in names if one["name"] == "process_name"}
    ran = [one for one in complete if one["pid"] == 1 and one["tid"] == 1]
    assert [one["name"] for one in ran] == [launch.kernel for launch in seen.launches]
    np.testing.assert_allclose([one["dur"] for one in ran], [1e6 * launch.seconds for launch in seen.launches])


def test_what_the_host_does_lies_within_its_call(seen: gpuprims.Profile) -> None:
    events = as_trace(seen._devices, seen._all())["traceEvents"]
    host = [one for one in events if one["ph"] == "X" and one["pid"] == 0]
    # A call has a line for each thread that works for it, such as one that compiles.
    calls: dict[Any, Any] = {(one["args"]["number"], one["tid"]): one for one in host if "call" not in one["args"]}
    assert {one.number for one in seen._all()} == {number for number, _ in calls}
    for one in host:
        call = calls[one["args"]["number"], one["tid"]]
        assert call["ts"] <= one["ts"]
        assert one["ts"] + one["dur"] <= call["ts"] + call["dur"] + 1e-3  # rounding
