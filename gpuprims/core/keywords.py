"""Keywords that a call does not have."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import NoReturn, TypeVar

from gpuprims.errors import UnknownKeywordError, did_you_mean

F = TypeVar("F", bound=Callable[..., object])
# Other libraries' names, and what they are called here; the first that a call has is meant.
_INSTEAD = {
    "axes": "axis", "dim": "axis", "dims": "axis", "keepdim": "keepdims", "operator": "op", "operation": "op",
    "fn": "map", "func": "map", "function": "map", "exclusive": "inclusive", "weight": "weights", "nbins": "bins",
    "num_bins": "bins", "limits": "range", "radius": "size", "ksize": "size", "width": "size", "std": "sigma",
    "boundary": "mode", "border": "mode", "padding": "mode", "fill_value": "cval", "channels": "channel_axis",
    "iters": "iterations", "n_iter": "iterations", "where": "mask", "backend": "device", "on": "device",
    "kernel": "variant", "algorithm": "variant", "offsets": "segments", "indptr": "segments", "kahan": "compensated",
    "type": "dtype", "correction": "ddof", "output": "out",
}  # fmt: skip


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
    instead = {name: meant for name, meant in _INSTEAD.items() if meant in known}
    hint = did_you_mean(next(iter(unknown)), known, instead)
    raise UnknownKeywordError(f"{label}: keywords among {', '.join(known)}; got {', '.join(unknown)}{hint}")
