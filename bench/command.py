"""``gpuprims bench``: run the suite, draw the page, compare with an earlier report."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from . import results
from .compare import compare
from .session import SESSION, Session

_FOLDER = Path(__file__).parent


class _Keeper:
    """Keep the run's report when pytest ends."""

    path: Path | None = None
    interrupted = False

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self.interrupted = (
            excinfo.type is KeyboardInterrupt
        )  # pytest also calls this for wrong options and errors in collection

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        run = session.config.stash.get(SESSION, "")
        if isinstance(run, Session) and run.path and run.path.exists():
            self.path = run.path


def run(chosen: argparse.Namespace) -> int:
    """Measure unless a report is given, then draw and compare; returns the exit status."""
    status, path = (0, chosen.report) if chosen.report else _measured(chosen)
    if path is None:
        return status or 1
    if chosen.html:
        from .page import write_page

        print(write_page(results.load(path), chosen.out or path.parent))
    if chosen.compare:
        status = max(status, compare(chosen.compare, path, chosen.band))
    return status


def _measured(chosen: argparse.Namespace) -> tuple[int, Path | None]:
    """Run the suite in this process; returns its status and the path of its report."""
    out = chosen.out or Path("gpuprims-bench")
    flags = [f"--{name}" for name in ("full", "peers", "variants", "append") if getattr(chosen, name)]
    named = {"device": chosen.device, "cases": chosen.cases, "commit": chosen.commit, "out": out}
    options = [f"--{name}={value}" for name, value in named.items() if value is not None]
    keeper = _Keeper()
    where = ["-c", str(_FOLDER / "pytest.ini"), "--rootdir", str(_FOLDER), "-p", "no:cacheprovider", str(_FOLDER)]
    status = pytest.main([*where, *flags, *options], plugins=[keeper])
    if keeper.path:
        print(f"measured: {keeper.path}")
    if keeper.interrupted:
        raise KeyboardInterrupt  # pytest turned it into a status
    return int(status), keeper.path
