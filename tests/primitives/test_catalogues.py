"""The catalogues of variants, their measurements, and the core that names no primitive."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import gpuprims
from gpuprims.core.catalogue import Catalogue, PerBackend
from gpuprims.core.geometry import Geometry
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant import Variant
from gpuprims.errors import RegistryError
from gpuprims.primitives import ROOMS
from gpuprims.primitives.fold_variants import FoldVariant, ScanVariant

PACKAGE = Path(gpuprims.__file__).parent
CORE = sorted((PACKAGE / "core").rglob("*.py"))
# Python's function, and the field of a spec; Python's method for pickling; a verb of methods; a keyword of json.dumps.
_OTHERS = {"map", "__reduce__", "take", "sort_keys"}
_VERBS = {"map", "merge", "take"}


def _split(name: str) -> str:
    """Return the words of an identifier."""
    return re.sub(r"([A-Z]?)_?", lambda found: f" {found[1].lower()}" if found[0] else "", name)


def words(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the words of a module's names and strings, with their lines; without examples in docstrings."""
    for node in ast.walk(ast.parse(path.read_text())):
        line = getattr(node, "lineno", 0)
        texts: list[str] = []
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts = [re.sub(r"^\s*>>>.*?(?=\n\s*\n|\Z)", "", node.value, flags=re.MULTILINE | re.DOTALL)]
        elif isinstance(node, ast.ImportFrom):
            texts = [node.module or "", *(_split(alias.name) for alias in node.names)]
        else:
            names = (getattr(node, field, None) for field in ("id", "attr", "name", "arg"))
            texts = [_split(one) for one in names if isinstance(one, str) and one not in _OTHERS]
        for text in texts:
            # A map is also a function of elements, in prose and as the field of a spec; sentences take and merge.
            yield from ((line, word) for word in re.findall(r"[a-z]+", text) if word not in _VERBS or text == word)


@pytest.mark.parametrize("path", CORE, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_core_names_no_primitive(path: Path) -> None:
    found = [(line, word) for line, word in words(path) if word in ROOMS]
    assert found == []


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_is_named_as_its_primitive(room: str) -> None:
    found = REGISTRY.primitive(room)
    assert found is not None
    assert found.name == room
    assert {variant.primitive for variant in found.variants} == {room}


@pytest.mark.parametrize("room", ROOMS)
def test_numbers_name_rows_of_measurements_and_rows_are_named(room: str) -> None:
    page = PACKAGE / "primitives" / room / "measurements.md"
    code = " ".join(path.read_text() for path in (*page.parent.glob("*.py"), *page.parent.glob("kernels/*")))
    rows = re.findall(r"^\| ([\w-]+) \|", page.read_text(), re.MULTILINE)
    named = " ".join(re.findall(r"(?:# |/\* |; | \()rows: ([\w-]+(?:, [\w-]+)*)", code)).replace(",", "").split()
    assert {row.partition("-")[0] for row in named} == {row.partition("-")[0] for row in rows} - {"row", ""}
    for line in page.read_text().splitlines():
        assert not line.startswith("| ") or line.count("|") == 5


def test_a_field_may_differ_between_backends() -> None:
    made = Catalogue(ScanVariant, "scan", PACKAGE / "primitives" / "scan")
    geometry = PerBackend(cuda=Geometry(64, 2), opencl=Geometry(32, 4))
    asked: list[Geometry] = []

    def refuse(at: Geometry) -> None:
        asked.append(at)

    cuda, opencl = made.gpu("x", rank=1, geometry=geometry, refuse=refuse, scratch="levels")
    assert [(one.backend, one.block, one.items, one.scratch) for one in (cuda, opencl)] == [
        ("cuda", 64, 2, "levels"),
        ("opencl", 32, 4, "levels"),
    ]
    assert asked == list(geometry)


def test_a_plain_variant_gets_the_defaults_of_its_primitive() -> None:
    plain = Variant("reduce", "x", "opencl", Path("reduce_x.cl"), 1, Geometry(64, 4), lambda able, call: None)
    folds = FoldVariant.of(plain)
    assert (folds.geometry, folds.shares_outputs, folds.accumulates) == (plain.geometry, True, False)
    assert FoldVariant.of(folds) is folds
    with pytest.raises(RegistryError, match="opencl reduce/x: a ScanVariant; got a FoldVariant"):
        ScanVariant.of(folds)


def test_summaries_join_words_that_are_broken_at_a_hyphen() -> None:
    every = [variant for room in ROOMS for variant in REGISTRY.variants(room, "opencl")]
    assert any("-\n" in variant.source.read_text().partition("\n *\n")[0] for variant in every)
    assert not [variant.label for variant in every if "- " in variant.summary]
