"""The documentation site: ``make docs`` builds it, with warnings as errors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from tools import charts, inline, links

import gpuprims

project = "gpuprims"
author = "The gpuprims developers"
project_copyright = author
release = version = gpuprims.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["_build", "decisions/README.md", "programs/GALLERY_HEADER.rst"]
templates_path = ["_templates"]

highlight_language = "none"  # blocks of Python say so
html_theme = "pydata_sphinx_theme"
html_title = f"gpuprims {release}"
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "navbar_persistent": [],
    "navbar_end": ["search-button", "theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
# Pages without others below them need no list at the left.
html_sidebars = {name: [] for name in ("index", "quickstart", "performance", "story")}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_context = {"default_mode": "auto"}
html_show_sourcelink = False

myst_heading_anchors = 4
autosummary_generate = True
toc_object_entries_show_parents = "hide"  # the list at the right is narrow
autodoc_typehints = "none"  # docstrings say the types
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "programs",
    "image_scrapers": ("tools.films.stored",),
    "abort_on_example_error": True,
    "backreferences_dir": "programs/uses",
    "download_all_examples": False,
    "min_reported_time": 3600,
    "show_signature": False,
    "within_subsection_order": "FileNameSortKey",
    "write_computation_times": False,
}


def _draw(app: Any) -> None:
    """Draw the charts before the pages are read."""
    charts.write(Path(app.srcdir) / "pictures")


def setup(app: Any) -> None:
    """Register what the site does beyond its extensions."""
    app.connect("builder-inited", _draw)
    app.connect("source-read", links.read)
    app.connect("include-read", links.include)
    app.connect("doctree-resolved", inline.resolve)
