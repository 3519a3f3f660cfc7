"""How candidates are checked and timed beside the best rank."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.variant import Variant
from gpuprims.tuning.cases import Trial

# A choice is used for calls of this part of the elements that it was measured with, where it must not lose.
_SHARE = 16
# Elements of the smallest check, which are no multiple of any tile.
_FEW = 10_007
_SEED = 20261122

# Seconds of one call: given the variant, and what runs it.
Timer = Callable[[Variant, Callable[[], Any]], float]


class Stopwatch:
    """Times calls on a device, several of them in a row where one is short.

    Parameters
    ----------
    device : Device
    least : float
        Seconds for which calls are repeated.
    """

    def __init__(self, device: Device, least: float = 4e-3) -> None:
        self._device = device
        self._least = least

    def __call__(self, variant: Variant, run: Callable[[], Any]) -> float:
        """Return the seconds of one call, of the variant that runs."""
        calls, passed = 1, self._passed(1, run)
        if passed < self._least:
            calls = min(int(self._least / max(passed, 1e-6)) + 1, 1000)
            passed = self._passed(calls, run)
        return passed / calls

    def _passed(self, calls: int, run: Callable[[], Any]) -> float:
        start = time.perf_counter()
        for _ in range(calls):
            run()
        self._device.synchronize()
        return time.perf_counter() - start


class Pace(NamedTuple):
    """Seconds of the best rank and of a candidate, the middle one of their ratios, and where its outer quarters begin.

    On two cores that other work had most of, the middle of 31 ratios of a kernel and itself was from 0.80 to 1.20, and
    the upper quarter never began below 1 (Intel's runtime 2026.2, AMD EPYC, 18 trials, 2026-11-22).
    """

    default: float
    candidate: float
    ratio: float
    low: float
    high: float

    def faster_by(self, part: float) -> bool:
        """Whether the candidate is faster by such a part, and faster at all three times out of four."""
        return max(self.ratio, self.candidate / self.default) < 1 - part and self.high < 1

    def slower_by(self, part: float) -> bool:
        """Whether it is slower by such a part, and slower at all three times out of four."""
        return self.ratio > 1 + part and self.low > 1


class Bench:
    """A call on a device at several sizes: arrays, what is expected of the small ones, and the time of the others."""

    def __init__(self, trial: Trial, device: Device, dtype: np.dtype[Any], size: int, timer: Timer) -> None:
        self._trial, self._device, self._timer = trial, device, timer
        self.size, self.least = size, max(size // _SHARE, 1)
        rng = np.random.default_rng(_SEED)
        self._checked = [trial.elements(rng, dtype, n) for n in sorted({min(_FEW, size), min(self.least + 77, size)})]
        self._expected = [trial.expected(array) for array in self._checked]
        self._timed = {n: self._placed(trial.elements(rng, dtype, n)) for n in (size, self.least)}
        self._results: dict[int, Any] = {}
        self.call = trial.call(device, self._timed[size])

    def _placed(self, array: np.ndarray) -> Any:
        return array if self._device.driver.shares_host_memory else self._device.asarray(array)

    def refuses(self, variant: Variant) -> bool:
        """Whether a variant, in its shape, does not take the call."""
        return variant.refuse(self._device.capabilities, self.call) is not None

    def wrong(self, variant: Variant) -> str | None:
        """Say what is wrong with what a variant computes, or return None."""
        for array, expected in zip(self._checked, self._expected, strict=True):
            got = np.asarray(self._trial.run(array, device=self._device, variant=variant))
            if got.dtype != expected.dtype or not np.array_equal(got, expected):
                return f"computes something else for {array.shape} elements"
        return None

    def compare(self, default: Variant, candidate: Variant, rounds: int, size: int | None = None) -> Pace:
        """Time both in turn, so that what else the machine does slows both down."""
        pair = [(variant, self._runner(variant, size or self.size)) for variant in (default, candidate)]
        times = [[self._timer(variant, run) for variant, run in pair] for _ in range(rounds)]
        ratios = sorted(candidate_time / default_time for default_time, candidate_time in times)
        middle = [median(column) for column in zip(*times, strict=True)]
        quarter = len(ratios) // 4
        return Pace(middle[0], middle[1], median(ratios), ratios[quarter], ratios[-1 - quarter])

    def _runner(self, variant: Variant, size: int) -> Callable[[], Any]:
        array, how = self._timed[size], {"device": self._device, "variant": variant}
        if self._trial.into:
            if size not in self._results:
                self._results[size] = self._trial.run(array, **how)
            how["out"] = self._results[size]
        self._trial.run(array, **how)  # once before it is timed
        return lambda: self._trial.run(array, **how)
