"""Choose a part of the tests that covers each value of each parameter of each test function at least once.

A test of 14 dtypes, 5 operators and 8 kernels has 560 combinations. The default run takes about as many as its longest
parameter has values, the same in every process and run. ``--whole`` takes all.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest

# The number of tests that a run leaves out.
LEFT = pytest.StashKey[int]()

Case = TypeVar("Case")
Values = frozenset[Hashable]
Places = frozenset[tuple[str, str]]
Specs = frozenset[str]
_NONE = SimpleNamespace(params={})


def cover(cases: Sequence[Case], values: Callable[[Case], Values], covered: Iterable[Hashable] = ()) -> list[Case]:
    """Choose cases greedily: each adds the most values that earlier ones lack; the first wins a tie.

    Parameters
    ----------
    cases : sequence
        Any objects.
    values : callable
        Returns a case's values.
    covered : iterable of hashable, optional
        Values that need no case.
    """
    left = {k: values(case) for k, case in enumerate(cases)}
    missing = frozenset().union(*left.values()) - frozenset(covered)
    kept = []
    while missing:
        best = max(left, key=lambda k: (len(left[k] & missing), -k))
        kept.append(best)
        missing -= left.pop(best)
    return [cases[k] for k in sorted(kept)]


def covering(
    items: Sequence[pytest.Item], runs_on: Callable[[pytest.Item], Places], once: Specs, sampled: Specs
) -> set[pytest.Item]:
    """Return the tests that cover every value of every parameter of every test function.

    Parameters
    ----------
    items : sequence of pytest.Item
        Everything that was collected, in order.
    runs_on : callable
        Returns a test's devices, by spec, and their kernels.
    once : set of str
        Devices that run each test function once, and each of their kernels once in each function.
    sampled : set of str
        Devices that run each of their kernels once in each file, and every fourth function once.
    """
    functions: dict[str, list[pytest.Item]] = defaultdict(list)
    files: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        part = any(spec in sampled for spec, _ in runs_on(item))
        (files[str(item.path)] if part else functions[_function(item)]).append(item)
    kept: set[pytest.Item] = set()
    for name, cases in functions.items():
        whole = cases[0].get_closest_marker("whole") is not None
        turned = _turned(cases, name)
        minor = {item for item in cases if any(spec in once for spec, _ in runs_on(item))}
        major = [item for item in turned if item not in minor]
        major = major if whole else cover(major, _values)
        seen = frozenset[Hashable]().union(*map(_values, major))
        kept.update(major, cover([item for item in turned if item in minor], _values, seen))
    for name, cases in files.items():
        kept.update(cover(_turned(cases, name), lambda item: runs_on(item) | _sampled(item)))
    return kept


def _function(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _sampled(item: pytest.Item) -> Values:
    """Return a test's function as a value if it is among those that every device runs."""
    name = _function(item)
    return frozenset() if zlib.crc32(name.encode()) % 4 else frozenset({name})


def _turned(cases: list[pytest.Item], name: str) -> list[pytest.Item]:
    """Rotate the cases by function, so that a kernel meets different dtypes in different tests."""
    first = zlib.crc32(name.encode()) % len(cases)  # hash() would differ between processes
    return cases[first:] + cases[:first]


def _values(item: pytest.Item) -> Values:
    """Return a test's rows of each ``parametrize`` and values of each fixture, by identity: a product shares them."""
    params = dict(getattr(item, "callspec", _NONE).params)
    together = [_names(mark.args[0]) for mark in item.iter_markers("parametrize")]
    alone = [(name,) for name in params.keys() - {name for names in together for name in names}]
    rows = {(names, *(id(params[name]) for name in names)) for names in (*together, *alone)}
    return frozenset(rows or {"no parameters"})


def _names(argnames: str | Sequence[str]) -> tuple[str, ...]:
    return tuple(name.strip() for name in argnames.split(",")) if isinstance(argnames, str) else tuple(argnames)


# Hooks, which conftest.py imports -------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--whole", action="store_true", help="run every combination of parameters, not a part covering each"
    )


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):  # of pytest-xdist, whose workers collect
        session.config.workeroutput["left"] = session.config.stash.get(LEFT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[LEFT] = getattr(node, "workeroutput", {}).get("left", 0)
