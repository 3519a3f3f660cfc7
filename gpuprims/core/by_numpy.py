"""Calls on few elements of NumPy arrays, which NumPy computes in less time than a kernel is launched."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.driver import Driver
from gpuprims.core.variant import Variant
from gpuprims.core.watched import WatchedDriver

# From the arrays of a call to its result; NotImplemented if NumPy's may differ from the kernels'.
Compute = Callable[..., Any]
ANY_SIZE = 2**62


class Switch:
    """``on`` lets NumPy compute; tests of kernels turn it off."""

    on = True


class Few(NamedTuple):
    """Most elements that NumPy computes in less time than a launch takes.

    ``near`` is for devices whose kernels run in the calling thread, ``woken`` for others, whose launches wake threads.
    """

    near: int
    woken: int

    def most(self, driver: Driver) -> int:
        """Return the limit for the launches of a driver; 0 for drivers that do not say how they launch."""
        wakes: bool | None = getattr(driver, "wakes_threads", None)
        return 0 if wakes is None or not Switch.on else self.woken if wakes else self.near


def alone_or(most: int) -> Few:
    """Return ``most`` elements; all elements if this process runs on one core, where further threads only cost time."""
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    most = ANY_SIZE if here == 1 else most
    return Few(most, most)


class ByNumPy(NamedTuple):
    """A function by which NumPy computes a call, and the number of elements up to which it is faster than a kernel.

    ``compute`` takes the arrays of the call. It returns a new result, which has the kernels' bits, or NotImplemented if
    the bits may differ; then a kernel runs. Elements are those of the largest array or result. Where the bits depend on
    the order of a kernel, ``variant`` names the one whose order NumPy follows, in a tile. With ``picks``, the first
    array does not count: few of its elements are read.
    """

    compute: Compute
    few: Few
    variant: str | None = None
    picks: bool = False

    def takes(self, driver: Driver, arrays: Iterable[np.ndarray], results: Iterable[tuple[int, ...]]) -> bool:
        """Return True for arrays with elements, and results of shapes, that are small enough."""
        most = self.few.most(driver)
        if not most:
            return False
        sizes = [array.size for array in arrays]
        return min(sizes) > 0 and max(*sizes[self.picks :], *map(math.prod, results)) <= most

    def follows(self, variant: Variant, arrays: Iterable[np.ndarray] = ()) -> bool:
        """Return True if NumPy has the bits of a kernel for arrays."""
        if self.variant is None:
            return True
        return variant.name == self.variant and all(array.size <= variant.tile for array in arrays)


def noticed(driver: Driver, name: str, compute: Compute) -> Compute:
    """Return a function of NumPy's that profiles record as if it were a kernel of a primitive."""
    return driver.watch_numpy(name, compute) if isinstance(driver, WatchedDriver) else compute
