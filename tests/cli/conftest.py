"""Fixtures of the commands."""

from __future__ import annotations

import pytest
from tuned import offered, path  # noqa: F401


@pytest.fixture(autouse=True)
def no_preference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove what a terminal, or pytest-xdist, says about widths and colours."""
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "COLORTERM", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
