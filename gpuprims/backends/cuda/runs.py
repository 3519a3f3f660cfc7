"""Launches on CuPy's arrays into a new one, in little time of the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cupy

from gpuprims.backends.cuda.arrays import IS_BARE, allocate, kept_as, new_array
from gpuprims.backends.cuda.compiled import CUDA_CALLS
from gpuprims.backends.cuda.kernel import current_device
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.layout import Form


def into_new(
    driver: Any, device: Device, launch: Launch, form: Form, *, turned: bool
) -> Callable[[Sequence[Any]], Any]:
    """Return a function that launches into a new array, in Fortran order if ``turned``, and returns that array."""
    described = (form.shape, form.dtype, None, None, "F") if turned else (form.shape, form.dtype)
    index: int = driver.index

    def run(arrays: Sequence[Any]) -> Any:
        if current_device() == index and device.driver is driver:  # after a fork, another refuses
            try:
                result = new_array(*described)
            except cupy.cuda.memory.OutOfMemoryError:
                result = driver.empty(*described)  # tries again, and says what there is no room for
        else:
            result = device.driver.empty(*described)
        launch((*arrays, result))
        return result

    if (calls := CUDA_CALLS.calls) is None or not IS_BARE:
        return run
    kind, told = kept_as(form.dtype)
    quick: Callable[[Sequence[Any]], Any] = calls.Run(
        launch, device, driver, run, allocate, kind, (form.shape, told, *described[2:]), index
    )
    return quick
