"""A trial kernel, to find out whether a device computes."""

from __future__ import annotations

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.core.layout import plan_layout
from gpuprims.core.traits import CallTraits
from gpuprims.errors import shortened
from gpuprims.expressions import expression, typed


def problem_of(device: Device) -> str | None:
    """Return the fault of a device; None if it computes."""
    try:
        computed = _trial(device)
    except Exception as error:  # an installed package's driver may raise anything
        return f"fails a trial kernel: {shortened(' '.join(str(error).split()), 400)}"
    wrong = not np.array_equal(computed, np.array([2, 3, 4], np.float32))
    return f"computes {computed} for [1, 2, 3] + 1" if wrong else None


def _trial(device: Device) -> np.ndarray:
    """Compute [1, 2, 3] + 1 as every map does."""
    float32 = np.dtype(np.float32)
    driver = device.driver
    source, result = driver.asarray(np.array([1, 2, 3], np.float32)), driver.empty((3,), float32)
    layout = plan_layout([driver.form(source), driver.form(result)], (3,), (0,))
    function = typed(expression("x + 1"), (float32,))
    finish = typed(expression(lambda value, count: value), (float32, np.dtype(np.int64)))
    spec = KernelSpec(layout.accesses[:1], layout.accesses[1:], (float32,), function, finish)
    variant = device.ranked("map", CallTraits((float32,), 3)).select()
    device.kernel(variant, spec).prepare(1, layout.pack(3), 3)([source, result])
    return np.array(driver.to_host(result))
