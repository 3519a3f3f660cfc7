"""Short quotations in messages: an expression may come from a stranger, and be of any length."""

from __future__ import annotations

_MOST_QUOTED = 80


def quoted(text: str) -> str:
    """Return a text, cut to 80 characters.

    Examples
    --------
    >>> quoted("x" * 100)[-6:]
    'xxx...'
    """
    return text if len(text) <= _MOST_QUOTED else f"{text[: _MOST_QUOTED - 3]}..."


def shown(value: object) -> str:
    """Return what a value looks like in 80 characters, whatever its ``__repr__`` does."""
    try:
        return quoted(repr(value))
    except Exception as error:  # a stranger's __repr__ may raise anything
        return f"an object whose repr raises {quoted(type(error).__name__)}"


def said(error: BaseException) -> str:
    """Return an exception's message in 80 characters, whatever its ``__str__`` does."""
    try:
        return quoted(str(error)) or type(error).__name__
    except Exception:  # likewise
        return type(error).__name__
