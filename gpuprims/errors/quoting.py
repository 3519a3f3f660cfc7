"""The caller's values and other exceptions in messages: short, on one line, and without a failure of their own."""

from __future__ import annotations

import re
import reprlib
from typing import Any

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # of an object, in its repr


def shortened(text: str, most: int = 80) -> str:
    """Cut a text for a message; a cut text ends in three dots."""
    return text if len(text) <= most else text[: most - 3] + "..."


def said(error: BaseException) -> str:
    """Return an exception's message in 80 characters, or its class if ``str`` fails."""
    try:
        return shortened(str(error)) or type(error).__name__
    except Exception:  # whatever a caller's ``__str__`` raises
        return type(error).__name__


def quoted(value: Any, most: int = 80) -> str:
    """Quote a value in a message: its ``repr`` on one line, or the class of the error if that fails.

    A text of more than ``most`` characters, or a long container, is cut.

    Examples
    --------
    >>> quoted("cuda:0")
    "'cuda:0'"
    >>> quoted("9" * 5000, most=10)
    "'99999..."
    """
    try:
        text = _Brief(most).repr(value).replace("\n", " ")
    except Exception as error:  # whatever the caller's class raises; the message is about the value, not about its repr
        text = f"<{type(value).__name__}, whose repr raises {type(error).__name__}>"
    return shortened(_ADDRESS.sub("", text), most)


class _Brief(reprlib.Repr):
    """A ``Repr`` that cuts at the end, not in the middle, and does not catch errors."""

    def __init__(self, most: int) -> None:
        super().__init__()
        for limit in [name for name in vars(self) if name.startswith("max")]:
            setattr(self, limit, most + 2)  # so that the dots show a cut at the end
        self.maxlevel = 8

    def repr_str(self, x: Any, level: int) -> str:
        return repr(x[: self.maxstring])

    repr_bytes = repr_str

    def repr_int(self, x: int, level: int) -> str:
        if x.bit_length() > 4 * self.maxlong:
            return f"<int of {x.bit_length()} bits>"
        return repr(x)

    def repr_instance(self, x: Any, level: int) -> str:
        return repr(x)
