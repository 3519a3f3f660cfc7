"""The metadata of built packages: a package index shows the README's links, and the project's addresses."""

from __future__ import annotations

import re
import shutil
import tarfile
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="hatchling, which builds packages, is not installed")

from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[1]
PARTS = ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "gpuprims/__init__.py", "bench/__init__.py")
HOME = "https://example.org/us/gpuprims"


def built(folder: Path, home: str) -> list[Message]:
    """Build a source archive and a wheel with a home, and return their metadata."""
    for part in PARTS:
        (folder / part).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / part, folder / part)
    (folder / "bench" / "results").mkdir()
    (folder / "bench" / "results" / "page.html").write_text("a report")
    project = folder / "pyproject.toml"
    project.write_text(re.sub(r'^home = ".*"$', f'home = "{home}"', project.read_text(), flags=re.MULTILINE))
    (archive,) = SdistBuilder(str(folder)).build(directory=str(folder / "dist"))
    (wheel,) = WheelBuilder(str(folder)).build(directory=str(folder / "dist"), versions=["standard"])
    with tarfile.open(archive) as packed:
        assert [name for name in packed.getnames() if "results" in name] == []
        told = packed.extractfile(next(name for name in packed.getnames() if name.endswith("/PKG-INFO")))
        assert told is not None
        source = told.read()
        assert any(name.endswith("/bench/__init__.py") for name in packed.getnames())
    with zipfile.ZipFile(wheel) as packed_wheel:
        assert [name for name in packed_wheel.namelist() if "results" in name] == []
        name = next(name for name in packed_wheel.namelist() if name.endswith(".dist-info/METADATA"))
        return [message_from_bytes(source), message_from_bytes(packed_wheel.read(name))]


def links(metadata: Message) -> list[str]:
    return re.findall(r"\]\(([^)]*)\)", str(metadata.get_payload()))


def test_every_link_of_a_release_is_an_address(tmp_path: Path) -> None:
    for metadata in built(tmp_path, f"{HOME}/"):
        tag = f"v{metadata['Version']}"
        assert len(links(metadata)) > 20
        assert [link for link in links(metadata) if not link.startswith("https://")] == []
        assert f"{HOME}/raw/{tag}/bench/results/cuda-nvidia-h200/roofline.png" in links(metadata)
        assert f"{HOME}/blob/{tag}/docs/guide/map.md" in links(metadata)
        assert metadata["Description-Content-Type"] == "text/markdown"
        assert metadata.get_all("Project-URL") == [
            f"Homepage, {HOME}",
            f"Documentation, {HOME}/blob/{tag}/docs/index.md",
            f"Changelog, {HOME}/blob/{tag}/CHANGELOG.md",
        ]


def test_a_build_without_a_home_says_so(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for metadata in built(tmp_path, ""):
        assert metadata["Project-URL"] is None
        assert str(metadata.get_payload()).strip() == (ROOT / "README.md").read_text().strip()
    assert "README: links stay relative (set home in pyproject.toml to release)" in capfd.readouterr().err
