"""A compiled CUDA kernel, and its launches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np

from gpuprims.driver import Launch

current_device = cupy.cuda.runtime.getDevice


class CudaKernel:
    """A kernel bound to a device."""

    def __init__(self, device: cupy.cuda.Device, function: Any, block: int) -> None:
        self._device = device
        self._function = function
        self._block = block

    def prepare(self, groups: int, layout: np.ndarray, *numbers: int) -> Launch:
        """Fix a launch on CuPy's current stream."""
        # By value: CuPy takes a scalar of a record and Python's integers faster than arrays and NumPy's integers.
        fixed = (layout.view(np.dtype((np.void, layout.nbytes)))[0], *numbers)
        grid, block, device, function = (groups,), (self._block,), self._device, self._function

        def launch(memories: Sequence[cupy.ndarray]) -> None:
            if current_device() == device.id:
                function(grid, block, (*memories, *fixed))
            else:
                with device:
                    function(grid, block, (*memories, *fixed))

        return launch
