"""A covering part of a matrix of tests: each kernel of each device, and values of each parameter.

A test of 14 dtypes, 5 operators and 8 kernels is 560 combinations. The default run takes a few, which meet each kernel,
the same ones in every process and run; ``--whole`` takes all. Kernels that are meant for GPUs take turns on a CPU.
"""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest

# How many tests a run leaves out.
LEFT = pytest.StashKey[int]()

# Tests of a function that runs kernels by name, or calls on a device, where its kernels do not need more; and of one on
# a device that is tested once.
_MOST = {"kernel": 1, "device": 2, "once": 4}

# One function of so many runs on a device that is tested by a part. PoCL compiles some kernels for three seconds.
_EVERY = 48

# Functions that test errors. Any change may alter a message, so devices that are taken once run all of their values.
_ERRORS = re.compile(r"::test_\w*(refus|wrong|error|mistake|invalid|raise|cannot)")

Case = TypeVar("Case")
Values = frozenset[Hashable]
Places = frozenset[tuple[str, str]]
Specs = frozenset[str]
_NONE = SimpleNamespace(params={})


def cover(
    cases: Sequence[Case], values: Callable[[Case], Values], covered: Iterable[Hashable] = (), most: int | None = None
) -> list[Case]:
    """Choose cases, each the one with most values that none before it has; of several, the first.

    Parameters
    ----------
    cases : sequence
        Any objects.
    values : callable
        Gives a case's values.
    covered : iterable of hashable, optional
        Values that need no case.
    most : int, optional
        How many cases there may be, whatever is covered then.
    """
    left = {k: values(case) for k, case in enumerate(cases)}
    missing = frozenset().union(*left.values()) - frozenset(covered)
    kept: list[int] = []
    while missing and (most is None or len(kept) < most):
        best = max(left, key=lambda k: (len(left[k] & missing), -k))
        kept.append(best)
        missing -= left.pop(best)
    return [cases[k] for k in sorted(kept)]


def covering(
    items: Sequence[pytest.Item],
    runs_on: Callable[[pytest.Item], Places],
    once: Specs,
    sampled: Specs,
    guests: Places = frozenset(),
) -> set[pytest.Item]:
    """Return the tests that cover every kernel of every test function, and values of its parameters.

    Functions that run on a device take a few values each (``_MOST``), and functions beside them others. Devices of
    ``once`` take every value of functions that test errors. A function that is watched takes each value, with another
    kernel where there are enough.

    Parameters
    ----------
    items : sequence of pytest.Item
        Everything that was collected, in order.
    runs_on : callable
        Gives a test's devices, by spec, and their kernels.
    once : set of str
        Devices that are taken only for values that no other test has: each of their kernels once in each function.
    sampled : set of str
        Devices that are tested by a part: each of their own kernels once, and every 48th function once.
    guests : set of (str, str)
        Kernels, with their devices, that take turns: an eighth of them in each function, and each in each file.
    """
    functions: dict[str, list[pytest.Item]] = defaultdict(list)
    part: list[pytest.Item] = []
    for item in items:
        (part if any(spec in sampled for spec, _ in runs_on(item)) else functions[_function(item)]).append(item)
    kept: set[pytest.Item] = set(cover(part, lambda item: _kernels(item, runs_on(item) - guests) | _sampled(item)))
    for turn, (name, cases) in enumerate(functions.items()):
        whole = cases[0].get_closest_marker("whole") is not None
        if cases[0].get_closest_marker("oclgrind") is not None:
            each = cover(_turned(cases, name), lambda item: runs_on(item) | _values(item))
            kept.update(cases if whole else each)
            continue
        resting = set() if whole else _resting(cases, runs_on, guests, turn)
        turned = _turned([item for item in cases if runs_on(item).isdisjoint(resting)], name)
        minor = {item for item in cases if any(spec in once for spec, _ in runs_on(item))}
        major = [item for item in turned if item not in minor]
        seen = frozenset[Hashable]().union(*map(_values, major))
        kept.update(major if whole else _few(major, runs_on))
        if _ERRORS.search(name):
            kept.update(minor)
            continue
        kept.update(cover([item for item in turned if item in minor], _values, seen, None if whole else _MOST["once"]))

    def met(item: pytest.Item) -> Values:
        return frozenset((str(item.path), place) for place in runs_on(item) & guests)

    others = [item for cases in functions.values() for item in cases if item not in kept]
    return kept | set(cover(others, met, frozenset[Hashable]().union(*map(met, kept))))


def _few(cases: Sequence[pytest.Item], runs_on: Callable[[pytest.Item], Places]) -> list[pytest.Item]:
    """Return cases that cover the kernels and devices of a function, and as many of its values as there may be."""
    places = frozenset[tuple[str, str]]().union(*map(runs_on, cases))
    most = _MOST["kernel"] if any(name for _, name in places) else _MOST["device"] if places else None
    first = cover(cases, runs_on) if places else []
    seen = frozenset[Hashable]().union(*map(_values, first))
    rest = [case for case in cases if case not in first]
    return [*first, *cover(rest, _values, seen, None if most is None else max(most - len(first), 0))]


def _resting(
    cases: Sequence[pytest.Item], runs_on: Callable[[pytest.Item], Places], guests: Places, turn: int
) -> set[tuple[str, str]]:
    """Return the guests that leave a function out: seven of eight, others in the next function.

    One stays where the device has no kernel of its own.
    """
    places = list(dict.fromkeys(place for item in cases for place in sorted(runs_on(item))))
    here = [place for place in places if place in guests]
    specs = {spec for spec, _ in here}
    alone = not any(spec in specs and name for spec, name in places if (spec, name) not in guests)
    taken = here[-turn % 8 :: 8] or (here[turn % len(here) :][:1] if here and alone else [])
    return set(here) - set(taken)


def _function(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _kernels(item: pytest.Item, places: Places) -> Values:
    """Return a test's kernels with the fixtures that give them: kernels of two primitives may share a name."""
    params = dict(getattr(item, "callspec", _NONE).params)
    texts = {name: value for name, value in params.items() if isinstance(value, tuple) and {*map(type, value)} == {str}}
    given = {(name, value) for name, value in texts.items() if value in places}
    return frozenset(given | {place for place in places if not place[1]})


def _sampled(item: pytest.Item) -> Values:
    """Return a test's function as a value, if it is among those that each device runs."""
    name = _function(item)
    return frozenset() if zlib.crc32(name.encode()) % _EVERY else frozenset({name})


def _turned(cases: list[pytest.Item], name: str) -> list[pytest.Item]:
    """Begin elsewhere in each function, so that a kernel meets other dtypes in another test."""
    first = zlib.crc32(name.encode()) % len(cases)  # hash() differs between processes
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
