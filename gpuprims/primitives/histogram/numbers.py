"""bincount: count each number up to the largest, which the counts themselves may show."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any

import numpy as np

from gpuprims.core.arrays import unchanged
from gpuprims.core.by_numpy import Few, noticed
from gpuprims.core.call_keys import Key
from gpuprims.core.determinism import Level, asked_level
from gpuprims.core.device import Device
from gpuprims.core.layout import Form
from gpuprims.core.operands import Operands
from gpuprims.core.program_cache import forgets_calls, keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.together import can_compile_together, together
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.core.warm_calls import SHORT
from gpuprims.errors import ArgumentError, GpuprimsError, quoted
from gpuprims.primitives.floats_by_numpy import has_nan
from gpuprims.primitives.histogram import in_place
from gpuprims.primitives.histogram.binning import MOST_BINS, check_bins, direct
from gpuprims.primitives.histogram.bins import find_largest, launch_of_largest, start_largest
from gpuprims.primitives.histogram.plan import HistogramPlan, plan_sums
from gpuprims.primitives.histogram.reading import MOST_IN_TURN
from gpuprims.primitives.histogram.readings import Counted
from gpuprims.primitives.histogram.request import HistogramRequest, Weighing
from gpuprims.primitives.histogram.warm import run_to_length, starting
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.reduce import reduce

# bincount first tries this many bins, to read small numbers once.
_TRIED = 1024
# It later tries as many as it has found, but not fewer than so many: another kernel would add up those of CPU threads.
_LEAST_TRIED = 16
# It tries up to this many counts for any number of elements.
_ALWAYS_TRIED = 2**16
# On a device of its own memory, it tries up to so many: with more, the search for the largest number runs first, and
# the host waits for that alone. So it does on a GPU for few bytes: the host then launches a likely count meanwhile.
_MOST_TRIED, _SHORT = 2**13, 2**26
_INT64, _FLOAT64 = np.dtype(np.int64), np.dtype(np.float64)
_MOST_KEPT = 1024
# With weights, NumPy adds in the order of a kernel (rows: by_numpy, by_numpy-weights, by_numpy-weights-in-turn).
_FEW, _FEW_WEIGHTS, _NONE = Few(near=2**14, woken=2**16), Few(MOST_IN_TURN, MOST_IN_TURN), Few(0, 0)
_EXACT = 4  # bytes of integers whose sums are exact in any order


def _few_of(forms: tuple[Form, ...]) -> Few:
    """Return up to how many numbers along one axis NumPy counts, or adds the weights of."""
    if len(forms) == 1:
        return _FEW
    dtype = forms[1].dtype
    return _FEW_WEIGHTS if dtype.kind == "f" or dtype.itemsize <= _EXACT else _NONE


class Numbers:
    """Counts the numbers of arrays of one form, and remembers the last length, which the next array has likely too."""

    def __init__(
        self,
        forms: tuple[Form, ...],
        axes: tuple[int, ...],
        minlength: int,
        weighing: Weighing,
        device: Device,
        variant: str | Variant | None,
    ) -> None:
        shape, dtype = forms[0].shape, forms[0].dtype
        self.forms, self.device, self.minlength = forms, device, minlength
        self._how = axes, weighing, variant
        self._size = math.prod(shape)
        self._outputs = math.prod(n for k, n in enumerate(shape) if k not in axes)
        self._counts = weighing.sums == "counts"
        self._dtype = None if self._counts else _FLOAT64
        self._first_tried = 256 if dtype == np.uint8 else _TRIED
        # Numbers that cannot be negative, or as large as the least length.
        self.bounded = dtype.kind in "ub" and minlength > (1 if dtype.kind == "b" else np.iinfo(dtype).max)
        # NumPy makes no int64 of uint64.
        plain = len(shape) == 1 and variant is None and dtype != np.uint64
        self._few = _few_of(forms) if plain and self._size else _NONE
        self._searches = device.capabilities.kind == "gpu" and self._size * dtype.itemsize <= _SHORT
        # Many rows have no room for the first trial, and then later calls search too: they have the kernels for that.
        self._trying = self._tries(max(minlength, self._first_tried))
        self._last = 0

    @property
    def least(self) -> tuple[int, Any]:
        """The least length of a result, at least 1 where there are elements, and its dtype."""
        return (max(self.minlength, 1), self._dtype) if self._size else (self.minlength, _INT64)

    def run(self, arrays: tuple[Any, ...], *, on_host: bool) -> Any:
        """Count arrays of the form that lie on the device, or on the host if kernels work there."""
        if on_host:
            if (found := self._by_numpy(*arrays)) is not None:
                return found
            if self._last and (sums := self._counted_quickly(arrays)) is not None:
                return sums
        elif (likely := _likely.get((self, REGISTRY.generation))) is not None:
            return likely(arrays)
        operands = Operands("bincount", self.device, arrays, on_host, unchanged, None if on_host else self.forms)
        nbytes = sum([array.nbytes for array in arrays]) if on_host else 0
        if 0 < nbytes <= SHORT:
            return operands.to_caller(operands.driver.in_this_thread(lambda _: self.count(operands), nbytes)(arrays))
        return operands.to_caller(self.count(operands))

    def _by_numpy(self, x: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray | None:
        """Return the counts, or sums of weights, of few elements by NumPy; None if a kernel is to count or raise."""
        if not 0 < self._size <= self._few.most(self.device.driver):  # a kernel's call raises for nothing's bad variant
            return None
        try:
            found: np.ndarray = noticed(self.device.driver, "bincount", np.bincount)(x, weights, self.minlength)
        except (ValueError, MemoryError):
            return None
        nan = False
        if weights is not None:  # infinities of both signs add up to NaN (rows: by_numpy-weights-many)
            nan = has_nan(found) if len(found) <= len(weights) else not np.isfinite(weights).all()
        return None if nan or len(found) > MOST_BINS else found  # the NaN of kernels have no sign

    def _counted_quickly(self, arrays: tuple[Any, ...]) -> Any:
        """Return the counts of an array of the host that is likely as long as the last; None if it is not."""
        tried = max(self.minlength, self._last, _LEAST_TRIED)
        key = self, tried, REGISTRY.generation
        if (count := _quick.get(key, _quick)) is _quick:
            if len(_quick) >= _MOST_KEPT:
                _quick.clear()
            count = _quick[key] = self._in_one_launch(arrays, tried)
        if count is None:
            return None
        sums = count(arrays)
        first = tried if tried == self.minlength else 0  # places before count in any case
        end = _last_place(sums[first : tried + 2], first)
        if end > tried:
            return None
        self._last = length = max(self.minlength, end)
        return sums[:length]

    def _in_one_launch(self, arrays: tuple[Any, ...], tried: int) -> Callable[[Sequence[Any]], Any] | None:
        """Return a function that counts numbers below ``tried`` in one launch; None if it takes more.

        Other numbers are counted in two places after these.
        """
        nbytes = sum([array.nbytes for array in arrays])
        plain = self._counts and arrays[0].ndim == 1 and self._tries(tried) and not self.bounded
        if not plain or nbytes > SHORT or any(array.strides != (array.itemsize,) for array in arrays):
            return None
        plan = _plan_of(self, tried, None, 1, True, False, REGISTRY.generation)
        readings: Any = plan.compiled()
        return in_place.counting(self.device, readings, plan.results[0].dtype, direct(tried), nbytes)

    def _tries(self, tried: int) -> bool:
        """Return True if ``tried`` bins are counted before the largest number is known."""
        return self._counts and self._outputs * tried <= max(self._size, _ALWAYS_TRIED)

    def count(self, operands: Operands) -> Any:
        """Return the counts, or sums of weights, on the device, or on the host if kernels work there."""
        minlength, last = self.minlength, self._last
        if operands.in_place and (found := self._by_numpy(*operands.natives)) is not None:
            return found
        if not self._size:  # NumPy ignores the weights
            return self._counted(operands, minlength, _INT64).sums
        if self.bounded:
            return self._counted(operands, minlength, self._dtype).sums
        tried = max(minlength, max(last, _LEAST_TRIED) if last else self._first_tried)
        tries = self._trying and self._tries(tried)
        # Of a long array, more are tried if only numbers above them count: the host then waits for two counts. What
        # searches does so from the first call on, which compiles what later calls run.
        few = not self._searches and (tried <= _MOST_TRIED or tried == minlength)
        if tries and (operands.in_place or few):
            counted = self._counted(operands, tried, None, outside=True, reports=not operands.in_place)
            end = _end(operands, counted, tried if tried == minlength else 0)
            if end <= tried:
                return self._cut(operands, counted.sums, max(minlength, end))
            last = 0
        if not last and not operands.in_place and can_compile_together(self.device):
            together(self.device, partial(find_largest, operands), partial(self._compile, operands, tried))
        largest, sums = start_largest(operands), None
        if last:  # while the host waits for the largest number
            sums = self._counted(operands, last, self._dtype).sums
        self._last = length = check_bins("bincount", max(minlength, largest() + 1))
        if sums is None or length != last:
            sums = self._counted(operands, length, self._dtype).sums
        if operands.plain and self._searches:
            self._keep_likely(operands, length)
        return sums

    def _compile(self, operands: Operands, length: int) -> None:
        """Compile the kernel that counts numbers below a length, which most often serves others too."""
        with suppress(GpuprimsError):  # the call meets it again if it has such a length
            _plan_of(self, length, self._dtype, operands.alignment, False, False, REGISTRY.generation).compiled()

    def _recount(self, arrays: Sequence[Any], largest: int) -> Any:
        """Count arrays of the device that have another largest number than was likely."""
        operands = Operands("bincount", self.device, tuple(arrays), False, unchanged, self.forms)
        if largest < 0:
            return self.count(operands)  # raises, or finds a number beyond int64
        self._last = length = check_bins("bincount", max(self.minlength, largest + 1))
        self._keep_likely(operands, length)
        return self._counted(operands, length, self._dtype).sums

    def _keep_likely(self, operands: Operands, length: int) -> None:
        """Keep the launches of calls whose numbers have this length again."""
        plan = _plan_of(self, length, self._dtype, operands.alignment, False, False, REGISTRY.generation)
        readings: Any = plan.compiled()
        start = None if readings.peaks else starting(self.device, readings.sums, plan.results[0], direct(length))
        if len(_likely) >= _MOST_KEPT:
            _likely.clear()
        if start is not None:
            largest = launch_of_largest(self.forms[0], operands.alignment, self.device, REGISTRY.generation)
            run = run_to_length(start, self.device, largest, direct(length), self.minlength, self._recount)
            _likely[self, REGISTRY.generation] = run

    def plan(self, bins: int, dtype: Any, alignment: int, *, outside: bool, reports: bool) -> HistogramPlan:
        """Return the launch plan that counts numbers below ``bins``."""
        axes, weighing, variant = self._how
        guide = direct(bins).guide.size
        request = HistogramRequest(
            "bincount", "direct", bins, guide, bins, axes, weighing, dtype, outside, reports=reports
        )
        if variant is not None:
            asked_by_name("histogram", variant)
        return plan_sums(request, self.forms, alignment, self.device, variant, REGISTRY.generation)

    def _counted(
        self, operands: Operands, bins: int, dtype: Any, *, outside: bool = False, reports: bool = False
    ) -> Counted:
        plan = _plan_of(self, bins, dtype, operands.alignment, outside, reports, REGISTRY.generation)
        return plan.count(operands, direct(bins))

    def _cut(self, operands: Operands, sums: Any, length: int) -> Any:
        """Return the first counts of each row."""
        self._last = length
        if self._outputs == 1:
            return operands.cut(sums, 0, (*sums.shape[:-1], length))
        return map_arrays("x", sums[..., :length], device=operands.device)  # a contiguous copy


@keeps_calls()
def _plan_of(
    numbers: Numbers, bins: int, dtype: Any, alignment: int, outside: bool, reports: bool, generation: int
) -> HistogramPlan:
    """Look up a plan by less than its arrays' forms."""
    return numbers.plan(bins, dtype, alignment, outside=outside, reports=reports)


def _end(operands: Operands, found: Counted, first: int) -> int:
    """Return one more than the last place from ``first`` on with a count, in any row; 0 if there is none."""
    if found.report is not None:
        return found.report.read()
    sums = found.sums
    if sums.size == sums.shape[-1]:
        total = operands.cut(sums, first, (sums.size - first,))
    else:
        total = reduce(sums[..., first:] if first else sums, axis=tuple(range(sums.ndim - 1)), device=operands.device)
    return _last_place(operands.to_host(total), first)


def _last_place(seen: np.ndarray, first: int) -> int:
    """Return one more than the last place with a count, where the first is ``first``; 0 if there is none."""
    behind = int((seen[::-1] != 0).argmax()) if seen.size else 0  # stops at the first, which is the last of all
    return first + len(seen) - behind if seen.size and seen[-1 - behind] else 0


@lru_cache(_MOST_KEPT)
def _numbers(level: Level | None, *how: Any) -> Numbers:
    return Numbers(*how)  # whose kept launches are those of a level


_warm: dict[tuple[Level | None, Key | None], tuple[Numbers, bool]] = {}
# What counted the last arrays of a level and a key, and whether in place; it looks its launch plans up itself.
find_warm = _warm.get
_likely: dict[tuple[Numbers, int], Callable[[tuple[Any, ...]], Any]] = {}
_quick: dict[tuple[Numbers, int, int], Any] = {}  # None where a call takes more than one launch
forgets_calls(_likely.clear)
forgets_calls(_quick.clear)


def numbers_of(
    operands: Operands, axes: tuple[int, ...], minlength: Any, weighing: Weighing, variant: str | Variant | None
) -> Numbers:
    """Return the object that counts arrays like these; raise for an invalid length."""
    if isinstance(minlength, bool) or not isinstance(minlength, int | np.integer) or minlength < 0:
        raise ArgumentError(f"bincount: minlength= a non-negative integer; got {quoted(minlength)}")
    minlength = check_bins("bincount", int(minlength))
    return _numbers(asked_level(), operands.forms, axes, minlength, weighing, operands.device, variant)


def keep_warm(key: Key | None, numbers: Numbers, operands: Operands) -> None:
    """Keep what counts arrays of a key that are read as they are."""
    if key is None or not operands.as_given:
        return
    if len(_warm) >= _MOST_KEPT:
        _warm.clear()
    _warm[asked_level(), key] = numbers, operands.in_place
