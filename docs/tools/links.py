"""Links of pages, as the site needs them: pages also read well in the repository, with its paths."""

from __future__ import annotations

import re
from typing import Any

# Pages of the repository beside docs/, and pages of the site that include them.
_INCLUDED = {"CONTRIBUTING": "contributing", "RELEASING": "releasing", "SECURITY": "security", "CHANGELOG": "changelog"}
_LINK = re.compile(r"\]\((?:\.\./)*(docs/)?([\w./-]+)(#[\w-]+)?\)")
_EXAMPLE = re.compile(r"\[([^\]]+)\]\((?:\.\./)*examples/[^)]*\)")
_GALLERY = re.compile(r"\]\((?:\.\./)*examples/gallery(?:/(\w+)\.py)?\)")


def _link(found: re.Match[str], up: str) -> str:
    """Return a link from the repository's root to docs/, or to a page that is included."""
    inside, path, anchor = found[1], found[2], found[3] or ""
    if path.rstrip("/") == "decisions":
        path = "decisions/index.md"
    page = _INCLUDED.get(path.removesuffix(".md").rpartition("/")[2])
    if page is not None:
        return f"]({up}{page}.md{anchor})"
    return f"]({up}{path}{anchor})" if inside else found[0]


def read(app: Any, name: str, source: list[str]) -> None:
    """Change the links of a page; those to examples that the site does not have become text."""
    up = "../" * name.count("/")
    text = _GALLERY.sub(lambda found: f"]({up}programs/{found[1] or 'index'}.rst)", source[0])
    text = _EXAMPLE.sub(r"\1", text)
    source[0] = _LINK.sub(lambda found: _link(found, up), text)


def include(app: Any, path: Any, name: str, source: list[str]) -> None:
    """Change the links of a page that another one includes."""
    read(app, name, source)
