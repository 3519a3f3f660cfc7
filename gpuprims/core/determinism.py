"""Levels of determinism: the promise of a call about the bits of its results.

A call asks for a level by ``determinism=`` or within :func:`gpuprims.use_determinism`. Its :class:`CallTraits` remember
the level, variants that do not reach it refuse the call, and caches of plans keep the plans of each level apart.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache, wraps
from typing import Any, Literal, ParamSpec, TypeVar, cast

from gpuprims.core.default_device import Default, Scope
from gpuprims.core.keywords import is_one_of
from gpuprims.errors import ArgumentError, NoVariantError, did_you_mean, quoted

P = ParamSpec("P")
T = TypeVar("T")
Level = Literal["none", "run", "device", "order"]
# Each promises what those before it promise.
LEVELS: tuple[Level, ...] = ("none", "run", "device", "order")
CHOSEN = Default(lambda: None, "determinism")


class Asked:
    """``ever`` is True once a level was asked for in this process; until then calls need not look for one."""

    ever = False


def asked_level() -> Level | None:
    """Return the level that calls must reach here; None is the default: "run", or less for a variant that is named."""
    if not Asked.ever:
        return None
    level: Level | None = CHOSEN.chosen
    return level


def asks_for_device() -> bool:
    """Return True if calls must have the same bits on every device here."""
    return asked_level() in ("device", "order")


def reaches(level: Level, asked: Level) -> bool:
    """Return True if a level promises all that another one promises."""
    return LEVELS.index(level) >= LEVELS.index(asked)


def as_level(label: str, level: Any) -> Level:
    """Return a level that a caller names."""
    if not is_one_of(level, LEVELS):
        rule = f"determinism= one of {', '.join(map(repr, LEVELS))}"
        raise ArgumentError(f"{label}: {rule}; got {quoted(level)}{did_you_mean(level, LEVELS)}")
    return cast("Level", level)


def at_level(label: str, level: Any, call: Callable[..., T], *arrays: Any, **keywords: Any) -> T:
    """Return the result of a call at the level that its caller asks for; None keeps the current level."""
    if level is None:
        return call(*arrays, **keywords)
    level, Asked.ever = as_level(label, level), True
    return CHOSEN.during(level, call, *arrays, **keywords)


def without_level(call: Callable[[], T]) -> T:
    """Return the result of a call that promises nothing beyond the default, such as a trial of a device."""
    return CHOSEN.during(None, call)


def cached_by_level(most: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Cache a function, separately where calls must have the same bits on every device."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @lru_cache(most)
        def known(alike: bool, *args: Hashable, **keywords: Hashable) -> T:
            return function(*args, **keywords)  # type: ignore[arg-type]  # of P

        @wraps(function)
        def call(*args: P.args, **keywords: P.kwargs) -> T:
            return known(asks_for_device(), *args, **keywords)  # type: ignore[arg-type]  # a cache of hashable ones

        return call

    return decorate


def refuse_levels(label: str, what: str, reached: Level = "run", instead: str = "") -> None:
    """Raise if calls must reach a higher level than ``reached``, that of ``what``; ``instead`` is further advice."""
    level = asked_level()
    if level is not None and not reaches(reached, level):
        advice = f"determinism={reached!r}{instead and f', or {instead}'}"
        raise NoVariantError(f"{label}: a level of determinism that {what} reach; got {level!r} ({advice})")


class use_determinism(Scope):  # noqa: N801 - called like a function, as use_device is
    """Choose the level of determinism of calls that name none by ``determinism=``.

    Parameters
    ----------
    level : {"none", "run", "device", "order"} or None
        ``"none"`` allows kernels whose float results differ from run to run. ``"run"`` promises the same bits from run
        to run on one device, driver and version. ``"device"`` promises them on every device and on the reference,
        whatever the kernel. ``"order"`` promises, besides, the same bits for any order of the elements. None returns to
        the default, which is ``"run"`` unless a call names a variant that does not promise it.

    Notes
    -----
    A call for which no kernel reaches the level raises; :func:`gpuprims.explain` lists the level of each variant. In a
    ``with`` statement the choice holds inside the block, for the thread or asyncio task that runs it, as that of
    :class:`gpuprims.use_device` does.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> x = np.float32([1e8, 1, -1e8])
    >>> with gpuprims.use_determinism("order"):
    ...     float(gpuprims.reduce(x, device="reference"))
    1.0
    """

    def __init__(self, level: Level | None) -> None:
        checked = None if level is None else as_level("use_determinism", level)
        Asked.ever = True
        super().__init__(CHOSEN, checked)
