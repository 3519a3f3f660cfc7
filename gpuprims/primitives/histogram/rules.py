"""The number of bins by a rule with a name, such as "auto".

Each rule finds the width of a bin from facts of the elements; their sources are named beside them. Names and results
are those of ``numpy.histogram_bin_edges`` of NumPy 2.4.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from gpuprims.core.operands import Operands
from gpuprims.errors import ArgumentError, did_you_mean, quoted
from gpuprims.expressions import trace
from gpuprims.primitives.compact import compact
from gpuprims.primitives.histogram.binning import check_bins
from gpuprims.primitives.histogram.bins import checked_limits, start_limits, table_between
from gpuprims.primitives.histogram.plan import count
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.reduce import reduce
from gpuprims.primitives.selection import percentile
from gpuprims.primitives.signatures import OpName

# Numbers of bins that Stone's rule tries, at least.
_TRIED = 100
# Rules that ask for quartiles first.
_OF_QUARTILES = ("auto", "fd")
_AS_BYTE = trace(lambda x: x.astype(np.uint8), 1)


class Elements:
    """The facts about the elements of a call by which rules choose bins; each is computed once."""

    def __init__(self, operands: Operands, array: Any, ends: tuple[Any, Any]) -> None:
        self._operands, self._array, self._ends = operands, array, ends
        self.size = int(array.size)
        self._begun: Any = None

    def begin(self, rule: str) -> Elements:
        """Start what the rule asks first, so that a device computes while the host waits for something else."""
        if rule in _OF_QUARTILES:
            self._begun = self._third_and_first()
        return self

    def between(self, low: Any, high: Any, ends: tuple[Any, Any]) -> Elements:
        """Tell the smallest and the largest element, and the ends of the bins."""
        self.span, self._ends = distance(low, high, self._array.dtype), ends
        return self

    @cached_property
    def span(self) -> Any:
        """The largest element minus the smallest, unsigned for integers, so that it fits."""
        low, high = start_limits(self._operands.instead(self._array))()
        return distance(low, high, self._array.dtype)

    @cached_property
    def quartiles(self) -> tuple[Any, Any]:
        """The third and the first quartile."""
        third, first = self._host(self._third_and_first() if self._begun is None else self._begun)
        return third, first

    def _third_and_first(self) -> Any:
        return percentile(self._array, [75, 25], device=self._operands.device)

    @cached_property
    def std(self) -> Any:
        """The standard deviation."""
        return self._folded("std")

    @cached_property
    def skewness(self) -> Any:
        """The mean of the third power of the distances from the mean, in standard deviations."""
        mean, std = self._folded("mean"), self.std
        return self._folded("mean", map=lambda x: ((x - mean) / std) ** 3)

    def squares(self, bins: int) -> float:
        """Return the sum of the squares of the bins' shares of the elements, for a number of bins."""
        table = table_between(self._array.dtype, bins, *self._ends)
        shares = self._host(count(self._operands.instead(self._array), table, bins, None).sums) / self.size
        return float(shares.dot(shares))

    def _folded(self, op: OpName, **how: Any) -> Any:
        return self._host(reduce(self._array, op=op, device=self._operands.device, **how))[()]

    def _host(self, found: Any) -> np.ndarray:
        return np.asarray(self._operands.to_host(found))


def _sqrt(x: Elements) -> Any:
    return x.span / np.sqrt(x.size)


def _sturges(x: Elements) -> Any:
    """Sturges, The choice of a class interval, JASA 21 (1926)."""
    return x.span / (np.log2(x.size) + 1.0)


def _rice(x: Elements) -> Any:
    """Terrell and Scott, Oversmoothed nonparametric density estimates, JASA 80 (1985)."""
    return x.span / (2.0 * math.pow(x.size, 1 / 3))


def _scott(x: Elements) -> Any:
    """Scott, On optimal and data-based histograms, Biometrika 66 (1979)."""
    return math.pow(24 * math.sqrt(math.pi) / x.size, 1 / 3) * x.std


def _fd(x: Elements) -> Any:
    """Freedman and Diaconis, On the histogram as a density estimator: L2 theory, 1981."""
    third, first = x.quartiles
    return 2.0 * (third - first) * math.pow(x.size, -1 / 3)


def _auto(x: Elements) -> Any:
    """Return the narrower width of two rules, for at most twice as many bins as by the square root."""
    return min(max(_fd(x), _sqrt(x) / 2), _sturges(x))


def _doane(x: Elements) -> Any:
    """Doane, Aesthetic frequency classifications, The American Statistician 30 (1976)."""
    n = x.size
    if n <= 2 or not x.std > 0:
        return 0.0
    usual = math.sqrt(6 * (n - 2) / ((n + 1) * (n + 3)))  # the standard deviation of a normal sample's skewness
    return x.span / (1 + np.log2(n) + np.log2(1 + abs(x.skewness) / usual))


def _stone(x: Elements) -> Any:
    """Stone, An asymptotically optimal histogram selection rule, 1984: the least estimated loss of all numbers."""
    if x.size <= 1 or x.span == 0:
        return 0.0
    most = max(_TRIED, math.isqrt(x.size))
    losses = [(2 - (x.size + 1) * x.squares(bins)) * bins / x.span for bins in range(1, most + 1)]
    best = 1 + int(np.argmin(losses))
    if best == most:
        warnings.warn(
            f"histogram: bins='stone' found no least loss in up to {most} bins; more may fit", RuntimeWarning, 4
        )
    return x.span / best


RULES: Mapping[str, Callable[[Elements], Any]] = {
    "auto": _auto, "doane": _doane, "fd": _fd, "rice": _rice, "scott": _scott, "sqrt": _sqrt, "stone": _stone,
    "sturges": _sturges,
}  # fmt: skip


def bins_by_rule(operands: Operands, bins: Any, limits: Any) -> tuple[Any, Any]:
    """Return the number of bins and their range by a rule; ``bins`` and ``range`` as they are if there is none."""
    if not isinstance(bins, str):
        return bins, limits
    label = operands.label
    if bins not in RULES:
        rule = f"{label}: bins= a number, edges, or a rule among {', '.join(RULES)}"
        raise ArgumentError(f"{rule}; got {quoted(bins)}{did_you_mean(bins, RULES)}")
    if len(operands.natives) > 1:
        raise ArgumentError(f"{label}: a rule for bins without weights; got {quoted(bins)} and weights (pass a number)")
    array, begun = operands.natives[0], start_limits(operands) if limits is None else None
    if array.dtype == np.bool_:
        array = map_arrays(_AS_BYTE, array, device=operands.device)  # NumPy counts these as uint8
    if begun is None:
        low, high = _apart(*checked_limits(label, limits))
        array = compact(array, lambda x: (x >= low) & (x <= high), device=operands.device)
        elements = Elements(operands, array, (low, high))
    else:
        elements = Elements(operands, array, (0, 1))
        if array.size:
            elements.begin(bins)
        low, high = begun()
        ends = _apart(low, high)
        elements.between(low, high, ends)
        low, high = ends
    width = RULES[bins](elements) if array.size else 0.0
    if not width:
        return 1, (low, high)
    if array.dtype.kind in "iu":
        width = max(width, 1)
    return check_bins(label, math.ceil(distance(low, high, array.dtype) / width)), (low, high)


def _apart(low: Any, high: Any) -> tuple[Any, Any]:
    """Return the ends of bins between two numbers, which may be the same."""
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def distance(low: Any, high: Any, dtype: np.dtype[Any]) -> Any:
    """Return the distance between two numbers in NumPy's dtype for it: of integers, as unsigned ones."""
    if isinstance(low, int | np.integer) and isinstance(high, int | np.integer):
        return np.asarray(int(high) - int(low)).astype(dtype.str.replace("i", "u") if dtype.kind in "iu" else dtype)[()]
    return np.subtract(high, low)
