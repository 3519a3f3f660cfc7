"""The costs of a call beside its kernel: building, the first call, warm calls, plans, and transfers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuprims

from .contenders import peers_of, to_host
from .elements import Elements
from .measuring import Times, wall_times
from .session import Session

SMALL = 1000
_ROUNDS, _TRANSFERS = 500, 5
_LARGE = {False: 2**24, True: 2**28}


def _warm(device: gpuprims.Device, *, peers: bool) -> dict[str, dict[str, Callable[[], Any]]]:
    """Return calls on a small array: for each case, those of gpuprims and of its peers."""
    host = Elements().host(SMALL)[0]
    x = device.asarray(host)
    total, doubled = gpuprims.plan("reduce", x), gpuprims.plan("map", "2*x + 1", x)
    running = gpuprims.plan("scan", x)
    cases: dict[str, dict[str, Callable[[], Any]]] = {
        "warm call, reduce sum": {"gpuprims": lambda: gpuprims.reduce(x), "gpuprims plan": lambda: total(x)},
        "warm call, map 2*x+1": {"gpuprims": lambda: gpuprims.map("2*x + 1", x), "gpuprims plan": lambda: doubled(x)},
        "warm call, scan sum": {"gpuprims": lambda: gpuprims.scan(x), "gpuprims plan": lambda: running(x)},
        "warm call to a Python float": {
            "gpuprims plan.item()": lambda: total.item(x),
            "gpuprims": lambda: float(device.to_host(gpuprims.reduce(x))),
        },
    }
    if device.capabilities.kind == "cpu":
        for case in list(cases)[:3]:
            calls: dict[str, Callable[..., Any]]
            calls = {"reduce sum": gpuprims.reduce, "map 2*x+1": _double, "scan sum": gpuprims.scan}
            cases[case]["gpuprims, NumPy array"] = _calling(calls[case[11:]], host, device=device)
    for peer, ways in peers_of(device)[0].items() if peers else ():
        for case in cases:
            way = ways.get(case[11:])
            if way is not None:
                cases[case][peer.name] = _calling(way, host if peer.on_host else x)
        floats = {"CuPy": "item", "NumPy": "item", "pyopencl": "get", "PyTorch": "item"}
        if peer.name in floats and "reduce sum" in ways:
            given = host if peer.on_host else x
            cases["warm call to a Python float"][peer.name] = _reading(ways["reduce sum"], given, floats[peer.name])
    return cases


def _calling(function: Callable[..., Any], x: Any, **how: Any) -> Callable[[], Any]:
    return lambda: function(x, **how)


def _reading(function: Callable[..., Any], x: Any, method: str) -> Callable[[], float]:
    return lambda: float(getattr(function(x), method)())


def _double(x: Any, **keywords: Any) -> Any:
    return gpuprims.map("2*x + 1", x, **keywords)


CASES = ("warm call, reduce sum", "warm call, map 2*x+1", "warm call, scan sum", "warm call to a Python float")


@pytest.mark.parametrize("case", [pytest.param(case, marks=pytest.mark.label(case)) for case in CASES])
def test_warm_call(run: Session, case: str) -> None:
    calls = _warm(run.user_device, peers=run.options.peers)[case]
    host = Elements().host(SMALL)[0]
    expected = {"map": 2 * host + 1, "scan": np.cumsum(host, dtype=np.float64)}.get(case[11:].split()[0], host.sum())
    for call in calls.values():
        np.testing.assert_allclose(to_host(run.user_device, call()), expected, rtol=1e-5)
    times = wall_times(calls, _ROUNDS, run.user_device.synchronize)
    _told(run, case, SMALL, times)


WAYS = ("to the device", "to the host", "and a sum")


@pytest.mark.parametrize("way", [pytest.param(way, marks=pytest.mark.label(f"transfer {way}")) for way in WAYS])
def test_transfer(run: Session, way: str) -> None:
    """Copy a NumPy array to a GPU; a CPU needs no copy."""
    case = f"transfer {way}"
    device = run.user_device
    if device.capabilities.kind != "gpu":
        pytest.skip("a CPU computes with NumPy's arrays where they lie")
    host = Elements().host(_LARGE[run.options.full])[0]
    there = device.asarray(host)
    calls: dict[str, Callable[[], Any]] = {
        "to the device": {"gpuprims": lambda: device.asarray(host)},
        "to the host": {"gpuprims": lambda: device.to_host(there)},
        "and a sum": {"gpuprims": lambda: gpuprims.reduce(host, device=device)},
    }[way]
    if run.options.peers and device.backend == "cuda" and "CuPy" not in peers_of(device)[1]:
        import cupy

        peers = {"to the device": lambda: cupy.asarray(host), "to the host": there.get}
        calls["CuPy"] = (peers | {"and a sum": lambda: cupy.asarray(host).sum().get()})[way]
    expected = host.sum(dtype=np.float64) if way == "and a sum" else host
    for call in calls.values():
        np.testing.assert_allclose(to_host(device, call()), expected, rtol=1e-5)
    times = wall_times(calls, _TRANSFERS, device.synchronize)
    _told(run, case, host.size, times, nbytes=host.nbytes)


_FIRST = """
import time, numpy as np
start = time.perf_counter()
import gpuprims, gpuprims.primitives.reduce
device = gpuprims.Device({spec!r})
x = device.asarray(np.ones({size}, np.float32))
device.synchronize()
there = time.perf_counter()
plan = gpuprims.plan("reduce", x)
built = time.perf_counter()
total = gpuprims.reduce(x)
device.synchronize()
done = time.perf_counter()
assert device.to_host(total) == {size}
print(built - there, done - there, there - start)
"""


@pytest.mark.label("first call of a process")
@pytest.mark.parametrize("cache", ["empty cache", "cache on the disk"])
def test_first_call(run: Session, cache: str, tmp_path: Path) -> None:
    """Time the first call of a process after the imports, and the build of its kernel."""
    if run.user_device.backend == "reference":
        pytest.skip("the reference builds nothing")
    caches = {name: str(tmp_path) for name in ("CUPY_CACHE_DIR", "XDG_CACHE_HOME", "CUDA_CACHE_PATH", "POCL_CACHE_DIR")}
    code = _FIRST.format(spec=run.user_device.spec, size=SMALL)

    def once() -> list[float]:
        command, environment = [sys.executable, "-c", code], os.environ | caches
        ran = subprocess.run(command, env=environment, capture_output=True, check=True)  # noqa: S603 - the code above
        return [float(word) for word in ran.stdout.split()[-3:]]

    if cache == "cache on the disk":
        once()
    tries = [once() for _ in range(1 if cache == "empty cache" else 3)]
    for case, part in (("first call, building alone", 0), ("imports and finding the device", 2)):
        _add(run, case, SMALL, f"gpuprims, {cache}", [one[part] for one in tries])
    _told(run, "first call of a process", SMALL, {f"gpuprims, {cache}": [one[1] for one in tries]})


def _add(run: Session, case: str, size: int, name: str, walls: list[float], nbytes: float = 0) -> None:
    run.add(Times(walls, walls, "host clock"), case=case, contender=name, size=size, nbytes=nbytes)


def _told(run: Session, case: str, size: int, times: dict[str, list[float]], *, nbytes: float = 0) -> None:
    """Add a row for each contender."""
    for name, walls in times.items():
        _add(run, case, size, name, walls, nbytes)
    run.save()
