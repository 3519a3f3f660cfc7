"""The file of choices: where it is, and what happens if it is damaged."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tuned import HERE, NUMPY, QUICK, REFERENCE, SIZE, X, entry, runs

import gpuprims
from gpuprims.cli import main as cli
from gpuprims.core import notices
from gpuprims.core import tuned_choices as tuning
from gpuprims.core.private_folder import MOST_BYTES
from gpuprims.core.traits import CallTraits
from gpuprims.core.tuned_choices import read_entries, tuned_on, write_entries
from gpuprims.errors import (
    GpuprimsWarning,
    TuningError,
)
from gpuprims.tuning.search import tune


def _whole(**changed: Any) -> str:
    """Return the text of a file with one entry, as version 0.1 wrote it."""
    kept = {"bins": 0, "around": None} | dataclasses.asdict(entry(**changed))
    kept |= kept.pop("measured")
    return json.dumps({"format": 1, "devices": [{"place": HERE._asdict(), "entries": [kept]}]})


def test_a_file_of_version_0_1_is_used(path: Path, offered: Any) -> None:
    offered(QUICK)
    path.parent.mkdir()
    path.write_text(_whole())
    assert read_entries(path) == {HERE: (entry(),)}
    assert runs() == ("quick", 8)
    path.write_text(_whole(measured={"around": [1, 2]}))
    assert not read_entries(path)[HERE][0].covers(CallTraits((np.dtype(np.float32),), SIZE))


BROKEN = {
    "no json": "{",
    "nothing": "",
    "a list": "[]",
    "another format": json.dumps({"format": 2, "devices": []}),
    "no place": json.dumps({"format": 1, "devices": [{"entries": []}]}),
    "another entry": json.dumps(
        {"format": 1, "devices": [{"place": HERE._asdict(), "entries": [{"primitive": "map"}]}]}
    ),
    "a size in words": _whole(size="many"),
    "no shape": _whole(chosen=("quick", "wide")),
    "a shape of words": _whole(chosen=("quick", ["wide", "high", None])),
    "a shape of truths": _whole(chosen=("quick", [1, [], None])),
    "a neighbourhood of words": _whole(measured={"around": ["a", "b", "c", "d", "e", "f"]}),
    "no time": _whole(seconds=0),
    "less than no time": _whole(default_seconds=-1.0),
    "a time that is none": _whole(seconds=float("nan")),
    "a size beyond all": _whole(size=10**400),
    "nested without end": "[" * 100_000,
    "a number without end": "9" * 10_000,
    "bytes": b"\xff\xfe",
    "too much": " " * (MOST_BYTES + 1),
}


@pytest.fixture
def unwarned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every warning be given again."""
    monkeypatch.setattr(notices, "_given", set())


def assert_ranks_after_one_warning(match: str) -> None:
    """Make two calls, the first of which warns, and neither of which uses a choice."""
    tuning.forget()
    with pytest.warns(GpuprimsWarning, match=match) as warned:
        assert runs() == ("numpy", NUMPY.items)
    assert len(warned) == 1
    tuning.forget()
    assert runs(X[1:]) == ("numpy", NUMPY.items)  # a second warning would be an error


@pytest.mark.usefixtures("unwarned")
@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_warned_of_once_and_how_to_begin_anew(path: Path, capsys: Any, text: str | bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert_ranks_after_one_warning(rf"by rank, .*{re.escape(str(path))}.*gpuprims tune --reset")
    with pytest.raises(TuningError, match=re.escape(str(path))) as caught:
        read_entries(path)
    assert len(str(caught.value)) < len(str(path)) + 320
    assert REFERENCE.check() is None
    assert gpuprims.map("x + 1", X, device="reference", variant="numpy")[1] == 2
    assert cli.main(["tune", "--show"]) == 1
    assert cli.main(["tune", "--device", "reference"]) == 1
    assert cli.main(["tune", "--reset"]) == 0
    assert "nothing is tuned" in capsys.readouterr().out
    assert gpuprims.map("x + 1", X, device="reference")[1] == 2


@pytest.mark.usefixtures("unwarned")
@pytest.mark.parametrize("kind", ["folder", "pipe", "permission"])
def test_what_is_no_file_is_warned_of_once(path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    path.parent.mkdir()
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)  # to which nobody writes: reading it would wait for ever
    else:
        forbid(monkeypatch, path)
    assert_ranks_after_one_warning(f"by rank, .*{re.escape(str(path))}")


def forbid(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """Let a file be unreadable, whoever runs the test: root may read every file."""
    opened = os.open

    def fail(name: Any, *how: Any, **more: Any) -> int:
        if Path(name) == path:
            raise PermissionError(13, "Permission denied", str(name))
        return opened(name, *how, **more)

    monkeypatch.setattr(os, "open", fail)


@pytest.mark.usefixtures("unwarned")
@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this system's files have no owner by number")
@pytest.mark.parametrize("owner", ["another", "own"])
def test_the_file_in_another_users_home_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, offered: Any, owner: str
) -> None:
    offered(QUICK)
    monkeypatch.delenv("GPUPRIMS_TUNING", raising=False)
    monkeypatch.setattr(tuning, "user_cache_path", lambda name: tmp_path / name)
    path = tmp_path / "gpuprims" / "tuning.json"
    write_entries(path, {HERE: [entry()]})
    if owner == "own":
        assert runs() == ("quick", 8)
        return
    status = os.stat(path)
    seen = os.stat_result((*status[:4], status.st_uid + 4711, *status[5:]))
    monkeypatch.setattr(os, "fstat", lambda handle: seen)
    assert_ranks_after_one_warning(rf"{re.escape(str(path))}.*a file of user {status.st_uid + 4711}; this process")
    monkeypatch.setenv("GPUPRIMS_TUNING", str(path))  # a file that the user names is used, whosever it is
    tuning.forget()
    assert runs() == ("quick", 8)


@pytest.mark.usefixtures("unwarned")
@pytest.mark.skipif(os.name != "posix", reason="homes are found otherwise")
def test_without_a_home_calls_go_by_ranks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, offered: Any, capsys: Any
) -> None:
    import pwd

    def nobody(number: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {number}")

    offered(QUICK)
    for name in ("HOME", "XDG_CACHE_HOME", "GPUPRIMS_TUNING"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    monkeypatch.chdir(tmp_path)
    write_entries(tmp_path / "~" / ".cache" / "gpuprims" / "tuning.json", {HERE: [entry()]})  # planted
    assert_ranks_after_one_warning(r"by rank, .*a home folder for the file of choices; got RuntimeError\(.*~/\.cache")
    assert cli.main(["tune", "--show"]) == 1
    assert "set GPUPRIMS_TUNING to a file, or to off" in capsys.readouterr().err
    with pytest.raises(TuningError, match="a home folder for the file"):
        next(tune("reference"))


def test_off_reads_no_file(path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    path.parent.mkdir()
    path.write_text("{")
    monkeypatch.setenv("GPUPRIMS_TUNING", "off")
    tuning.forget()
    assert runs() == ("numpy", NUMPY.items)
    assert cli.main(["tune", "--show"]) == 0
    assert "GPUPRIMS_TUNING is off" in capsys.readouterr().out


def test_the_file_is_in_the_users_cache_unless_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPUPRIMS_TUNING", raising=False)
    monkeypatch.setattr(tuning, "user_cache_path", lambda name: Path("/cache") / name)
    assert tuning.tuning_path() == Path("/cache/gpuprims/tuning.json")
    monkeypatch.setenv("GPUPRIMS_TUNING", "mine.json")
    assert tuning.tuning_path() == Path("mine.json")


def test_nothing_is_asked_where_nothing_is_tuned(path: Path) -> None:
    assert tuned_on("reference", REFERENCE.capabilities) is None
