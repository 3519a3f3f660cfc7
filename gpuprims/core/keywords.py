"""Keywords that a call does not have."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import NoReturn, TypeVar

from gpuprims.errors import OTHER_KEYWORDS, UnknownKeywordError, did_you_mean

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
    known = list(known)
    instead = {name: meant for name, meant in OTHER_KEYWORDS.items() if meant in known}
    hint = did_you_mean(next(iter(unknown)), known, instead)
    raise UnknownKeywordError(f"{label}: keywords among {', '.join(known)}; got {', '.join(unknown)}{hint}")
