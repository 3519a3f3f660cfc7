"""Errors for keywords that a function does not have."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import NoReturn, ParamSpec, TypeVar

import numpy as np

from gpuprims.errors import ArgumentError, UnknownKeywordError, did_you_mean, quoted
from gpuprims.errors.keywords import ADVICE, NAMES_HERE

F = TypeVar("F", bound=Callable[..., object])
P = ParamSpec("P")
R = TypeVar("R")


def named_keywords(function: F) -> F:
    """Hide ``**unknown`` from the signature of a function that only passes it to :func:`refuse_keywords`."""
    signature = inspect.signature(function)
    shown = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
    function.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]  # functions have it
    return function


def refusing_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function of a submodule, such as ``xp.sum``, to raise UnknownKeywordError for unknown keywords."""
    known = keywords_of(function)
    label = f"{function.__module__.split('.')[1]}.{function.__name__}"

    @wraps(function)
    def call(*args: P.args, **keywords: P.kwargs) -> R:
        if keywords and (unknown := {name: one for name, one in keywords.items() if name not in known}):
            refuse_keywords(label, known, unknown)
        return function(*args, **keywords)

    return call


def keywords_of(function: Callable[..., object]) -> list[str]:
    """Return the names that a function takes by keyword."""
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    return [name for name, one in inspect.signature(function).parameters.items() if one.kind in kinds]


def refuse_keywords(label: str, known: Iterable[str], unknown: Mapping[str, object]) -> NoReturn:
    """Raise UnknownKeywordError; ``known`` are the keywords that the function has."""
    known, first = list(known), next(iter(unknown))
    instead = {name: meant for name, meant in NAMES_HERE.items() if meant in known}
    hint = (first not in instead and _advice(first, known)) or did_you_mean(first, known, instead)
    raise UnknownKeywordError(f"{label}: keywords among {', '.join(known)}; got {', '.join(unknown)}{hint}")


def check_flags(label: str, **flags: object) -> None:
    """Raise for a flag that is not a bool: a string or a number would count as True."""
    for name, flag in flags.items():
        if flag is not True and flag is not False and not isinstance(flag, np.bool_):
            raise ArgumentError(f"{label}: {name}= True or False; got {quoted(flag)}")


def is_one_of(given: object, known: Iterable[str]) -> bool:
    """Return True if ``given`` is one of some strings, for any object: arrays would compare element by element."""
    return isinstance(given, str) and given in known


def _advice(name: str, known: Sequence[str]) -> str:
    """Return the end of a message: what to write instead of another library's keyword."""
    for names, having, advice in ADVICE:
        if name in names.split() and (not having or not set(having.split()).isdisjoint(known)):
            return f" ({advice})"
    return ""
