"""Groups: elements sorted by key."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.layout import contiguous, is_contiguous
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.warm_calls import Run
from gpuprims.errors import ShapeError
from gpuprims.primitives.grouping.few_groups import few_groups
from gpuprims.primitives.grouping.flat import flat
from gpuprims.primitives.grouping.indices import index_dtype, numbers
from gpuprims.primitives.grouping.runs import Runs, compile_runs_ahead, find_runs
from gpuprims.primitives.grouping.scanned_runs import Wanted
from gpuprims.primitives.grouping.sorted_groups import finder_of_groups
from gpuprims.primitives.segments.offsets import MADE
from gpuprims.primitives.sort.calls import in_order
from gpuprims.primitives.take import take

# Largest value in bytes that a sort moves.
_CARRIED = 8


class Groups:
    """Arrays sorted by key. The sort is stable, so elements of one key keep their order.

    Parameters
    ----------
    label : str
        The caller, for messages.
    arrays : tuple of arrays
        The values.
    keys : array
        The keys, with the shape of the values.
    device : str, Device or None
        Where to compute, for host arrays.
    ordered, keyed : bool
        True if the call needs :attr:`order`, or :attr:`keys`.

    Attributes
    ----------
    given_keys : array
        The keys, flattened, where kernels read them.
    given : list of arrays
        The values, flattened.
    """

    def __init__(
        self,
        label: str,
        arrays: tuple[Any, ...],
        keys: Any,
        device: str | Device | None,
        *,
        ordered: bool = False,
        keyed: bool = False,
    ) -> None:
        self.operands = as_operands(label, (*arrays, keys), device)
        *values, by = self.operands.natives
        self.shape: tuple[int, ...] = by.shape
        _check(label, self.operands)
        self.device = self.operands.device
        self.given_keys, self.given = flat(self.operands, by), [flat(self.operands, one) for one in values]
        self.size = int(self.given_keys.shape[0])
        self._label = label
        self._wanted = Wanted(values=keyed, offsets=True)
        self._carries = not ordered and len(values) == 1 and values[0].dtype.itemsize <= _CARRIED

    @cached_property
    def _few(self) -> tuple[Any, Any] | None:
        """The sorted order and the offsets of groups, found in C for few elements; None if kernels find them."""
        groups = few_groups(self.operands, self.given_keys)
        return None if groups is None else groups(self.given_keys)

    @cached_property
    def _bytes(self) -> Any:
        """The keys as bytes; None if the sort takes the keys themselves."""
        return _by_bins().Bytes.of(self.given_keys, self.device)

    @cached_property
    def _sorted(self) -> tuple[Any, Any]:
        """The sorted keys or their bytes; and the values in order if the sort can move them, else the indices."""
        keys = self.given_keys if self._bytes is None else self._bytes.codes
        if self._bytes is None and self.size and not self.operands.in_place:
            compile_runs_ahead(self.device, keys.dtype, self.size, self._wanted)
        return self._in_order(keys)

    def _in_order(self, keys: Any) -> tuple[Any, Any]:
        ordered, values = in_order(self._label, "pairs", (keys, self._beside), self.device)
        return ordered, values

    @property
    def _beside(self) -> Any:
        """What the sort moves beside the keys."""
        return self.given[0] if self._carries else numbers(self.size, self.given_keys, self.device)

    @cached_property
    def _runs(self) -> Runs:
        if not self.size:
            return Runs(self.given_keys, np.zeros(1, np.int64), None)
        if self._few is not None:
            order, offsets = self._few
            MADE.add(offsets)
            return Runs(self.given_keys.take(order.take(offsets[:-1])), offsets, None)
        ordered = self._sorted[0]
        if self._bytes is None:
            runs = find_runs(self.operands, ordered, self._wanted)
        else:
            runs = self._bytes.runs(ordered, self.operands)
        MADE.add(runs.offsets)
        return runs

    @property
    def repeat(self) -> bool:
        """True if later calls on arrays like these, of a device, sort the keys themselves, whatever these are."""
        contiguous = all(map(is_contiguous, self.operands.forms)) if self.size and not self.operands.on_host else False
        return contiguous and not _by_bins().may_be_direct(self.size, self.given_keys.dtype, self.device)

    @property
    def order(self) -> Any:
        """The index of each element before the sort."""
        return self._sorted[1] if self._few is None else self._few[0]

    @property
    def keys(self) -> Any:
        """The key of each group."""
        values = self._runs.values
        if not self.size or self._few is not None or self._bytes is None:
            return values
        return self._bytes.integers(values)

    @property
    def offsets(self) -> Any:
        """The offsets of groups, as in CSR."""
        return self._runs.offsets

    @cached_property
    def values(self) -> list[Any]:
        """Each array of values in the order of the groups."""
        if not self.size:
            return self.given
        if self._few is not None:
            return [one.take(self._few[0]) for one in self.given]
        if self._carries:
            return [self._sorted[1]]
        return [take(one, self.order, mode="clip", device=self.device) for one in self.given]


class LaterGroups(Groups):
    """The groups of arrays like those of an earlier call, whose groups :attr:`repeat`; nothing is described again."""

    _find: Run | None  # finds all in one plan

    @classmethod
    def like(cls, first: Groups) -> LaterGroups:
        """Return what later calls need of the groups of a call, which are not found yet: all but the arrays."""
        later, size, device, alignment = cls.__new__(cls), first.size, first.device, first.operands.alignment
        vars(later).update(vars(first), operands=first.operands.instead(), given=[], given_keys=None)
        vars(later).update(_few=None, _bytes=None)
        *values, keys = [one._replace(shape=(size,), strides=(one.item,)) for one in first.operands.forms]
        beside = values[0] if first._carries else contiguous(index_dtype(size), (size,), alignment)
        later._find = finder_of_groups(device, keys, beside, alignment, keyed=first._wanted.values)
        return later

    def of(self, values: Sequence[Any], keys: Any) -> LaterGroups:
        """Return the groups of other arrays."""
        own, cut = LaterGroups.__new__(LaterGroups), self.operands.driver.cut
        if len(self.shape) != 1:
            values, keys = [cut(one, 0, (self.size,)) for one in values], cut(keys, 0, (self.size,))
        vars(own).update(vars(self), given=values, given_keys=keys)
        if self._find is None:
            own._sorted = own._in_order(keys)
            return own
        beside, *first, offsets = self._find((keys, own._beside))
        MADE.add(offsets)
        own._sorted, own._runs = (None, beside), Runs(first[0] if first else None, offsets, None)
        return own


def _by_bins() -> ModuleType:
    """Return the module for keys of a small range; found by name, because reduce finds its limits."""
    return import_module("gpuprims.primitives.grouping.direct")


def _check(label: str, operands: Operands) -> None:
    """Raise unless the values have the shape of the keys."""
    *values, by = operands.natives
    for one in values:
        if one.shape != by.shape:
            raise ShapeError(f"{label}: keys of the shape of the values, {one.shape}; got {by.shape}")
