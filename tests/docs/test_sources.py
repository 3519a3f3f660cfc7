"""What the site's sources must hold: pictures that are drawn, and every public name."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from docs.pages import ROOT

import gpuprims
import gpuprims.models
import gpuprims.testing
from gpuprims.core.registry import REGISTRY
from gpuprims.primitives import ROOMS

DOCS = ROOT / "docs"
DRAWN: dict[str, Any] = runpy.run_path(str(DOCS / "tools" / "drawings.py"))


@pytest.mark.parametrize("name", DRAWN["DRAWINGS"])
def test_a_picture_is_what_its_script_draws(name: str) -> None:
    assert (DOCS / "pictures" / f"{name}.svg").read_text() == DRAWN["svg"](name), "run python docs/tools/drawings.py"


def test_the_page_of_mistakes_says_what_gpuprims_says_now() -> None:
    written: dict[str, Any] = runpy.run_path(str(DOCS / "tools" / "mistakes.py"))
    assert len(written["CALLS"]) == 30
    assert written["PAGE"].read_text() == written["page"](), "run python docs/tools/mistakes.py"


@pytest.mark.parametrize(
    "page",
    ["map", "reduce", "scan", "compact", "sort", "grouping", "selection", "places", "merge", "histogram", "stencil"],
)
def test_a_page_of_primitives_has_a_picture(page: str) -> None:
    assert re.search(r"!\[[^\]]{20,}\]\(\.\./pictures/[\w-]+\.svg\)", (DOCS / "guide" / f"{page}.md").read_text())


def test_the_reference_has_every_public_name() -> None:
    listed = set(re.findall(r"^   (\w+)$", (DOCS / "reference.md").read_text(), re.MULTILINE))
    rooms = gpuprims.datasets, gpuprims.distributed, gpuprims.models, gpuprims.ndimage, gpuprims.testing
    public = {*gpuprims.__all__, *(name for room in rooms for name in room.__all__)}
    public -= {"datasets", "distributed", "errors", "models", "ndimage", "xp"}
    assert public - listed == set()


def test_the_page_of_kernels_lists_every_kernel() -> None:
    listed = []
    for first, more in re.findall(r"^\| `(\w+/\w+)`((?:, `\w+`)*) \|", (DOCS / "kernels.md").read_text(), re.MULTILINE):
        listed += [first, *(f"{first.partition('/')[0]}/{name}" for name in re.findall(r"\w+", more))]
    variants = [one for room in ROOMS for backend in ("cuda", "opencl") for one in REGISTRY.variants(room, backend)]
    assert sorted(listed) == sorted({f"{variant.primitive}/{variant.name}" for variant in variants})


def test_pages_name_no_file_that_is_absent() -> None:
    absent = []
    for page in (ROOT / "README.md", *DOCS.rglob("*.md")):
        if not {"_build", "api", "programs"} & set(page.relative_to(ROOT).parts):
            links = re.findall(r"\]\(((?:\.{0,2}/?[\w.-]+/?)+)(?:#[\w-]+)?\)", page.read_text())
            absent += [f"{page.name}: {link}" for link in links if not _exists(page, link)]
    assert absent == []


def test_pages_name_no_command_that_is_absent() -> None:
    pages = [*ROOT.glob("*.md"), *(page for page in DOCS.rglob("*.md") if "_build" not in page.parts)]
    named = {name for page in pages for name in re.findall(r"python -m ((?:bench|tests)[\w.]*\w)", page.read_text())}
    files = {name: ROOT.joinpath(*name.split(".")) for name in named}
    assert len(named) > 10
    assert [name for name, file in files.items() if not (file.with_suffix(".py").exists() or file.is_dir())] == []


def _exists(page: Path, link: str) -> bool:
    """Return True for a file, or for a chart that the build draws."""
    return (page.parent / link).exists() or bool(re.fullmatch(r"(?:\.\./)?pictures/chart-[\w-]+\.svg", link))
