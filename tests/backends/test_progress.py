"""Forward progress: known for some devices, tried once on others, and the same in every process."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from children import child_environment

import gpuprims
from gpuprims.core import progress as core
from gpuprims.core.capabilities import Progress
from gpuprims.core.private_folder import private_folder
from gpuprims.errors import GpuprimsWarning

cl = pytest.importorskip("pyopencl", reason="pyopencl is not installed")

from gpuprims.backends.opencl import progress  # noqa: E402 - pyopencl first

ROOT = Path(__file__).parents[2]
GPU, CPU = cl.device_type.GPU, cl.device_type.CPU
_POINTERS = itertools.count(1)
ACME = {"platform": "Acme OpenCL", "device": "Acme 1", "driver": "OpenCL 3.0, 2.3", "compute_units": 8}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("GPUPRIMS_CACHE_DIR", str(tmp_path / "cache"))
    private_folder.cache_clear()
    found = private_folder("devices")
    assert found is not None
    monkeypatch.setattr(core, "private_folder", lambda name: found)
    private_folder.cache_clear()
    return found


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[bool]]:
    """A function that sets the results of attempts; they consume the list that it returns."""

    def script(*outcomes: bool) -> list[bool]:
        left = list(outcomes)
        monkeypatch.setattr(progress, "trial", lambda queue: left.pop(0))
        monkeypatch.setattr(core, "_PAUSE", 0)
        monkeypatch.setattr(core, "_FOUND", {})
        return left

    return script


def queue_of(name: str, kind: int = GPU, compute_units: int = 8) -> Any:
    platform = SimpleNamespace(name=name, version="OpenCL 3.0")
    device = SimpleNamespace(
        platform=platform, type=kind, max_compute_units=compute_units, int_ptr=next(_POINTERS), name="Acme 1",
        driver_version="2.3",
    )  # fmt: skip
    return SimpleNamespace(device=device, platform=platform)


@pytest.mark.parametrize(
    ("platform", "kind", "together"),
    [
        ("NVIDIA CUDA", GPU, True),
        ("Intel(R) OpenCL", CPU, True),
        ("Intel(R) CPU Runtime for OpenCL(TM) Applications", CPU, True),
        ("Portable Computing Language", CPU, True),
        ("Apple", GPU, False),
        ("ARM Platform", GPU, False),
        ("Intel(R) OpenCL Graphics", GPU, None),
        ("AMD Accelerated Parallel Processing", GPU, None),
        ("Charm", GPU, None),
        ("Portable Computing Language", GPU, None),
    ],
)
def test_what_is_known_of_a_device_takes_no_trial(platform: str, kind: int, together: bool | None) -> None:
    known = progress.known_progress(platform, kind, 8)
    assert (None if known is None else known.together) is together


def test_a_device_of_one_compute_unit_has_one_group_at_a_time() -> None:
    assert progress.known_progress("Oclgrind", GPU, 1) == Progress(True, "one group runs at a time")


def test_known_devices_are_never_tried(attempts: Callable[..., list[bool]]) -> None:
    attempts()  # the first one would fail
    for name, kind in (("NVIDIA CUDA", GPU), ("Intel(R) OpenCL", CPU), ("Portable Computing Language", CPU)):
        assert progress.groups_run_together(queue_of(name, kind)).together
    assert not progress.groups_run_together(queue_of("ARM Platform")).together


def test_one_success_is_enough_and_no_takes_every_attempt(attempts: Callable[..., list[bool]]) -> None:
    left = attempts(False, False, True, False)
    assert core.tried(lambda: left.pop(0))
    assert left == [False]
    left = attempts(*[False] * core._ATTEMPTS)
    assert not core.tried(lambda: left.pop(0))
    assert left == []


@pytest.mark.parametrize("together", [True, False])
def test_what_a_trial_found_is_kept(folder: Path, attempts: Callable[..., list[bool]], together: bool) -> None:
    attempts(*[together] * core._ATTEMPTS)
    first = progress.groups_run_together(queue_of("Acme OpenCL"))
    assert first.together is together
    assert first.reason.startswith("a trial of this device and driver")
    left = attempts(not together)  # as in another process
    assert progress.groups_run_together(queue_of("Acme OpenCL")) == first
    assert left == [not together]  # nothing was tried
    (file,) = folder.iterdir()
    assert json.loads(file.read_text())["together"] is together


def test_each_driver_version_is_tried_by_itself(folder: Path, attempts: Callable[..., list[bool]]) -> None:
    attempts(True, *[False] * core._ATTEMPTS)
    assert progress.groups_run_together(queue_of("Acme OpenCL")).together
    newer = queue_of("Acme OpenCL")
    newer.device.driver_version = "2.4"
    assert not progress.groups_run_together(newer).together
    assert len(list(folder.iterdir())) == 2


DAMAGE = {
    "empty": b"",
    "half": b'{"about": {"plat',
    "no text": b"\xff\xfe\x00\x80",
    "a list": b"[true]",
    "of another device": json.dumps({"about": {"platform": "Acme"}, "together": True}).encode(),
    "deep": b"[" * 60_000,
    "a pickle": b"\x80\x04\x88.",
}


@pytest.mark.parametrize("text", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_entry_is_warned_of_and_tried_again(
    folder: Path, attempts: Callable[..., list[bool]], text: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpuprims.core.notices._given", set())
    path = core.path_of(ACME)
    assert path is not None
    path.write_bytes(text)
    attempts(True)
    with pytest.warns(GpuprimsWarning, match="tries Acme 1 again: .* cannot be read"):
        assert progress.groups_run_together(queue_of("Acme OpenCL")).together
    assert json.loads(path.read_text())["together"] is True


def test_an_answer_without_a_bool_is_no_answer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuprims.core.notices._given", set())
    assert core.keep(ACME, True)
    path = core.path_of(ACME)
    assert path is not None
    path.write_text(path.read_text().replace("true", "1"))
    with pytest.warns(GpuprimsWarning, match="has no answer"):
        assert core.kept(ACME) is None


def test_the_first_process_decides_for_those_that_try_at_the_same_time(folder: Path) -> None:
    assert core.keep(ACME, False) is False
    assert core.keep(ACME, True) is False
    assert core.kept(ACME) is False
    assert [path.suffix for path in folder.iterdir()] == [".json"]


def test_without_a_folder_each_process_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "private_folder", lambda name: None)
    assert core.keep(ACME, True) is True
    assert core.kept(ACME) is None


def test_a_full_disk_is_warned_of(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("gpuprims.core.notices._given", set())
    monkeypatch.setattr(os, "link", full)
    with pytest.warns(GpuprimsWarning, match="tries Acme 1 in each process.*No space left"):
        assert core.keep(ACME, True) is True


def test_explain_says_how_forward_progress_is_known(device: gpuprims.Device) -> None:
    last = str(gpuprims.explain("scan", device)).splitlines()[-1]
    waits = any(variant.waits for variant, _ in gpuprims.explain("scan", device).refusals)
    assert (str(device.capabilities.progress) in last) == waits
    assert "run at the same time" not in str(gpuprims.explain("map", device))


COLLECT = """
import sys
import pytest
from gpuprims.backends.opencl import progress

progress._KNOWN = ()  # so that each device is unknown
progress.trial = lambda queue: sys.exit("a trial was made")
FILES = ["tests/primitives/scan", "tests/primitives/test_compact.py"]
sys.exit(pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", *FILES]))
"""


def test_which_tests_there_are_depends_on_no_trial() -> None:
    done = subprocess.run(
        [sys.executable, "-c", COLLECT], capture_output=True, text=True, cwd=ROOT, env=child_environment(), check=False
    )
    assert "a trial was made" not in done.stdout + done.stderr
    assert done.returncode == 0, done.stdout[-2000:]
    if "opencl:cpu-" in done.stdout:
        assert "opencl:cpu-lookback" in done.stdout


def test_a_trial_of_groups_that_run_together_ends_whatever_it_finds(
    device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    if device.backend != "opencl":
        pytest.skip("is about OpenCL devices; the others are known")
    for looks in (progress._LOOKS, 1, 0):
        monkeypatch.setattr(progress, "_LOOKS", looks)
        assert progress.trial(device.driver.queue) in (True, False)
    assert not progress.trial(device.driver.queue)  # no group has looked once


def test_all_queues_of_a_device_choose_the_same_kernels(device: gpuprims.Device) -> None:
    if device.backend != "opencl":
        pytest.skip("is about OpenCL devices; the others are known")
    queues = [cl.CommandQueue(device.driver.context) for _ in range(3)]
    assert {progress.groups_run_together(queue) for queue in queues} == {device.capabilities.progress}
