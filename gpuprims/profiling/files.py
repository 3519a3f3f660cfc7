"""Profiles as JSON, and as traces of Chrome's format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import gpuprims
from gpuprims.profiling.records import Compile, Copy, Launch, Seen
from gpuprims.profiling.table import DeviceSeen

_HOST = 0  # the trace's process of the host; devices follow
_LANES = {Launch: 1, Copy: 2}  # of a device


def as_json(devices: Sequence[DeviceSeen], seen: Sequence[Seen]) -> dict[str, Any]:
    """Return a profile as lists of records."""
    return {
        "gpuprims": gpuprims.__version__,
        "devices": [device._asdict() for device in devices],
        "launches": [
            asdict(one) | {"rate": one.rate, "fraction": one.fraction} for one in seen if isinstance(one, Launch)
        ],
        "copies": [asdict(one) | {"rate": one.rate} for one in seen if isinstance(one, Copy)],
        "compiles": [asdict(one) for one in seen if isinstance(one, Compile)],
    }


def as_trace(devices: Sequence[DeviceSeen], seen: Sequence[Seen]) -> dict[str, Any]:
    """Return a profile as complete events in microseconds, with a process for the host and one for each device."""
    pids = {device.spec: number for number, device in enumerate(devices, _HOST + 1)}
    tids = {thread: number for number, thread in enumerate(dict.fromkeys(one.thread for one in seen), 1)}
    names = [_name("process_name", _HOST, 0, "host")]
    names += [_name("thread_name", _HOST, tid, thread) for thread, tid in tids.items()]
    for device in devices:
        names.append(_name("process_name", pids[device.spec], 0, f"{device.spec} {device.name}"))
        names.append(_name("thread_name", pids[device.spec], _LANES[Launch], "kernels"))
        names.append(_name("thread_name", pids[device.spec], _LANES[Copy], "copies"))
    events = [*_calls(seen, tids), *(event for one in seen for event in _events(one, pids, tids))]
    return {"traceEvents": [*names, *events], "displayTimeUnit": "ms"}


def _events(one: Seen, pids: dict[str, int], tids: dict[str, int]) -> list[dict[str, Any]]:
    """Return the events of a record: on the host, and on the device."""
    host, pid = (_HOST, tids[one.thread]), pids[one.device]
    about: dict[str, Any] = {"call": one.call, "number": one.number}
    if isinstance(one, Compile):
        return [_complete(f"make {one.kernel}", *host, one.start, one.seconds, about | {"source": one.source})]
    if isinstance(one, Copy):
        told = about | {"bytes": one.nbytes, "GB/s": one.rate / 1e9, "overlapping": one.overlapping}
        lane = () if one.overlapping else (_complete(one.direction, *host, one.start, one.seconds, about),)
        return [*lane, _complete(one.direction, pid, _LANES[Copy], one.start, one.seconds, told)]
    assert isinstance(one, Launch)  # noqa: S101 - for type checkers: there is no other record
    told = about | {"bytes": one.nbytes, "GB/s": one.rate / 1e9, "of limit": one.fraction, "cache": one.in_cache}
    return [
        _complete(f"launch {one.kernel}", *host, one.host_start, one.host_seconds, about),
        _complete(one.kernel, pid, _LANES[Launch], one.start, one.seconds, told),
    ]


def _calls(seen: Iterable[Seen], tids: dict[str, int]) -> list[dict[str, Any]]:
    """Return each call on its thread, from the first thing that it did to the last."""
    calls: dict[tuple[int, str], list[Seen]] = {}
    for one in seen:
        calls.setdefault((one.number, one.thread), []).append(one)
    events = []
    for (number, thread), some in calls.items():
        spans = [_on_host(one) for one in some]
        start, end = min(start for start, _ in spans), max(end for _, end in spans)
        events.append(_complete(some[0].call, _HOST, tids[thread], start, end - start, {"number": number}))
    return events


def _on_host(one: Seen) -> tuple[float, float]:
    start, seconds = (one.host_start, one.host_seconds) if isinstance(one, Launch) else (one.start, one.seconds)
    return start, start + seconds


def _complete(name: str, pid: int, tid: int, start: float, seconds: float, about: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "ph": "X", "pid": pid, "tid": tid, "ts": 1e6 * start, "dur": 1e6 * seconds, "args": about}


def _name(kind: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}}
