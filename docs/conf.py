"""The documentation site: ``make docs`` builds it, with warnings as errors."""

from __future__ import annotations

import re
from typing import Any

import gpuprims

project = "gpuprims"
author = "The gpuprims developers"
project_copyright = author
release = version = gpuprims.__version__

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["_build", "decisions/README.md"]
templates_path = ["_templates"]

html_theme = "pydata_sphinx_theme"
html_title = f"gpuprims {release}"
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False, "header_links_before_dropdown": 6}
html_show_sourcelink = False

myst_heading_anchors = 4
autosummary_generate = True
autodoc_typehints = "none"  # docstrings say the types
numpydoc_show_class_members = False

# Pages of the repository beside docs/, and pages of the site that include them.
_INCLUDED = {"CONTRIBUTING": "contributing", "RELEASING": "releasing", "SECURITY": "security", "CHANGELOG": "changelog"}
_LINK = re.compile(r"\]\((?:\.\./)*(docs/)?([\w./-]+)(#[\w-]+)?\)")
_EXAMPLE = re.compile(r"\[([^\]]+)\]\((?:\.\./)*examples/[^)]*\)")


def _link(found: re.Match[str], depth: int) -> str:
    """Return a link as the site needs it: from the repository's root to docs/, and to pages that are included."""
    inside, path, anchor = found[1], found[2], found[3] or ""
    if path.rstrip("/") == "decisions":
        path = "decisions/index.md"
    up = "../" * depth
    page = _INCLUDED.get(path.removesuffix(".md"))
    if page is not None:
        return f"]({up}{page}.md{anchor})"
    return f"]({up}{path}{anchor})" if inside else found[0]


def _read(app: Any, name: str, source: list[str]) -> None:
    """Change the links of a page; those to examples, which the site does not have, become text."""
    source[0] = _EXAMPLE.sub(r"\1", source[0])
    source[0] = _LINK.sub(lambda found: _link(found, name.count("/")), source[0])


def _include(app: Any, path: Any, name: str, source: list[str]) -> None:
    """Change the links of a page that another one includes."""
    _read(app, name, source)


def setup(app: Any) -> None:
    """Register the changes of links."""
    app.connect("source-read", _read)
    app.connect("include-read", _include)
