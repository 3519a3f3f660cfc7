"""Signatures of the public functions: ``help`` and type checkers show every keyword that a call takes."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Any

import pytest

import gpuprims
import gpuprims.models
import gpuprims.testing
from gpuprims import ndimage, xp
from gpuprims.core import keywords
from gpuprims.core.keywords import keywords_of
from gpuprims.models import LogReg, LogRegBatch

HOMES = gpuprims, gpuprims.models, gpuprims.testing
FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: found for home in HOMES for name in home.__all__ if inspect.isfunction(found := getattr(home, name))
}
NAMES = {name for names, _, _ in keywords.ADVICE for name in names.split()}
# Keywords that only a call knows: the names in map's expression, and those of the primitive that is planned.
OPEN = {"map": "named", "plan": "keywords"}


def keywords_in(function: Callable[..., Any]) -> set[str]:
    """Return the names in a signature, with those of a TypedDict that it unpacks."""
    hints, names = typing.get_type_hints(function), set()
    for name, one in inspect.signature(function).parameters.items():
        unpacked = one.kind is one.VAR_KEYWORD and typing.get_origin(hints[name]) is typing.Unpack
        names |= set(typing.get_args(hints[name])[0].__annotations__) if unpacked else {name}
    return names


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_signature_shows_every_keyword(name: str) -> None:
    code, shown = FUNCTIONS[name].__code__, inspect.signature(FUNCTIONS[name]).parameters
    own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    assert [one for one in own if one not in shown] == []
    if code.co_flags & inspect.CO_VARKEYWORDS:
        rest = code.co_varnames[len(own) + bool(code.co_flags & inspect.CO_VARARGS)]
        assert rest == OPEN.get(name, "unknown"), "write the keywords out; **unknown is for those that are refused"
        assert (rest in shown) == (name in OPEN)


@pytest.mark.parametrize("name", [name for name, one in FUNCTIONS.items() if typing.get_overloads(one)])
def test_overloads_have_the_keywords_of_the_function(name: str) -> None:
    own = set(inspect.signature(FUNCTIONS[name]).parameters)
    assert set().union(*map(keywords_in, typing.get_overloads(FUNCTIONS[name]))) == own


def test_every_advice_about_keywords_is_for_some_call() -> None:
    calls = [[*keywords_of(one), "x"] if name == "map" else keywords_of(one) for name, one in FUNCTIONS.items()]
    calls += [keywords_of(getattr(home, name)) for home in (ndimage, xp) for name in home.__all__]
    calls += map(keywords_of, (LogReg, LogRegBatch))
    reached = {keywords._advice(name, known) for known in calls for name in NAMES if name not in known}
    assert [advice for _, _, advice in keywords.ADVICE if f" ({advice})" not in reached] == []
    for name, meant in keywords.NAMES_HERE.items():
        assert any(meant in known and name not in known for known in calls), name
