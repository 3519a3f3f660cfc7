"""Keywords that a call does not have."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NoReturn, TypeVar

from gpuprims.errors import UnknownKeywordError, did_you_mean
from gpuprims.errors.keywords import ADVICE, NAMES_HERE

F = TypeVar("F", bound=Callable[..., object])


def named_keywords(function: F) -> F:
    """Decorate a function whose ``**unknown`` only serves :func:`refuse_keywords`: hide it from ``help``."""
    signature = inspect.signature(function)
    shown = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
    function.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]  # functions have it
    return function


def keywords_of(function: Callable[..., object]) -> list[str]:
    """Return the names that a function takes by keyword."""
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    return [name for name, one in inspect.signature(function).parameters.items() if one.kind in kinds]


def refuse_keywords(label: str, known: Iterable[str], unknown: Mapping[str, object]) -> NoReturn:
    """Raise for keywords that a call does not have; ``known`` are those that it has."""
    known, first = list(known), next(iter(unknown))
    instead = {name: meant for name, meant in NAMES_HERE.items() if meant in known}
    hint = (first not in instead and _advice(first, known)) or did_you_mean(first, known, instead)
    raise UnknownKeywordError(f"{label}: keywords among {', '.join(known)}; got {', '.join(unknown)}{hint}")


def _advice(name: str, known: Sequence[str]) -> str:
    """Return the end of a message: what to write instead of a keyword of another library."""
    for names, having, advice in ADVICE:
        if name in names.split() and (not having or not set(having.split()).isdisjoint(known)):
            return f" ({advice})"
    return ""
