"""``gpuprims bench``: run the suite, draw the page, compare with an earlier report."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpuprims.cli.terminal import progress, show
from gpuprims.errors import ArgumentError, did_you_mean, quoted

from . import results
from .cases import WORKS, matches
from .compare import check_devices, compare
from .session import SESSION, Options, Session, label_of
from .tables import summary

_FOLDER = Path(__file__).parent


class _Progress:
    """A plugin in place of pytest's terminal: it tells the progress, and keeps failures and unknown ``--cases``."""

    def __init__(self, session: Session, tell: Callable[[float, str], None]) -> None:
        self.failures: list[str] = []
        self.unknown: list[str] = []
        self.interrupted = False
        self._session, self._tell = session, tell
        self._labels: list[str] = []

    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[SESSION] = self._session

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if label_of(item) and not item.get_closest_marker("skip")]
        self._labels = list(dict.fromkeys(map(_named, items)))
        patterns = self._session.options.patterns
        for pattern in patterns.split(";") if patterns else ():
            if not any(matches(label, pattern) for label in self._labels):
                self.unknown.append(pattern.strip())
        if self.unknown:
            items.clear()

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        label = _named(item)
        self._tell(self._labels.index(label) / len(self._labels), label)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._fail(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._fail(report)

    def _fail(self, report: Any) -> None:
        crash = getattr(report.longrepr, "reprcrash", None)
        said = str(crash.message if crash else report.longrepr).strip()
        self.failures.append(f"{report.nodeid.partition('::')[2]}: {said}")

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        # pytest also calls this for wrong options and errors in collection
        self.interrupted = excinfo.type is KeyboardInterrupt


def _named(item: pytest.Item) -> str:
    return label_of(item) or item.name


def run(chosen: argparse.Namespace) -> int:
    """Measure unless a report is given, then draw and compare; returns the exit status."""
    old = results.load(chosen.compare) if chosen.compare else None  # before minutes of measuring
    status, path = (0, chosen.report) if chosen.report else _measured(chosen, old)
    if path is None:
        return status or 1
    report = results.load(path)
    if chosen.report and not chosen.html and not chosen.compare:
        _print(report)
    if chosen.html:
        from .page import write_page

        print(write_page(report, chosen.out or path.parent))
    if chosen.compare:
        status = max(status, compare(chosen.compare, path, chosen.band))
    return status


def _measured(chosen: argparse.Namespace, old: results.Report | None) -> tuple[int, Path | None]:
    """Run the suite in this process; returns its status and the path of its report."""
    asked = {name: getattr(chosen, name) for name in ("device", "full", "peers", "variants", "append", "commit")}
    session = Session(Options(patterns=chosen.cases, out=chosen.out or Path("gpuprims-bench"), **asked))
    if old is not None:
        check_devices(old, session.report)
    # Without the terminal's plugin, whose options pytest.ini has.
    options = "addopts=--strict-markers --import-mode=importlib --capture=sys"
    quiet = ["-p", "no:terminal", "-p", "no:cacheprovider", "-o", options]
    where = ["-c", str(_FOLDER / "pytest.ini"), "--rootdir", str(_FOLDER), str(_FOLDER)]
    where += ["--ignore", str(_FOLDER / "suite")]  # pytest-benchmark's
    with progress(1) as tell:
        plugin = _Progress(session, tell)
        status = int(pytest.main([*quiet, *where], plugins=[plugin]))
    written = session.path if session.path and session.path.exists() else None
    if plugin.interrupted:
        if written:
            show(f"interrupted; measured so far: {written}")
        raise KeyboardInterrupt  # pytest turned it into a status
    if plugin.unknown:
        from .test_articles import SERIES

        firsts = {work.primitive: work.name for work in reversed(WORKS)}  # a name for each primitive
        such = "; ".join([*list(reversed(firsts.values()))[:4], "articles, ladder"])
        known = [work.name for work in WORKS] + [f"articles, {name}" for name in SERIES]
        got = f"{quoted(plugin.unknown[0])}{did_you_mean(plugin.unknown[0], known)}"
        raise ArgumentError(f"bench: --cases with parts of a case's name, such as {such}; got {got}")
    _print(session.report)
    if plugin.failures:
        show("", f"failed: {len(plugin.failures)}", *plugin.failures)
    if written:
        show("", f"measured: {written}")
    return status, written


def _print(report: results.Report) -> None:
    device = report["device"]
    show(f"{device['spec']}, {device['name']}, {device['driver']}, {report['date']}", *summary(report))
