"""The probe of a device: its loops do what they say, and its numbers are told as text and JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuprims
from gpuprims.cli import main as cli
from gpuprims.errors import ArgumentError
from gpuprims.profiling import probe as probing


def test_a_chain_meets_each_line_once() -> None:
    order = probing._chain(2**14)
    table = probing._table(order)
    at, met = int(order[0]), []
    for _ in order:
        met.append(at)
        at = int(table[at])
    assert at == order[0]
    assert sorted(met) == list(range(0, 2**14 // 4, probing._LINE))
    assert met != sorted(met)


@pytest.fixture
def runtime(device: gpuprims.Device, pytestconfig: pytest.Config) -> gpuprims.Device:
    if device.backend == "reference":
        pytest.skip("the reference runs no kernels")
    if device.spec != gpuprims.devices()[0].spec and not pytestconfig.getoption("whole"):
        pytest.skip("a kernel for each operation; runs with --whole")
    return device


@pytest.mark.parametrize("operation", probing._OPERATIONS)
def test_a_loop_repeats_its_operation(runtime: gpuprims.Device, operation: str) -> None:
    if operation == "shuffle" and not runtime.capabilities.warp:
        pytest.skip("has no shuffles")
    loop = probing._Loop(runtime, operation, 2**14)
    block = loop.results.shape[0]
    held = (np.arange(block) + 1) % block
    for rounds in (5, 300):
        before = loop._done
        assert loop(rounds) > 0
        found = runtime.to_host(loop.results).astype(np.int64) - held
        match operation:
            case "chase":
                assert set(found) == {loop._order[(before + rounds) % len(loop._order)]}
            case "chase in local memory":
                assert set(found) == {rounds % block}
            case "atomic in local memory, one address":
                assert list(found) == [block * rounds, *[0] * (block - 1)]
            case "atomic in global memory, one address":
                assert list(found) == [block * rounds, *[0] * (block - 1)]
            case "atomic in local memory, an address each" | "atomic in global memory, an address each":
                assert set(found) == {rounds}
            case "barrier":
                assert set(found) == {0}


def test_a_probe_is_a_table_and_a_file(
    runtime: gpuprims.Device, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probing, "_LONG", 1e-5)
    monkeypatch.setattr(probing, "_TRIES", 2)
    monkeypatch.setattr(probing, "_TABLES", {"cpu": (2**14, 2**18), "gpu": (2**14, 2**18)})
    assert cli.main(["probe", "--device", runtime.spec, "--json", str(tmp_path / "probe.json")]) == 0
    out = capsys.readouterr().out
    told = json.loads((tmp_path / "probe.json").read_text())
    assert told["device"] == runtime.spec
    measured: dict[str, Any] = {one["name"]: one for one in told["measured"]}
    expected = {"global memory, within 16 KiB", "global memory, within 256 KiB", "local memory", "barrier"}
    assert expected < set(measured)
    assert {one["kind"] for one in measured.values()} == {"latency", "operation", "bandwidth", "launch"}
    assert all(0 < one["value"] < 1e9 for one in measured.values())
    assert all(name in out for name in measured)
    assert out.startswith(f"{runtime.spec} ")


def test_wrong_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ArgumentError, match=r"probe: a device that runs kernels; got 'reference:0'"):
        probing.probe("reference")
    assert cli.main(["probe", "--json", str(tmp_path / "nowhere" / "a.json")]) == 1
    assert "--json with a file in a folder that exists" in capsys.readouterr().err
