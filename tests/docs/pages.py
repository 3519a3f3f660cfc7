"""The built pages of the site, as files and as HTML."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

ROOT = Path(__file__).parents[2]
SITE = ROOT / "docs" / "_build"


class Page(HTMLParser):
    """The links of a page, and the places that links may name."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Keep the links and names of an element."""
        for name, value in attributes:
            if name == "id" and value:
                self.anchors.add(value)
            elif value and (name == "src" or (name == "href" and tag in ("a", "link"))):
                self.links.append(value)


def paths(site: Path = SITE) -> list[Path]:
    """Return the pages, without the files that the site only carries."""
    return [path for path in sorted(site.rglob("*.html")) if not {"_static", "_downloads"} & set(path.parts)]


def broken_links(site: Path) -> list[str]:
    """Return each link to a page, picture or heading that does not exist."""
    pages = {path.resolve(): Page(path) for path in paths(site)}
    broken = []
    for path, page in pages.items():
        for link in page.links:
            address, anchor = urldefrag(link)
            if ":" in address.partition("/")[0] or address.startswith("//"):
                continue  # another site's, or data
            target = (path.parent / unquote(address.partition("?")[0])).resolve() if address else path
            missing = anchor and target in pages and unquote(anchor) not in pages[target].anchors
            if not target.exists() or missing:
                broken.append(f"{path.relative_to(site.resolve())}: {link}")
    return broken
