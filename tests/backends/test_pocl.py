"""PoCL compiles in a folder of this process alone."""

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpuprims.backends.opencl import pocl
from gpuprims.backends.opencl.pocl import give_pocl_a_folder
from gpuprims.core import notices
from gpuprims.core.private_folder import private_folder
from gpuprims.errors import GpuprimsWarning


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
    pocl._end(str(folder), os.getpid() + 1)  # as a fork would
    assert folder.exists()
    pocl._end(str(folder), os.getpid())
    assert not folder.exists()


def test_where_nothing_is_kept_the_folder_is_a_temporary_one(monkeypatch, tmp_path):
    monkeypatch.setenv("GPUPRIMS_CACHE_DIR", "off")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert chosen().parent == tmp_path


def test_what_killed_processes_leave_is_removed_a_week_later(monkeypatch):
    old = chosen()
    os.utime(old, (time.time() - 8 * 86400,) * 2)
    os.close(pocl._own.pop(str(old)))  # as the end of a process does
    monkeypatch.delenv("POCL_CACHE_DIR")
    fresh = chosen()
    assert fresh.exists()
    assert not old.exists()


def test_process_that_has_run_for_weeks_keeps_its_folder():
    own = chosen()
    os.utime(own, (time.time() - 30 * 86400,) * 2)
    beside = "from gpuprims.backends.opencl.pocl import give_pocl_a_folder as give; give()"
    around = {name: value for name, value in os.environ.items() if name != "POCL_CACHE_DIR"}
    subprocess.run([sys.executable, "-c", beside], env=around, check=True)
    assert own.exists()


def test_process_that_this_one_starts_has_another_folder():
    give = "from gpuprims.backends.opencl.pocl import os, give_pocl_a_folder; give_pocl_a_folder()"
    tell = f"{give}; print(os.environ['POCL_CACHE_DIR'])"
    own = chosen()
    assert chosen() == own
    told = subprocess.run([sys.executable, "-c", tell], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    assert Path(told).parent == own.parent
    assert Path(told) != own
    assert own.exists()


def test_without_room_for_a_folder_a_warning_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("GPUPRIMS_CACHE_DIR", "off")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "absent"))
    monkeypatch.setattr(notices, "_given", set())
    with pytest.warns(GpuprimsWarning, match="PoCL: a folder"):
        give_pocl_a_folder()
    assert "POCL_CACHE_DIR" not in os.environ
