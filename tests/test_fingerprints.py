"""The fingerprint of results is the committed one, on every device."""

from __future__ import annotations

import numpy as np
import pytest

import gpuprims
from gpuprims.cli.main import main
from gpuprims.testing.fingerprints import expected, fingerprint, suite
from gpuprims.testing.fingerprints.data import Data


def assert_committed(device: gpuprims.Device | str, *, small: bool) -> None:
    found = fingerprint(device, small=small)
    assert found.differing(expected(small=small)) == []
    assert found.value == expected(small=small).value


@pytest.mark.oclgrind
def test_every_device_has_the_committed_value(device: gpuprims.Device) -> None:
    assert_committed(device, small=True)


@pytest.mark.whole
def test_every_device_has_the_committed_value_of_all_calls(device: gpuprims.Device) -> None:
    if not device.capabilities.fp64:
        pytest.skip("needs float64")
    assert_committed(device, small=False)


def test_the_reference_has_the_committed_value() -> None:
    assert_committed("reference", small=False)
    assert len(expected().calls) > 200


def test_a_bit_of_a_result_changes_its_hash() -> None:
    x = np.array([1, 2, 3], np.float32)
    assert suite._told(x) == suite._told(x.copy())
    for other in (x.view(np.int32), x.reshape(3, 1), np.nextafter(x, np.float32(9))):
        assert suite._told(x) != suite._told(other)


def test_numbers_are_made_once_for_each_request() -> None:
    data = Data(gpuprims.Device("reference"), small=True)
    assert data.numbers(5) is data.numbers(5)
    assert not np.array_equal(data.numbers(5), data.numbers(5, key=3))
    assert data.uneven(4000).tobytes() == data.uneven(4000).tobytes()


def test_the_command_prints_the_value_and_fails_if_calls_differ(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ["fingerprint", "--device", "reference", "--small"]
    assert main([*given, "--calls"]) == 0
    printed = " ".join(capsys.readouterr().out.split())  # lines are as long as the terminal
    assert expected(small=True).value in printed
    assert "reduce sum 5 float32" in printed
    other = suite.Fingerprint({**expected(small=True).calls, "reduce sum 5 float32": "0"}, small=True)
    monkeypatch.setattr(suite, "expected", lambda *, small: other)
    assert main(given) == 1
    assert "reduce sum 5 float32" in " ".join(capsys.readouterr().err.split())


def test_the_command_writes_the_hashes(tmp_path: object, capsys: pytest.CaptureFixture[str]) -> None:
    text = suite.written(expected(small=True), expected())
    assert text == suite._EXPECTED.read_text()
