"""The options of a run, the benchmarks that they select, and the final table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpuprims.cli.terminal import text_of

from .cases import Case
from .contenders import Contender, peers_of
from .session import SESSION, Options, Session, label_of, open_session
from .tables import summary


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gpuprims bench")
    group.addoption("--device", help="a spec such as cuda or opencl:gpu; by default the best device")
    group.addoption("--full", action="store_true", help="large sizes and all cases, for a GPU")
    group.addoption("--peers", action="store_true", help="other libraries in the same rounds")
    group.addoption("--variants", action="store_true", help="every kernel by name, beside the chosen one")
    group.addoption("--variant", action="append", default=[], metavar="NAME", help="this kernel, such as reduce/tree")
    group.addoption("--cases", help="names, parts of names or patterns, with semicolons between them")
    group.addoption("--out", type=Path, help="a folder for the JSON report, rewritten after each case")
    group.addoption("--append", action="store_true", help="keep the rows of the report in that folder")
    group.addoption("--commit", help="the commit to name in the report, outside a git clone")


def session_of(config: pytest.Config) -> Session | str:
    """Return the run's session, or the reason for its absence."""
    if SESSION not in config.stash:
        get = config.getoption
        asked = {"device": get("device"), "patterns": get("cases"), "out": get("out"), "commit": get("commit")}
        asked |= {name: get(name) for name in ("full", "peers", "variants", "append")}
        config.stash[SESSION] = open_session(Options(**asked))
    return config.stash[SESSION]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    asked = {"case", "contender", "peer"} & set(metafunc.fixturenames)
    session = session_of(metafunc.config) if asked else ""
    params: list[Any] = []
    if asked and (not isinstance(session, Session) or session.user_device.backend == "reference"):
        reason = session if isinstance(session, str) else "the reference has no races; --device names another device"
        params = [pytest.param(*(None,) * len(asked), marks=pytest.mark.skip(reason=reason), id="none")]
    if "peer" in metafunc.fixturenames:
        metafunc.parametrize("peer", params or _peers(session))
    elif "contender" in metafunc.fixturenames:
        metafunc.parametrize(("case", "contender"), params or _pairs(session))


def _pairs(session: Any) -> list[Any]:
    return [pytest.param(case, who, id=f"{case.label}-{who.name}") for case, who in session.pairs()]


def _peers(session: Any) -> list[str]:
    if not session.options.peers:
        return []
    there, absent = peers_of(session.device)
    return [*(peer.name for peer in there), *absent]


@pytest.fixture
def run(request: pytest.FixtureRequest) -> Session:
    """The session. Without a device the benchmark is skipped, with the reason."""
    session = session_of(request.config)
    if isinstance(session, str):
        pytest.skip(session)
    return session


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "label(text): what --cases is compared with")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    session = session_of(config)
    if isinstance(session, Session):
        left_out = [item for item in items if not session.asked(label_of(item) or "*")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture
def race_of(run: Session) -> Callable[[Case, Contender], None]:
    """Measure all contenders of a case in the same rounds; fail for one of gpuprims with a wrong result."""

    def race(case: Case, contender: Contender) -> None:
        error = run.measured(case).failures.get(contender.name)
        if error is None:
            return
        if not contender.ours:  # reported; not a failure of gpuprims
            pytest.xfail(f"{contender.name}: {error!r}"[:400])
        raise error

    return race


@pytest.fixture
def peer_is_there(run: Session) -> Callable[[str], None]:
    """Skip an absent peer, with the reason."""

    def look(name: str) -> None:
        absent = peers_of(run.device)[1]
        if name in absent:
            pytest.skip(absent[name])

    return look


def pytest_sessionfinish(session: pytest.Session) -> None:
    run = session.config.stash.get(SESSION, "")
    if isinstance(run, Session):
        run.finish()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    session = config.stash.get(SESSION, "")
    if isinstance(session, Session) and session.report["rows"]:
        able = session.user_device.capabilities
        terminalreporter.section(f"{session.user_device.spec}, {able.name}, {able.driver}")
        for line in text_of(*summary(session.report)).splitlines():
            terminalreporter.line(line)
