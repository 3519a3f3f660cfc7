"""Links of the site: the built one, and a site with broken links."""

from __future__ import annotations

from pathlib import Path

import pytest
from docs.pages import SITE, broken_links


def test_broken_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "other.html").write_text('<h1 id="there">Other</h1><img src="absent.png">')
    (tmp_path / "index.html").write_text(
        '<a href="other.html#there">right</a><a href="other.html#away">wrong</a><a href="gone.html">wrong</a>'
        '<a href="#here">wrong</a><a href="https://example.org/">not ours</a>'
    )
    assert broken_links(tmp_path) == [
        "index.html: other.html#away",
        "index.html: gone.html",
        "index.html: #here",
        "other.html: absent.png",
    ]


@pytest.mark.skipif(not (SITE / "index.html").exists(), reason="docs/_build is not built: make docs")
def test_no_link_of_the_site_is_broken() -> None:
    assert broken_links(SITE) == []
