"""Compiled kernels on disk: damaged, planted, evicted, in a full or read-only folder, and while processes die."""

from __future__ import annotations

import errno
import os
import pickle
import stat
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from faults import compute, finished, kill_in_a_build

import gpuprims
from conftest import find
from gpuprims.core import compile_cache, notices
from gpuprims.core.compile_cache import fetch, keep, key_of
from gpuprims.core.private_folder import private_folder
from gpuprims.errors import GpuprimsWarning

KEY = key_of("a", "kernel")
BINARY = bytes(range(256)) * 4


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(notices, "_given", set())
    monkeypatch.setenv("GPUPRIMS_CACHE_DIR", str(tmp_path / "cache"))
    private_folder.cache_clear()
    yield tmp_path / "cache" / "kernels"
    private_folder.cache_clear()


@pytest.fixture
def cpu():
    """The OpenCL CPU on which other processes compute."""
    found = find("opencl:cpu")
    if isinstance(found, str):
        pytest.skip(found)
    return found.spec


def entries(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_facts_are_not_run_together():
    assert key_of("ab", "c") != key_of("a", "bc")


def test_what_is_kept_comes_back(folder):
    assert fetch(KEY) is None
    keep(KEY, BINARY)
    assert fetch(KEY) == BINARY
    assert entries(folder) == [KEY]
    assert stat.S_IMODE((folder / KEY).stat().st_mode) == 0o600


DAMAGE = {
    "empty": lambda content: b"",
    "cut within its head": lambda content: content[:20],
    "cut": lambda content: content[:-1],
    "a bit": lambda content: content[:-1] + bytes([content[-1] ^ 1]),
    "longer": lambda content: content + b"x",
    "a pickle": lambda content: pickle.dumps(print),
    "another version": lambda content: content.replace(b"kernel 1", b"kernel 0"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_entry_is_noticed_once_and_replaced(folder, damage):
    keep(KEY, BINARY)
    (folder / KEY).write_bytes(damage((folder / KEY).read_bytes()))
    with pytest.warns(GpuprimsWarning, match="got one that is damaged"):
        assert fetch(KEY) is None
    assert entries(folder) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (folder / KEY).write_bytes(b"")
        assert fetch(KEY) is None
        keep(KEY, BINARY)
        assert fetch(KEY) == BINARY


def test_entry_of_another_key_is_not_taken(folder):
    keep(KEY, BINARY)
    other = key_of("another", "kernel")
    (folder / KEY).rename(folder / other)
    with pytest.warns(GpuprimsWarning, match="damaged"):
        assert fetch(other) is None


def _another_owner(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("root alone gives files away")
    os.chown(path, 12345, 12345)


def _link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _folder(path: Path) -> None:
    path.unlink()
    (path / "within").mkdir(parents=True)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_another_owner, "others can write"),
        (lambda path: path.chmod(0o666), "others can write"),
        (_link, "cannot be read"),
        (_pipe, "not a regular file"),
        (_folder, "cannot be read"),
    ],
)
def test_what_others_may_have_written_is_replaced(folder, change, reason):
    keep(KEY, BINARY)
    change(folder / KEY)
    with pytest.warns(GpuprimsWarning, match=reason):
        assert fetch(KEY) is None
    keep(KEY, BINARY)
    assert fetch(KEY) == BINARY
    assert (folder / KEY).is_file()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_full_disk_is_warned_of_once(folder, monkeypatch, number):
    def full(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(GpuprimsWarning, match=f"{os.strerror(number)}.*kept in memory"):
        keep(KEY, BINARY)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        keep(key_of("another"), BINARY)
    assert entries(folder) == []


def test_least_recently_used_goes_first(folder, monkeypatch):
    size = len(BINARY) + compile_cache._HEAD
    monkeypatch.setenv("GPUPRIMS_CACHE_BYTES", str(3 * size))
    keys = [key_of(str(k)) for k in range(4)]
    for k, key in enumerate(keys[:3]):
        keep(key, BINARY)
        os.utime(folder / key, (k, k))
    assert fetch(keys[0]) == BINARY
    keep(keys[3], BINARY)
    assert set(entries(folder)) == {keys[0], keys[2], keys[3]}


def test_what_exceeds_the_limit_is_not_kept(folder, monkeypatch):
    monkeypatch.setenv("GPUPRIMS_CACHE_BYTES", "1024")
    keep(KEY, BINARY)
    assert fetch(KEY) is None


def test_limit_that_is_no_number_is_warned_of(monkeypatch):
    monkeypatch.setenv("GPUPRIMS_CACHE_BYTES", "1 GiB")
    with pytest.warns(GpuprimsWarning, match="a number of bytes, at least 0; got '1 GiB'"):
        keep(KEY, BINARY)
    assert fetch(KEY) == BINARY


def test_what_killed_processes_leave_is_removed_an_hour_later(folder):
    keep(KEY, BINARY)
    old, fresh = folder / "unfinished-old", folder / "unfinished-fresh"
    old.touch()
    fresh.touch()
    os.utime(old, (time.time() - 4000,) * 2)
    keep(key_of("another"), BINARY)
    assert fresh.exists()
    assert not old.exists()


def test_cache_is_switched_off(monkeypatch, tmp_path):
    monkeypatch.setenv("GPUPRIMS_CACHE_DIR", "off")
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        keep(KEY, BINARY)
        assert fetch(KEY) is None
    assert list(tmp_path.rglob("*")) == []


def test_kernel_is_compiled_once_for_all_processes(folder, cpu):
    assert finished(compute("x + 0.5", folder.parent, cpu)) == ("[0.5, 1.5, 2.5, 3.5]", "")
    before = {path: path.stat().st_ino for path in folder.iterdir()}
    assert finished(compute("x + 0.5", folder.parent, cpu))[0] == "[0.5, 1.5, 2.5, 3.5]"
    assert before
    assert {path: path.stat().st_ino for path in folder.iterdir()} == before


@pytest.mark.parametrize("damage", [pytest.param("empty", marks=pytest.mark.rarely), "a bit"])
def test_damaged_entries_never_reach_the_driver(folder, cpu, damage):
    finished(compute("x + 0.5", folder.parent, cpu))
    for path in folder.iterdir():
        path.write_bytes(DAMAGE[damage](path.read_bytes()))
    got, warned = finished(compute("x + 0.5", folder.parent, cpu))
    assert got == "[0.5, 1.5, 2.5, 3.5]"
    assert warned.count("GpuprimsWarning") == 1
    assert "damaged" in warned
    assert finished(compute("x + 0.5", folder.parent, cpu)) == (got, "")


def test_entry_that_the_driver_refuses_is_replaced(folder, device):
    if device.backend == "reference":
        pytest.skip("which compiles nothing")
    x = np.arange(4, dtype=np.float32)
    key = []

    def refused(asked: str) -> bytes:
        key.append(asked)
        return b"no binary of any driver"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compile_cache, "fetch", refused)
        with pytest.warns(GpuprimsWarning, match="that the driver refuses"):
            assert gpuprims.map("x - 0.625", x, device=device).tolist() == [-0.625, 0.375, 1.375, 2.375]
    assert fetch(key[-1]) is not None


def test_without_a_home_kernels_are_kept_in_memory(tmp_path, cpu):
    nowhere = "/proc/nowhere"
    process = compute("x + 0.5", tmp_path, cpu, GPUPRIMS_CACHE_DIR="", HOME=nowhere, XDG_CACHE_HOME="")
    got, warned = finished(process)
    assert got == "[0.5, 1.5, 2.5, 3.5]"
    assert warned.count("GpuprimsWarning") == 1
    assert "keeps nothing on disk" in warned


def test_pyopencl_touches_no_file(tmp_path, cpu):
    caches = tmp_path / "caches"
    got, warned = finished(compute("x + 0.5", tmp_path / "cache", cpu, XDG_CACHE_HOME=str(caches)))
    assert (got, warned) == ("[0.5, 1.5, 2.5, 3.5]", "")
    assert {path.name for path in caches.glob("*")} <= {"pocl"}


@pytest.mark.parametrize("processes", [3, pytest.param(8, marks=pytest.mark.rarely)])
def test_processes_share_a_cold_cache(folder, cpu, processes):
    together = [compute("x * 0.5", folder.parent, cpu) for _ in range(processes)]
    assert [finished(process) for process in together] == [("[0.0, 0.5, 1.0, 1.5]", "")] * processes
    assert all(len(path.name) == 64 for path in folder.iterdir())


@pytest.mark.parametrize(
    ("factor", "after"),
    [pytest.param(1.5, 0.0, marks=pytest.mark.rarely), (2.5, 0.03), pytest.param(3.5, 0.1, marks=pytest.mark.rarely)],
)
def test_killed_build_leaves_nothing_that_stops_the_next(folder, cpu, factor, after):
    kill_in_a_build(f"x * {factor}", folder.parent, cpu, after)
