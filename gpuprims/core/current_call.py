"""The public call that this thread is in, read from Python's frames: calls themselves need no code for it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from itertools import count, groupby
from types import FrameType
from typing import Any, NamedTuple

_NUMBERS = count(1)
_KEPT = "(gpuprims call)"  # among a frame's locals, where no variable of Python has such a name
_SHOWN = 3  # kinds of arrays in a label
_TRIAL = "Device.check"
# The call that a thread of ours works for.
_ELSEWHERE: ContextVar[Call | None] = ContextVar("gpuprims call", default=None)


class Call(NamedTuple):
    """A call of a public function: a number that no other call has, and a label such as ``name(float32[1000])``."""

    number: int
    label: str


def current_call() -> Call:
    """Return the outermost call of this package that the caller is in."""
    if (elsewhere := _ELSEWHERE.get()) is not None:
        return elsewhere
    frame = _outermost(sys._getframe(1))
    kept = frame.f_locals  # another frame of the same function has other locals, so these tell two calls apart
    call: Call | None = kept.get(_KEPT)
    if call is None:
        call = kept[_KEPT] = Call(next(_NUMBERS), _label(frame))
    return call


def in_current_call(function: Callable[[], Any]) -> Callable[[], Any]:
    """Return a function that does its work in another thread as a part of this call."""
    call = current_call()

    def run() -> Any:
        token = _ELSEWHERE.set(call)
        try:
            return function()
        finally:
            _ELSEWHERE.reset(token)

    return run


def _outermost(frame: FrameType) -> FrameType:
    """Return the outermost frame of this package. Its command line does not count, because it may run the program.

    The trial of a device is a call of its own, although the first call of a program may cause it.
    """
    outer = frame.f_back
    while outer is not None and frame.f_code.co_qualname != _TRIAL:
        if _is_ours(outer):
            frame = outer
        outer = outer.f_back
    return frame


def _is_ours(frame: FrameType) -> bool:
    package, _, rest = str(frame.f_globals.get("__name__")).partition(".")
    room = rest.partition(".")[0]
    return package == "gpuprims" and room not in ("cli", "__main__") and frame.f_code.co_name != "<module>"


def _label(frame: FrameType) -> str:
    """Return the function's name and its arrays; of plans and of ``plans.run``, the primitive's name."""
    given = dict(_arguments(frame))
    name = frame.f_code.co_qualname.removesuffix(".__call__")
    owner, _, method = name.rpartition(".")
    if owner in [base.__qualname__ for base in type(given.get("self")).__mro__]:  # a mix-in is not a public name
        name = f"{type(given['self']).__name__}.{method}"
    primitive = given.get("primitive", getattr(given.get("self"), "primitive", None))
    if isinstance(primitive, str):
        name = primitive if name == "run" else f"{name} of {primitive}"
    values = [value for parameter, value in given.items() if parameter != "out"]
    arrays = [one for value in values for one in (value if isinstance(value, tuple) else (value,))]
    shown = [_array(one) for one in arrays if isinstance(getattr(one, "shape", None), tuple)]
    alike = [(kind, len(list(some))) for kind, some in groupby(shown)]
    told = [kind if many == 1 else f"{many} x {kind}" for kind, many in alike]
    return f"{name}({', '.join([*told[:_SHOWN], *['...'] * (len(told) > _SHOWN)])})"


def _array(array: Any) -> str:
    """Return dtype and shape; of a table with several dtypes, its class and shape."""
    return f"{getattr(array, 'dtype', type(array).__name__)}{list(array.shape)}"


def _arguments(frame: FrameType) -> Iterator[tuple[str, Any]]:
    """Return the parameters that a function's frame has, and their values."""
    code, local = frame.f_code, frame.f_locals
    count = code.co_argcount + code.co_kwonlyargcount
    has_rest = bool(code.co_flags & 0x04)  # CO_VARARGS: *arrays follow the other parameters
    names = code.co_varnames[: count + has_rest]
    rest = names[count:]
    return ((name, local[name]) for name in (*rest, *names[:count]) if name in local)
