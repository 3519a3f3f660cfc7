"""The folder that gpuprims writes to belongs to this user alone, or is not used."""

import os
import stat
import warnings
from pathlib import Path

import pytest

from gpuprims.core import notices
from gpuprims.core.notices import warn_once
from gpuprims.core.private_folder import private_folder
from gpuprims.errors import GpuprimsWarning


@pytest.fixture(autouse=True)
def afresh(monkeypatch):
    monkeypatch.setattr(notices, "_given", set())
    private_folder.cache_clear()
    yield
    private_folder.cache_clear()


def asked_for(monkeypatch, folder):
    monkeypatch.setenv("GPUPRIMS_CACHE_DIR", str(folder))
    return private_folder("kernels")


def mode_of(folder: Path) -> int:
    return stat.S_IMODE(folder.stat().st_mode)


def test_folder_is_made_private(tmp_path, monkeypatch):
    folder = asked_for(monkeypatch, tmp_path / "deep" / "gpuprims")
    assert folder == tmp_path / "deep" / "gpuprims" / "kernels"
    assert (mode_of(folder), mode_of(folder.parent)) == (0o700, 0o700)


def test_folder_open_to_others_is_closed(tmp_path, monkeypatch):
    (tmp_path / "gpuprims").mkdir(mode=0o777)
    (tmp_path / "gpuprims").chmod(0o777)
    assert mode_of(asked_for(monkeypatch, tmp_path / "gpuprims").parent) == 0o700


def test_shared_folder_stays_shared(tmp_path, monkeypatch):
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp").chmod(0o1777)
    with pytest.warns(GpuprimsWarning, match="a folder that is not shared; got mode drwxrwxrwt"):
        assert asked_for(monkeypatch, tmp_path / "tmp") is None
    assert mode_of(tmp_path / "tmp") == 0o1777


def test_folder_that_others_may_read_is_left_as_it_is(tmp_path, monkeypatch):
    (tmp_path / "home").mkdir()
    (tmp_path / "home").chmod(0o755)
    folder = asked_for(monkeypatch, tmp_path / "home")
    assert (mode_of(folder), mode_of(folder.parent)) == (0o700, 0o755)


def test_folder_of_another_user_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.warns(GpuprimsWarning, match="a folder of user .*GPUPRIMS_CACHE_DIR"):
        assert asked_for(monkeypatch, tmp_path) is None


def test_link_is_not_followed(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.warns(GpuprimsWarning, match="not a link"):
        assert asked_for(monkeypatch, tmp_path / "link") is None


def test_relative_path_is_not_used(monkeypatch):
    with pytest.warns(GpuprimsWarning, match="an absolute path; got 'cache'"):
        assert asked_for(monkeypatch, "cache") is None


def test_file_in_its_place_is_not_used(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.warns(GpuprimsWarning, match="keeps nothing on disk"):
        assert asked_for(monkeypatch, tmp_path / "file") is None


def test_same_warning_is_given_once():
    with pytest.warns(GpuprimsWarning, match="twice"):
        warn_once("twice")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_once("twice")
