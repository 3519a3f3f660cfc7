"""Metadata of releases: the README and the project's addresses, from ``home`` in pyproject.toml."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

# A link or a picture of Markdown whose target is a file of the repository: neither an address nor a heading.
_LINK = re.compile(r"(!?)(\[[^\]]*\]\()(?![a-z]+:|#)([^)\s]+)\)")


class CustomMetadataHook(MetadataHookInterface):
    """Fill the fields ``readme`` and ``urls``, which pyproject.toml calls dynamic."""

    def update(self, metadata: dict[str, object]) -> None:
        """Set the fields; without a home, leave the README as it is and name no address."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        home, tag = self.config["home"].rstrip("/"), f"v{metadata['version']}"
        if home:
            text = _LINK.sub(lambda found: self._address(found, home, tag), text)
            metadata["urls"] = {
                "Homepage": home,
                "Documentation": self._place("page", home, tag, "docs/index.md"),
                "Changelog": self._place("page", home, tag, "CHANGELOG.md"),
            }
        else:
            print("README: links stay relative (set home in pyproject.toml to release)", file=sys.stderr)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}

    def _address(self, found: re.Match[str], home: str, tag: str) -> str:
        """Return a link with an address for its path."""
        image, words, path = found.groups()
        return f"{image}{words}{self._place('picture' if image else 'page', home, tag, path)})"

    def _place(self, kind: str, home: str, tag: str, path: str) -> str:
        """Return the address of a file of the repository."""
        pattern: str = self.config[kind]
        return pattern.format(home=home, tag=tag, path=path)
