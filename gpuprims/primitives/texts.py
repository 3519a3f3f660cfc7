"""Texts among the arrays of a fold: operators and functions that belong in keywords."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from gpuprims.errors import ArrayError, did_you_mean, quoted
from gpuprims.operators import INSTEAD, OPERATORS


def refuse_text(label: str, arrays: Sequence[Any]) -> NoReturn:
    """Raise for a text among a call's arrays, and say which keyword takes it."""
    text = next(array for array in arrays if isinstance(array, str))
    hint = ""
    if text in OPERATORS:
        hint = f' (write op="{text}")'
    elif meant := did_you_mean(text, OPERATORS, INSTEAD):
        hint = f"{meant[:-1]} write op= and the name)".replace("?", "?;")
    elif any(sign in text for sign in "+-*/<>("):
        hint = f" (write map={quoted(text)})"
    raise ArrayError(f"{label}: arrays by position, op= and map= by keyword; got the text {quoted(text)}{hint}")
