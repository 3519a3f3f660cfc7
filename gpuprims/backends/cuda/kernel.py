"""A compiled CUDA kernel, and its launches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np

from gpuprims.driver import Launch


class CudaKernel:
    """A kernel bound to a device."""

    def __init__(self, device: cupy.cuda.Device, function: Any, block: int) -> None:
        self._device = device
        self._function = function
        self._block = block

    def prepare(self, groups: int, layout: np.ndarray, *numbers: int) -> Launch:
        """Fix a launch on CuPy's current stream."""
        # CuPy passes a one-item array of a record by value.
        fixed = (layout.view(np.dtype((np.void, layout.nbytes))), *(np.int64(number) for number in numbers))
        grid, block, device, function = (groups,), (self._block,), self._device, self._function

        def launch(memories: Sequence[cupy.ndarray]) -> None:
            with device:
                function(grid, block, (*memories, *fixed))

        return launch
