"""PoCL compiles in a folder of this process alone."""

import os
import stat
import time
from pathlib import Path

import pytest

from gpuprims.backends.opencl import pocl
from gpuprims.backends.opencl.pocl import give_pocl_a_folder
from gpuprims.private_folder import private_folder


@pytest.fixture(autouse=True)
def environment(monkeypatch, tmp_path):
    monkeypatch.setenv("POCL_CACHE_DIR", "")  # so that what is set is taken back
    monkeypatch.delenv("POCL_CACHE_DIR")
    monkeypatch.setenv("GPUPRIMS_CACHE_DIR", str(tmp_path / "private"))
    private_folder.cache_clear()
    yield
    private_folder.cache_clear()


def chosen() -> Path:
    give_pocl_a_folder()
    return Path(os.environ["POCL_CACHE_DIR"])


def test_folder_that_is_asked_for_stands(monkeypatch):
    monkeypatch.setenv("POCL_CACHE_DIR", "/asked")
    assert chosen() == Path("/asked")


def test_folder_is_private_and_goes_with_the_process(tmp_path):
    folder = chosen()
    assert folder.parent == tmp_path / "private" / "pocl"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    pocl._remove(str(folder), os.getpid() + 1)  # as a fork would
    assert folder.exists()
    pocl._remove(str(folder), os.getpid())
    assert not folder.exists()


def test_where_nothing_is_kept_the_folder_is_a_temporary_one(monkeypatch, tmp_path):
    monkeypatch.setenv("GPUPRIMS_CACHE_DIR", "off")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert chosen().parent == tmp_path


def test_what_killed_processes_leave_is_removed_a_week_later(monkeypatch):
    old, fresh = chosen(), None
    os.utime(old, (time.time() - 8 * 86400,) * 2)
    monkeypatch.delenv("POCL_CACHE_DIR")
    fresh = chosen()
    assert fresh.exists()
    assert not old.exists()
