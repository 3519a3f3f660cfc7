"""The defaults of calls that name no device, or no level of determinism: one for the process, one for each block.

A context variable holds a block's choice, so no other thread or asyncio task sees it. A choice outside blocks belongs
to the process. ``use_device(x)`` cannot know whether a ``with`` follows. So its choice is open at first, and only its
own thread sees it. It becomes the process's choice when Python frees the object, when its thread makes a call, or after
``_PATIENCE`` seconds. A block that begins with the object takes the choice back.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from gpuprims.core.pickling import OfThisProcess

T = TypeVar("T")
# Seconds that other threads wait for an open choice. Before a `with` it is open for two steps of the interpreter; it
# stays open for long only if the caller keeps the object.
_PATIENCE = 1.0


@dataclass(eq=False)
class Choice:
    """The choice of one call such as ``use_device`` outside any block."""

    value: Any
    open: bool = True
    thread: int = field(default_factory=threading.get_ident)
    made: float = field(default_factory=time.monotonic)


class _Entry(NamedTuple):
    """A choice within a context: by a block, or by a plain call inside a block."""

    owner: object
    value: Any
    block: bool


class Default:
    """The value that calls use by default, such as a device; ``find`` returns the automatic choice."""

    def __init__(self, find: Callable[[], Any], name: str = "device") -> None:
        self._find = find
        self._found: Any = None
        self._finding = threading.RLock()
        self.here: ContextVar[tuple[_Entry, ...]] = ContextVar(f"gpuprims_{name}", default=())
        self.choices: tuple[Choice, ...] = ()  # replaced as a whole, so reading needs no lock
        self._lock = threading.Lock()

    def after_fork(self) -> None:
        """Take new locks: another thread of the parent may have held the old ones."""
        self._lock, self._finding = threading.Lock(), threading.RLock()

    @property
    def known(self) -> Any:
        """The value that calls use by default, if it is known without a search; else None."""
        return self.chosen or self._found

    @property
    def found(self) -> Any:
        """The automatic choice, found once."""
        if self._found is None:
            with self._finding:
                if self._found is None:
                    self._found = self._find()
        return self._found

    @property
    def chosen(self) -> Any:
        """The choice for the current context or the process; None for the automatic choice."""
        if here := self.here.get():
            return here[-1].value
        while choices := self.choices:
            last = choices[-1]
            if last.open and last.thread != threading.get_ident() and time.monotonic() < last.made + _PATIENCE:
                time.sleep(0.0005)  # another thread's choice, which a block may take back
                continue
            last.open = False
            if last.value is None:
                self._forget(choices)
            return last.value
        return None

    def _forget(self, choices: tuple[Choice, ...]) -> None:
        """Forget choices for the process that ended with the automatic one."""
        with self._lock:
            if self.choices is choices:
                self.choices = ()

    def choose(self, owner: object, value: Any) -> Choice | None:
        """Choose for the caller's block, or outside blocks for the process; return the latter's choice."""
        if here := self.here.get():
            self.here.set((*here, _Entry(owner, value, block=False)))
            return None
        choice = Choice(value)
        with self._lock:
            settled = [k for k, one in enumerate(self.choices) if not one.open]
            # The last settled choice stays, and later ones, which may be taken back.
            self.choices = (*self.choices[settled[-1] if settled else 0 :], choice)
        return choice

    def enter(self, owner: object, choice: Choice | None, value: Any) -> None:
        """Begin a block: take back the plain choice of the same object, and choose for the context."""
        if choice is not None:
            with self._lock:
                self.choices = tuple(one for one in self.choices if one is not choice)
        here = self.here.get()
        if here and here[-1].owner is owner and not here[-1].block:
            here = here[:-1]
        self.here.set((*here, _Entry(owner, value, block=True)))

    def leave(self, owner: object) -> None:
        """End the last block of an object and the plain choices made in it; blocks that began later go on."""
        here = self.here.get()
        begun = [k for k, entry in enumerate(here) if entry.owner is owner and entry.block]
        if begun:  # else it began in another context, which has its own choice
            after = next((k for k in range(begun[-1] + 1, len(here)) if here[k].block), len(here))
            self.here.set(here[: begun[-1]] + here[after:])

    def during(self, value: Any, call: Callable[..., T], *args: Any, **keywords: Any) -> T:
        """Return the result of a call for which the choice is made."""
        token = self.here.set((*self.here.get(), _Entry(None, value, block=True)))
        try:
            return call(*args, **keywords)
        finally:
            self.here.reset(token)


class Scope(OfThisProcess):
    """An object whose ``with`` block chooses among the values of a :class:`Default`; see ``use_device``."""

    _choice: Choice | None = None  # if the value is invalid

    def __init__(self, chosen: Default, value: Any) -> None:
        self._chosen, self._value = chosen, value
        self._choice = chosen.choose(self, value)

    def __enter__(self) -> Any:
        self._chosen.enter(self, self._choice, self._value)
        return self._value

    def __exit__(self, *exception: object) -> None:
        self._chosen.leave(self)

    @property
    def _unpickled(self) -> tuple[str, str]:
        name = type(self).__name__
        return name, f"write with gpuprims.{name}(...) in each process"

    def __del__(self) -> None:
        if self._choice is not None:
            self._choice.open = False  # no block follows
