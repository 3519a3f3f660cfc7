"""Contents of offsets, by which later calls on segments find what earlier ones prepared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.core.call_keys import Key
from gpuprims.core.capture import keep
from gpuprims.core.contents import Contents
from gpuprims.core.device import Device
from gpuprims.core.layout import is_contiguous
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.program_cache import forgets_calls
from gpuprims.core.taking import numbers_of
from gpuprims.core.warm_calls import Run, reads_as_given

USUAL = frozenset({np.dtype(np.int32), np.dtype(np.int64)})  # dtypes of most offsets
MANY = 1 << 20  # bytes; above, a comparison takes less time than a hash
# Most bytes of an array that describes segments element by element, and is kept for later calls.
_MOST_KEPT = 1 << 20


class ByContents:
    """Runs calls on a device's arrays, followed by offsets, by what ``prepare`` returned for equal offsets.

    ``prepare`` takes offsets of the host, raises for wrong ones, and returns what runs a call on the other arrays. An
    array of offsets may change in place, so each call compares them, and reads those of a device before.
    """

    def __init__(self, device: Device, prepare: Callable[[np.ndarray], Run]) -> None:
        self._device, self.prepare = device, prepare

    def run(self, arrays: Sequence[Any]) -> Any:
        """Run a call."""
        *own, offsets = arrays
        driver = self._device.driver
        on_host = offsets if type(offsets) is np.ndarray else driver.to_host(offsets)
        return _prepared(self, driver.order, Contents(on_host))(own)


@lru_cache(maxsize=32)
def _prepared(calls: ByContents, order: int, contents: Contents) -> Run:
    contents.keep()
    return calls.prepare(contents.array)


forgets_calls(_prepared.cache_clear)


def kept_if_small(device: Device, make: Callable[[], Any]) -> Callable[[], Any]:
    """Return a function that makes an array of a device, the same array in later calls unless it is large.

    What a graph captures is not kept: it is made when the graph runs.
    """
    made = list[Any]()

    def find() -> Any:
        if made:
            return keep(made[0])
        array = make()
        captures = getattr(device.driver, "is_capturing", None)
        if array.nbytes <= _MOST_KEPT and not (captures and captures()):
            made.append(array)
        return array

    return find


def is_usual(offsets: Any) -> bool:
    """Return True for offsets of the host that are compared in little time."""
    usual = type(offsets) is np.ndarray and offsets.dtype in USUAL and 0 < offsets.nbytes <= MANY
    return usual and offsets.flags.c_contiguous and offsets.ndim == 1


def keyed_with(x: Any, offsets: Any) -> tuple[Any, ...]:
    """Return the arrays of a call's key: without usual offsets of the host beside an array that is not NumPy's."""
    return (x,) if type(x) is not np.ndarray and is_usual(offsets) else (x, offsets)


def keeps_contents(key: Key | None, operands: Operands, offsets: Any) -> bool:
    """Return True if :class:`ByContents` runs later calls on a device's arrays, none a number, with these offsets."""
    if key is None or operands.on_host or not reads_as_given(key, operands) or numbers_of(operands):
        return False
    if is_usual(offsets):
        return True
    there = as_operands(operands.label, (offsets,), operands.device)
    (form,) = there.forms
    along_one_axis = len(form.shape) == 1 and form.shape[0] > 0
    return not there.on_host and form.dtype.kind in "iu" and along_one_axis and is_contiguous(form)
