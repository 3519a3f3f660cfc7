"""A call, timed by pytest-benchmark with the wait for its end, and on the device by events."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import pytest

import gpuprims
from gpuprims.errors import NoVariantError
from gpuprims.profiling.recorder import Recorder
from gpuprims.profiling.records import Launch

from ..contenders import to_host

Test = TypeVar("Test", bound=Callable[..., None])
# Calls whose launches are timed on the device, beside those that pytest-benchmark times.
_CALLS = 5


def kernels_of(primitive: str) -> Callable[[Test], Test]:
    """Give a test a parameter ``variant``: None, or the name of a kernel of a primitive."""

    def mark(test: Test) -> Test:
        test.primitive = primitive  # type: ignore[attr-defined]  # pytest_generate_tests reads it
        return test

    return mark


class Timed:
    """Times calls on a device. The first call compiles and is not timed.

    ``size`` is the number of elements of an array: 2^22 on a CPU, 2^26 on a GPU and four times as many with ``full``,
    but 2^18 if kernels are asked for ``by_name`` on a CPU, where those for GPUs take long.
    """

    def __init__(self, benchmark: Any, device: gpuprims.Device, *, full: bool, by_name: bool) -> None:
        self.benchmark, self.device, self.full = benchmark, device, full
        on_cpu = device.capabilities.kind != "gpu"
        self.size = 2**18 if on_cpu and by_name else 2 ** (22 if on_cpu else 26) * (4 if full else 1)

    def __call__(self, call: Callable[..., Any], *arrays: Any, nbytes: int = 0) -> Any:
        """Time a call of arrays that lie on the device, and return its result on the host.

        ``extra_info`` gets the seconds that its kernels take on the device, by events; the kernels' names; and GB/s on
        the device of the ``nbytes`` that the call must read and write.
        """
        there = [self.device.asarray(one) if isinstance(one, np.ndarray) else one for one in arrays]

        def waited() -> Any:
            result = call(*there)
            self.device.synchronize()
            return result

        try:
            waited()
        except NoVariantError as refusal:
            pytest.skip(str(refusal))
        result = self.benchmark(waited)
        self._tell(waited, nbytes)
        return to_host(self.device, result)

    def _tell(self, waited: Callable[[], Any], nbytes: int) -> None:
        able, info = self.device.capabilities, self.benchmark.extra_info
        info |= {"device": self.device.spec, "name": able.name, "driver": able.driver}
        if self.benchmark.disabled:
            return
        calls = [_launches(waited) for _ in range(_CALLS)]
        seconds = statistics.median(sum(launch.seconds for launch in launches) for launches in calls)
        info |= {"device_s": seconds, "kernels": dict(Counter(launch.kernel for launch in calls[0]))}
        if nbytes and seconds:
            info |= {"bytes": nbytes, "gb_per_s": nbytes / seconds / 1e9}


def _launches(call: Callable[[], Any]) -> list[Launch]:
    recorder = Recorder()
    with recorder.alone():
        call()
    return [one for one in recorder.seen(lambda _: None) if isinstance(one, Launch)]
