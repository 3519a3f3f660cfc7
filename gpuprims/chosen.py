"""The device that calls use when they name none: one for the process, and one for each ``with`` block.

A block's choice lies in a context variable: no other thread or asyncio task sees it. A choice outside blocks is the
process's. ``use_device(x)`` cannot know whether a ``with`` follows, so its choice is open at first, and only the thread
that made it sees it. It becomes the process's once the object is let go, once its thread makes a call, or after
``_PATIENCE``; a block that begins with it takes it back.
"""

from __future__ import annotations

import threading
import time
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple

# Seconds that other threads wait for an open choice. Where a `with` follows it is open between two steps of the
# interpreter, and for long only where somebody has kept the object.
_PATIENCE = 1.0


@dataclass(eq=False)
class Choice:
    """What one call of ``use_device`` outside any block has chosen."""

    device: Any
    open: bool = True
    thread: int = field(default_factory=threading.get_ident)


class _Entry(NamedTuple):
    """A choice within a context; made by a block, which ends it, or by a plain call within that block."""

    owner: object
    device: Any
    block: bool


class Chosen:
    """What is chosen, in each context and for the process; None means the automatic choice."""

    def __init__(self) -> None:
        self._here: ContextVar[tuple[_Entry, ...]] = ContextVar("gpuprims_device", default=())
        self._choices: tuple[Choice, ...] = ()  # replaced as a whole, so that it is read without the lock
        self._lock = threading.Lock()

    def after_fork(self) -> None:
        """Take a new lock: another thread of the parent may have held the old one."""
        self._lock = threading.Lock()

    @property
    def device(self) -> Any:
        """The device chosen for the context that asks."""
        if here := self._here.get():
            return here[-1].device
        while choices := self._choices:
            last = choices[-1]
            if last.open and last.thread != threading.get_ident() and not self._settles(last):
                continue
            last.open = False
            return last.device
        return None

    def _settles(self, choice: Choice) -> bool:
        """Wait until a choice of another thread is settled, or is taken back by the block that it begins."""
        end = time.monotonic() + _PATIENCE
        while choice.open and time.monotonic() < end:
            if choice not in self._choices:
                return False
            time.sleep(0.0005)
        return choice in self._choices

    def choose(self, owner: object, device: Any) -> Choice | None:
        """Choose for the block that the caller is in, or else for the process; the latter returns its choice."""
        if here := self._here.get():
            self._here.set((*here, _Entry(owner, device, block=False)))
            return None
        choice = Choice(device)
        with self._lock:
            self._choices = (*self._relevant(), choice)
        return choice

    def _relevant(self) -> tuple[Choice, ...]:
        """Leave out choices that a later one has replaced for good; one that is open may still be taken back."""
        settled = [k for k, choice in enumerate(self._choices) if not choice.open]
        return self._choices[settled[-1] if settled else 0 :]

    def enter(self, owner: object, choice: Choice | None, device: Any) -> None:
        """Begin a block: take the plain choice of the same object back, and choose for the context."""
        if choice is not None:
            with self._lock:
                self._choices = tuple(one for one in self._choices if one is not choice)
        here = self._here.get()
        if here and here[-1].owner is owner and not here[-1].block:
            here = here[:-1]
        self._here.set((*here, _Entry(owner, device, block=True)))

    def leave(self, owner: object) -> None:
        """End the last block of an object, with the plain choices made in it; blocks that began later go on."""
        here = self._here.get()
        begun = [k for k, entry in enumerate(here) if entry.owner is owner and entry.block]
        if not begun:  # it began in another context, which has its own choice
            return
        after = begun[-1] + 1
        while after < len(here) and not here[after].block:
            after += 1
        self._here.set(here[: begun[-1]] + here[after:])
