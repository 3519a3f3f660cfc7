"""The environment of child processes, which import this checkout too."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parents[1]


def child_environment(*folders: Path, **changed: str | None) -> dict[str, str]:
    """Return this process's environment with changes, None for a variable to remove.

    PYTHONPATH begins with ``folders`` and this checkout.
    """
    inherited = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([*map(str, folders), str(ROOT), *([inherited] if inherited else [])])
    environment = {**os.environ, "PYTHONPATH": path, **changed}
    return {name: value for name, value in environment.items() if value is not None}
