"""Kernels that are Python functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gpuprims.core.driver import Launch
from gpuprims.core.kernel_spec import KernelSpec


class ReferenceKernel:
    """A Python function with the spec that a compiler would get."""

    def __init__(self, function: Callable[..., None], spec: KernelSpec) -> None:
        self._function = function
        self._spec = spec

    def prepare(self, groups: int, layout: np.ndarray, *numbers: int, local: int = 0) -> Launch:
        """Fix a call; groups and local memory mean nothing here."""
        spec = self._spec.bound(layout)

        def launch(memories: Sequence[np.ndarray]) -> None:
            with np.errstate(all="ignore"):  # kernels do not warn either
                self._function(spec, memories, layout, *numbers)

        return launch
