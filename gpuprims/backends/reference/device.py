"""The reference device: NumPy arrays, and kernels that are Python functions over them."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from gpuprims.backends.reference.kernel import ReferenceKernel
from gpuprims.core.capabilities import Capabilities, Progress
from gpuprims.core.driver import HostReport, Kernel
from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.core.layout import Form, View
from gpuprims.core.memory import cut_array
from gpuprims.core.variant import Variant
from gpuprims.errors import BuildError


def _as_tf32(matrix: np.ndarray) -> np.ndarray:
    bits = np.ascontiguousarray(matrix, np.float32).view(np.uint32)
    rounded = ((bits + np.uint32(0x0FFF) + (bits >> 13 & 1)) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isfinite(matrix), rounded, matrix)


class ReferenceDriver:
    """NumPy on the host."""

    backend = "reference"
    index = 0
    shares_host_memory = True
    survives_fork = True
    matmul = staticmethod(np.matmul)

    @staticmethod
    def matmul_tf32(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Multiply float32 matrices that are rounded to TF32, as tensor cores do: 10 bits after the point."""
        found: np.ndarray = np.matmul(_as_tf32(one), _as_tf32(other))
        return found

    @cached_property
    def capabilities(self) -> Capabilities:
        """The capabilities of NumPy on this machine."""
        return Capabilities(
            kind="reference",
            name=f"NumPy on {platform.machine()}",
            vendor="NumPy",
            driver=f"NumPy {np.__version__}",
            compute_units=1,
            group_limit=1,
            local_memory=0,
            asked_local_memory=0,
            unit_local_memory=None,
            memory=0,
            largest_allocation=0,
            subgroup_size=0,
            subgroup_sizes=(),
            shuffles=False,
            fp64=True,
            fp16=True,
            int64_atomics=False,
            tries_progress=lambda: Progress(False, "NumPy runs no groups"),
        )

    def build(self, variant: Variant, spec: KernelSpec) -> Kernel:
        """Bind a Python function to the spec that a compiler would get."""
        if isinstance(variant.source, Path):
            raise BuildError(f"{variant.entry} on reference: a Python function; got {variant.source}")
        return ReferenceKernel(variant.source, spec)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """Allocate a host array."""
        return np.empty(shape, dtype)

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """Allocate a host array of zeros."""
        return np.zeros(shape, dtype)

    def copy(self, array: np.ndarray, host: np.ndarray) -> np.ndarray:
        """Copy a host array."""
        return array.copy()

    def cut(self, array: np.ndarray, start: int, shape: tuple[int, ...]) -> np.ndarray:
        """Return a view."""
        return cut_array(array, start, shape)

    def scratch(self, nbytes: int) -> np.ndarray:
        """Allocate bytes."""
        return np.empty(nbytes, np.uint8)

    def form(self, array: np.ndarray) -> Form:
        """Say where a host array's elements lie."""
        return Form(array.dtype, array.shape, array.strides)

    def address(self, array: np.ndarray) -> tuple[int, int]:
        """Return the address in the host's memory."""
        return 0, array.__array_interface__["data"][0]

    def share(self, array: np.ndarray) -> View:
        """Use the array where it lies."""
        return View(array, self.form(array))

    def in_this_thread(self, run: Callable[[Sequence[Any]], Any], nbytes: int) -> Callable[[Sequence[Any]], Any]:
        """Return the function itself: NumPy works in the calling thread."""
        return run

    def asarray(self, array: np.ndarray) -> np.ndarray:
        """Return the array itself: kernels never write to their inputs."""
        return array

    memory = to_host = asarray

    @property
    def room(self) -> int:
        """As much as the host has: kernels work on host arrays in place."""
        return sys.maxsize

    def scalar(self, dtype: np.dtype[Any]) -> tuple[np.ndarray, Callable[[], Any]]:
        """Return a host array, and a function that reads it."""
        return (array := np.empty((), dtype)), array.item

    def report(self) -> HostReport:
        """Return a report on the host."""
        return HostReport()

    @property
    def order(self) -> int:
        """Work is done at once."""
        return 0

    def counters(self, count: int) -> np.ndarray:
        """Return zeros."""
        return np.zeros(count, np.uint32)

    def tile_statuses(self, entries: int) -> np.ndarray:
        """Return zeros."""
        return np.zeros(entries, np.uint64)

    def synchronize(self) -> None:
        """Return at once: everything is done when its call returns."""

    wait = synchronize


DRIVER = ReferenceDriver()
