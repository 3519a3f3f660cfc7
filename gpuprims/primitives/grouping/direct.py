"""Integer keys in a small range: a histogram with a bin for each key, instead of a sort."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.operands import Operands, as_operands
from gpuprims.expressions import trace
from gpuprims.operators import OPERATORS, Op
from gpuprims.primitives.compact import compact
from gpuprims.primitives.grouping.groups import Groups
from gpuprims.primitives.grouping.indices import numbers
from gpuprims.primitives.grouping.runs import Runs
from gpuprims.primitives.histogram.binning import Table
from gpuprims.primitives.histogram.bins import start_limits, table_between
from gpuprims.primitives.histogram.calls import as_weighing
from gpuprims.primitives.histogram.exact_weights import exactly_at_once
from gpuprims.primitives.histogram.plan import count
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.searchsorted import searchsorted

_OCCURS = trace(lambda count: count != 0, 1)
_CODE = trace(lambda key, low: (key - low).astype(np.uint8), 2)
_INTEGER = trace(lambda code, low: code + low, 2)
# A range is small up to _FEW keys, or with _ELEMENTS_EACH elements for each key; it has at most _MOST keys.
_FEW, _ELEMENTS_EACH, _MOST = 1024, 8, 1 << 22  # rows: direct
# Fewest elements: for fewer, a sort is faster than the launches and waits here.
# rows: direct-few, direct-unique, direct-gpu
_FEWEST = {"cpu": 1 << 14, "gpu": 1 << 19}
# Fewest keys that are sorted as bytes: a GPU's host waits for their limits (rows: bytes).
_FEWEST_AS_BYTES = {"cpu": 0, "gpu": 1 << 23}
# Edges of bins are float64, which is exact for integers up to this one.
_EXACT = 2**53


def may_be_direct(size: int, dtype: np.dtype[Any], device: Device) -> bool:
    """Return True for enough integers."""
    able = device.capabilities
    return size > 0 and dtype.kind in "iu" and able.fp64 and size >= _FEWEST.get(able.kind, 0)


class Limits(NamedTuple):
    """The smallest and the largest of integers that lie along one axis of a device."""

    keys: Operands
    low: int
    high: int

    @classmethod
    def of(cls, keys: Any, device: Device) -> Limits | None:
        """Find the limits of keys; return None if these are no integers, or too few.

        Those of keys of 8 bits are known. For wider ones, the host waits.
        """
        if not may_be_direct(int(keys.shape[0]), keys.dtype, device):
            return None
        operands = as_operands("histogram", (keys,), device)
        if keys.dtype.itemsize == 1:
            return cls(operands, int(np.iinfo(keys.dtype).min), int(np.iinfo(keys.dtype).max))
        return cls(operands, *map(int, start_limits(operands)()))


class Range(NamedTuple):
    """The range of the keys of a one-dimensional array, and its bins."""

    keys: Operands
    low: int
    table: Table

    @classmethod
    def of(cls, keys: Any, device: Device) -> Range | None:
        """Find the range of keys; return None unless they are integers, enough of them, and in a small range."""
        if (limits := Limits.of(keys, device)) is None:
            return None
        (operands, low, high), size = limits, int(keys.shape[0])
        bins = high - low + 1
        if bins > min(max(size // _ELEMENTS_EACH, _FEW), _MOST) or max(-low, high) >= _EXACT:
            return None
        return cls(operands, low, table_between(keys.dtype, bins, low, high + 1))

    def counts(self) -> Any:
        """Return the number of elements with each key."""
        return count(self.keys, self.table, self.table.bins, None).sums

    def sums(self, weights: Any) -> Any:
        """Return the sum of the weights for each key."""
        operands = as_operands("histogram", (self.keys.natives[0], weights), self.keys.device)
        return count(operands, self.table, self.table.bins, None, as_weighing(operands, True), weights.dtype).sums


def direct_sums(groups: Groups, op: Op, mapped: Any) -> Any:
    """Return the sum of the elements of each key, in ascending order of keys; None if it needs a sort.

    Histograms add float weights with the same bits in each run.
    """
    if op is not OPERATORS["sum"] or mapped is not None or len(groups.given) != 1:
        return None
    (values,), device = groups.given, groups.device
    if values.dtype not in (np.float32, np.float64) or (found := Range.of(groups.given_keys, device)) is None:
        return None
    sums = found.sums(values)
    if groups.given_keys.dtype.itemsize > 1:  # of all 256 keys, some are likely absent
        other = compact(sums, _OCCURS, device=device)
        if other.shape[0] == found.table.bins:  # no sum is zero, so each key occurs  # rows: direct-dense
            return other
    occurs = map_arrays(_OCCURS, found.counts(), device=device)
    return compact(sums, occurs, device=device)


def exact_sums(groups: Groups, op: Op, mapped: Any) -> Any:
    """Return the sums of :func:`direct_sums`, exact; None also if there are too many bins for exact sums."""
    found = exactly_at_once(groups.device, lambda: direct_sums(groups, op, mapped))
    return None if found is None else found[0]


def direct_distinct(elements: Any, device: Device, *, counted: bool) -> tuple[Any, ...] | None:
    """Return the distinct elements in ascending order and, if ``counted``, how often each occurs.

    Return None if it needs a sort.
    """
    if (found := Range.of(elements, device)) is None:
        return None
    counts, low, dtype = found.counts(), found.low, elements.dtype
    occurs = map_arrays(_OCCURS, counts, device=device)
    places = compact(numbers(found.table.bins, counts, device), occurs, device=device)
    distinct = map_arrays(lambda place: (place.astype(np.int64) + low).astype(dtype), places, device=device)
    return (distinct, compact(counts, occurs, device=device)) if counted else (distinct,)


class Bytes(NamedTuple):
    """Integers less their smallest, as bytes, which a sort moves once."""

    codes: Any
    low: np.generic  # the smallest, of the integers' dtype
    device: Device

    @classmethod
    def of(cls, keys: Any, device: Device) -> Bytes | None:
        """Return the bytes of wider integers; None if bytes do not hold them, or if the keys are few.

        To find the limits of many keys takes a small part of the time of a sort.
        """
        fewest = _FEWEST_AS_BYTES.get(device.capabilities.kind)
        if fewest is None or keys.dtype.itemsize == 1 or keys.shape[0] < fewest:
            return None
        if (limits := Limits.of(keys, device)) is None or limits.high - limits.low > np.iinfo(np.uint8).max:
            return None
        low = keys.dtype.type(limits.low)
        return cls(map_arrays(_CODE, keys, low, device=device), low, device)

    def runs(self, ordered: Any, operands: Operands) -> Runs:
        """Return the runs of the sorted bytes: a search finds where each begins, and the host waits (rows: bytes)."""
        every = np.arange(np.iinfo(np.uint8).max + 1, dtype=np.uint8)
        if operands.in_place:
            begins = np.searchsorted(ordered, every)
        else:
            driver = operands.driver
            begins = driver.to_host(searchsorted(ordered, driver.asarray(every), device=self.device))
        occurs = begins < np.append(begins[1:], ordered.shape[0])
        values, offsets = every[occurs], np.append(begins[occurs], ordered.shape[0]).astype(np.int64)
        if operands.in_place:
            return Runs(values, offsets, None)
        return Runs(driver.asarray(values), driver.asarray(offsets), None)

    def integers(self, codes: Any) -> Any:
        """Return the integers of some codes."""
        return map_arrays(_INTEGER, codes, self.low, device=self.device)
