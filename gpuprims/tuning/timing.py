"""Check candidates, and time them beside the default."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.tuning_case import TuningCase
from gpuprims.core.variant import Variant
from gpuprims.tuning.cases import traits_of

# A choice is used for calls of at least size / _SHARE elements, where it is also measured and must not be slower.
_SHARE = 16
_FEW = 10_007  # elements of the smallest check, not a multiple of any tile
_SEED = 20261122

# From a variant, and a function that runs it, to the seconds of one call.
Timer = Callable[[Variant, Callable[[], Any]], float]


class Stopwatch:
    """Times calls on a device. It repeats short calls, which take ``least`` seconds together."""

    def __init__(self, device: Device, least: float = 4e-3) -> None:
        self._device, self._least = device, least

    def __call__(self, variant: Variant, run: Callable[[], Any]) -> float:
        """Return the seconds of one call."""
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
    """Median seconds of the default and of a candidate; the median and the quartiles of their ratios.

    On two cores that were busy with other work, the median of 31 ratios of a kernel and itself was between 0.80 and
    1.20, and the upper quartile was never below 1 (Intel's runtime 2026.2, AMD EPYC, 18 runs, 2026-11-22).
    """

    default: float
    candidate: float
    ratio: float
    low: float
    high: float

    def faster_by(self, part: float) -> bool:
        """Return True if the candidate takes less time by this part, and less in three rounds of four."""
        return max(self.ratio, self.candidate / self.default) < 1 - part and self.high < 1

    def slower_by(self, part: float) -> bool:
        """Return True if it takes more time by this part, and more in three rounds of four."""
        return self.ratio > 1 + part and self.low > 1


class Bench:
    """A case on a device at several sizes: two small ones to check, two to time."""

    def __init__(self, case: TuningCase, device: Device, dtype: np.dtype[Any], size: int, timer: Timer) -> None:
        self._case, self._device, self._timer = case, device, timer
        self.size, self.least = size, max(size // _SHARE, 1)
        rng = np.random.default_rng(_SEED)
        self._checked = [case.elements(rng, dtype, n) for n in sorted({min(_FEW, size), min(self.least + 77, size)})]
        self._expected = [case.expected(array) for array in self._checked]
        self._timed = {n: self._placed(case.elements(rng, dtype, n)) for n in (size, self.least)}
        self._results: dict[int, Any] = {}
        self.call = traits_of(case, device, self._timed[size])

    def _placed(self, array: np.ndarray) -> Any:
        return array if self._device.driver.shares_host_memory else self._device.asarray(array)

    def refuses(self, variant: Variant) -> bool:
        """Return True if a variant refuses the call."""
        return variant.refuse(self._device.capabilities, self.call) is not None

    def wrong(self, variant: Variant) -> str | None:
        """Return the fault of a variant's results, or None."""
        for array, expected in zip(self._checked, self._expected, strict=True):
            got = np.asarray(self._case.run(array, device=self._device, variant=variant))
            if got.dtype != expected.dtype or not np.array_equal(got, expected):
                return f"gives wrong results for elements of shape {array.shape}"
        return None

    def compare(self, default: Variant, candidate: Variant, rounds: int, size: int | None = None) -> Pace:
        """Time both in turn, so that other work on the machine slows both down."""
        pair = [(variant, self._runner(variant, size or self.size)) for variant in (default, candidate)]
        times = [[self._timer(variant, run) for variant, run in pair] for _ in range(rounds)]
        ratios = sorted(candidate_time / default_time for default_time, candidate_time in times)
        middle = [median(column) for column in zip(*times, strict=True)]
        quarter = len(ratios) // 4
        return Pace(middle[0], middle[1], median(ratios), ratios[quarter], ratios[-1 - quarter])

    def _runner(self, variant: Variant, size: int) -> Callable[[], Any]:
        array, how = self._timed[size], {"device": self._device, "variant": variant}
        if self._case.into:
            if size not in self._results:
                self._results[size] = self._case.run(array, **how)
            how["out"] = self._results[size]
        self._case.run(array, **how)  # compiles
        return lambda: self._case.run(array, **how)
