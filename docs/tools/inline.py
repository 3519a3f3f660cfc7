"""SVG pictures become a part of the page, so that their colours follow the reader's choice of light or dark."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes

# A file by itself asks the browser for light or dark; on the site the reader chooses, and the theme says so here.
_DARK = re.compile(r"@media \(prefers-color-scheme: dark\) \{ (svg\.gp \{[^}]*\}) \}")


def resolve(app: Any, doctree: nodes.document, name: str) -> None:
    """Replace the images of a page that are SVG files of ours."""
    if app.builder.format != "html":
        return
    for image in list(doctree.findall(nodes.image)):
        if image["uri"].startswith("pictures/") and image["uri"].endswith(".svg"):
            path = Path(app.srcdir) / image["uri"]
            image.replace_self(nodes.raw("", inlined(path, image.get("alt", "")), format="html"))


def inlined(path: Path, words: str) -> str:
    """Return the text of an SVG file for a page, with words for those who do not see it."""
    svg = path.read_text(encoding="utf-8")
    svg = svg[svg.index("<svg") :]
    svg = _DARK.sub(r"html[data-theme=dark] \1", svg)
    # Names of parts are unique within a file only.
    svg = re.sub(r'(\bid="|href="#|url\(#)', lambda found: f"{found[1]}{path.stem}-", svg)
    return f'<span class="drawn" role="img" aria-label="{escape(words)}">{svg}</span>'
