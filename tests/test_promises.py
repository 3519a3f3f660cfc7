"""Each promise of docs/promises.md names a test, and each test exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "promises.md").read_text()
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith(("| promise", "| ---"))]
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)))


def functions_of(path: Path) -> set[str]:
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}


def test_the_page_promises_something() -> None:
    assert len(ROWS) > 30
    assert len(NAMED) > 30


@pytest.mark.parametrize("row", ROWS)
def test_a_promise_names_a_test(row: str) -> None:
    assert re.search(r"`tests/[\w/]+\.py::test_\w+`", row.split("|")[2])


@pytest.mark.parametrize(("path", "name"), NAMED, ids=[f"{path}::{name}" for path, name in NAMED])
def test_the_test_is_there(path: str, name: str) -> None:
    assert (ROOT / path).exists()
    assert name in functions_of(ROOT / path)


def test_the_page_and_the_policy_are_linked() -> None:
    readme = (ROOT / "README.md").read_text()
    assert "(docs/promises.md)" in readme
    assert "(SECURITY.md)" in readme
    assert "(docs/promises.md)" in (ROOT / "SECURITY.md").read_text()
