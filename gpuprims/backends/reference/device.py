"""The reference device: NumPy arrays, and kernels that are Python functions over them."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from gpuprims.definitions import Definitions
from gpuprims.driver import Capabilities, Kernel, Launch
from gpuprims.errors import BuildError
from gpuprims.layout import Form, View, steps_of
from gpuprims.registry import Variant


class ReferenceDriver:
    """NumPy on the host."""

    backend = "reference"
    index = 0
    shares_host_memory = True

    @cached_property
    def capabilities(self) -> Capabilities:
        """See :class:`~gpuprims.driver.Capabilities`."""
        return Capabilities(
            kind="reference",
            name=f"NumPy on {platform.machine()}",
            vendor="NumPy",
            driver=f"NumPy {np.__version__}",
            compute_units=1,
            group_limit=1,
            local_memory=0,
            memory=0,
            subgroup_size=0,
            fp64=True,
            fp16=True,
            int64_atomics=False,
            forward_progress=False,
        )

    def build(self, variant: Variant, definitions: Definitions) -> Kernel:
        """Bind a Python function to the definitions that a compiler would get."""
        if isinstance(variant.source, Path):
            raise BuildError(f"{variant.entry} on reference: a Python function; got {variant.source}")
        return ReferenceKernel(variant.source, definitions)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """Allocate a host array."""
        return np.empty(shape, dtype)

    def view(self, array: np.ndarray) -> View:
        """See a host array as an operand."""
        return View(array, Form(array.dtype, array.shape, steps_of(array.strides, array.dtype), 0))

    def share(self, array: np.ndarray) -> View:
        """Use the array where it lies; between fields of a record it is copied, since steps count whole items."""
        whole = all(stride % array.itemsize == 0 for stride in array.strides)
        return self.view(array if whole else array.copy())

    def asarray(self, array: np.ndarray) -> np.ndarray:
        """Return the array itself: kernels never write to their inputs."""
        return array

    def download(self, array: np.ndarray) -> np.ndarray:
        """Return the array itself."""
        return array

    def tickets(self, count: int) -> np.ndarray:
        """Return zeros."""
        return np.zeros(count, np.uint32)

    def synchronize(self) -> None:
        """Return at once: everything is done when its call returns."""


class ReferenceKernel:
    """A Python function with the definitions that a compiler would get."""

    def __init__(self, function: Callable[..., None], definitions: Definitions) -> None:
        self._function = function
        self._definitions = definitions

    def prepare(self, groups: int, layout: np.ndarray, *numbers: int) -> Launch:
        """Fix a call; groups mean nothing here."""

        def launch(memories: Sequence[np.ndarray]) -> None:
            with np.errstate(all="ignore"):  # kernels do not warn either
                self._function(self._definitions, memories, layout, *numbers)

        return launch


DRIVER = ReferenceDriver()
