"""Check by addresses alone that arrays of ``out=`` share no bytes with the other arrays of a call."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from gpuprims.core.device import device_of
from gpuprims.core.memory import reach


class Apart:
    """Where arrays like those of a call may begin, so that those from number ``inputs`` on share no bytes with others.

    Calls with arrays of the same shapes and strides need only compare addresses. The inputs ``same`` are the array of
    ``out=`` itself, in each such call.
    """

    def __init__(self, given: Sequence[Any], inputs: int, same: Sequence[int] = ()) -> None:
        devices = {k: device for k, array in enumerate(given) if (device := device_of(array)) is not None}
        self._device = next(iter(devices.values()), None)
        places = sorted(devices) or [k for k, array in enumerate(given) if isinstance(array, np.ndarray)]
        known = set(devices.values()) <= {self._device} and set(places) >= set(range(inputs, len(given)))
        # For host results with gaps, kernels write to other memory.
        self._fits = known and (bool(devices) or all(one.flags.carray for one in given[inputs:]))
        pairs = [(k, m) for k, m in combinations(places, 2) if m >= inputs and given[k].size and given[m].size]
        pairs = [(k, m) for k, m in pairs if k not in same]
        reaches = {k: reach(given[k].shape, given[k].strides, given[k].dtype.itemsize) for k in places}
        # Two arrays overlap if they begin at most this many bytes apart in either direction.
        self._pairs = [(k, m, reaches[m][0] - reaches[k][1], reaches[m][1] - reaches[k][0]) for k, m in pairs]

    def holds(self, given: Sequence[Any]) -> bool:
        """Return True if the arrays begin at such places; False also if their addresses are unknown."""
        if not self._fits:
            return False
        if self._device is None:
            return True not in [np.may_share_memory(given[k], given[m]) for k, m, _, _ in self._pairs]
        address = self._device.driver.address
        for k, m, low, high in self._pairs:
            memory, first = address(given[k])
            other, start = address(given[m])
            if memory == other and low < first - start < high:
                return False
        return True
