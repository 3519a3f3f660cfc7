"""``gpuprims tune``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tuned import HERE, NUMPY, QUICK, REFERENCE, entry, runs

import gpuprims
from gpuprims.cli import main as cli
from gpuprims.cli import tune as command
from gpuprims.core.geometry import Geometry
from gpuprims.core.tuned_choices import Named, read_entries, write_entries
from gpuprims.tuning.search import Found


def run(capsys: Any, *arguments: str) -> tuple[int, str, str]:
    status = cli.main(["tune", *arguments])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def test_the_command_shows_a_table(path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def search(device: Any, primitives: Any, dtypes: Any, **how: Any) -> Iterator[Found]:
        asked.update(how, device=device, primitives=primitives, dtypes=dtypes)
        yield Found("map", "float32", Named("a", Geometry(1, 2)), Named("b", Geometry(1, 4)), 2e-3, 1e-3, 7)
        yield Found("map", "int32", Named("a", Geometry(1, 2)), dropped=[(Named("c", Geometry(1, 1)), "fails")])
        yield Found("scan", "int32", note="refuses")
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "tune", search)
    given = ("--device", "reference", "--primitive", "map", "scan", "--dtype", "int32", "--seconds", "5", "--size", "9")
    status, out, err = run(capsys, *given)
    assert (status, err) == (130, "")
    assert (asked["device"], asked["primitives"], asked["dtypes"]) == (REFERENCE, ["map", "scan"], ["int32"])
    assert (asked["seconds"], asked["size"]) == (5.0, 9)
    rows = [line.split() for line in out.splitlines()]
    assert ["map", "float32", "a", "1", "x", "2", "2", "b", "1", "x", "4", "1", "2.00x", "7"] in rows
    assert ["scan", "int32", "refuses"] in rows
    assert "dropped: map/c 1 x 1, fails" in out
    assert "interrupted; the choices above are saved" in out


def test_the_command_shows_and_resets_what_is_kept(path: Path, capsys: Any, offered: Any) -> None:
    offered(QUICK)
    other = HERE._replace(device="an abacus")
    write_entries(path, {HERE: [entry()], other: [entry()]})
    assert runs() == ("quick", 8)
    _, out, _ = run(capsys, "--show")
    assert f"reference {HERE.device} ({HERE.driver}), gpuprims {gpuprims.__version__}" in out
    assert "for 256 elements or more; used" in out
    run(capsys, "--reset", "--device", "reference")
    assert list(read_entries(path)) == [other]
    assert runs() == ("numpy", NUMPY.items)
    run(capsys, "--reset")
    assert not path.exists()
    assert "nothing is tuned" in run(capsys, "--show")[1]


def test_the_command_searches(path: Path, capsys: Any, offered: Any) -> None:
    offered(QUICK)
    given = ("--device", "reference", "--primitive", "map", "--dtype", "float32", "--size", "300", "--seconds", "0.2")
    status, out, _ = run(capsys, *given)
    assert status == 0
    assert re.search(r"^map +float32 +numpy", out, re.MULTILINE)
    assert f"saved in {path}" in out
