"""PoCL keeps what it compiles in a folder of this user, or in none of others."""

import os
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


def chosen() -> str | None:
    give_pocl_a_folder()
    return os.environ.get("POCL_CACHE_DIR")


def test_own_choice_of_pocl_stands(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert chosen() is None


def test_folder_that_is_asked_for_stands(monkeypatch):
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setenv("POCL_CACHE_DIR", "/asked")
    assert chosen() == "/asked"


def test_without_a_home_the_folder_is_private(monkeypatch, tmp_path):
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert chosen() == str(tmp_path / "private" / "pocl")


@pytest.mark.parametrize("home", ["/proc/nowhere", "/dev/null", "relative"])
def test_home_where_nothing_can_be_made(monkeypatch, tmp_path, home):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", home)
    assert chosen() == str(tmp_path / "private" / "pocl")


def test_folder_that_others_write_is_not_taken(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "open"))
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    assert chosen() == str(tmp_path / "private" / "pocl")


def test_where_nothing_is_kept_the_folder_is_temporary(monkeypatch):
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("GPUPRIMS_CACHE_DIR", "off")
    folder = Path(chosen() or "")
    assert folder.is_dir()
    pocl._temporary.pop().cleanup()
    assert not folder.exists()
