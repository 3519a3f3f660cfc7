"""How a stencil's array continues beyond its borders."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple, get_args

import numpy as np

from gpuprims.errors import ArgumentError, quoted
from gpuprims.expressions.masks import plain_array
from gpuprims.primitives.stencil.spec import Mode

Dtype = np.dtype[Any]


class Border(NamedTuple):
    """A mode, and the element beyond the borders in mode "constant", as bytes."""

    mode: Mode
    bits: bytes
    element: Dtype

    @property
    def beyond(self) -> Any:
        """The element beyond the borders."""
        return np.frombuffer(self.bits, self.element)[0]

    @classmethod
    def around(cls, mode: Mode, beyond: Any) -> Border:
        """Return the border with a NumPy scalar beyond it."""
        return cls(mode, beyond.tobytes(), beyond.dtype)

    @classmethod
    def of(cls, label: str, mode: Any, cval: Any, element: Dtype) -> Border:
        """Check a mode and a value."""
        if type(mode) is str and type(cval) is int:
            return _border_of(label, mode, cval, element)
        return _border_of.__wrapped__(label, mode, cval, element)


@lru_cache(maxsize=64)
def _border_of(label: str, mode: Any, cval: Any, element: Dtype) -> Border:
    if mode not in get_args(Mode):
        raise ArgumentError(f"{label}: a mode among {', '.join(get_args(Mode))}; got {quoted(mode)}")
    given = plain_array(label, cval, "cval= one number", ArgumentError)
    try:
        with np.errstate(all="ignore"):
            beyond = given.astype(element)
        fits = given.ndim == 0 and (element.kind == "f" or beyond == given)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{label}: cval= one number; got {quoted(cval)}") from error
    if not fits:
        raise ArgumentError(f"{label}: cval= one number that {element} holds; got {quoted(cval)}")
    return Border.around(mode, beyond[()])
