"""A user's mistake, and what its message must say."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import gpuprims
from gpuprims import errors

# The call, the class of its error, and words of the message: of the rule, what was got, and what to do.
Mistake = tuple[Callable[[], object], type[Exception], tuple[str, ...]]


def check(mistake: Mistake) -> None:
    """Make a mistake on the reference device, and check the class and the message of its error."""
    call, kind, words = mistake
    with gpuprims.use_device("reference"), pytest.raises(kind) as raised:
        call()
    message = str(raised.value)
    assert type(raised.value) is kind
    assert isinstance(raised.value, errors.GpuprimsError)
    assert isinstance(raised.value, ValueError | TypeError)
    assert [one for one in words if one not in message] == [], message
    assert ": " in message
    assert "; got " in message
    for leak in (" at 0x", "Tracer", "<unknown>"):
        assert leak not in message
    assert len(message) < 600
