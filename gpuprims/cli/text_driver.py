"""A device that keeps the texts of kernels, for ``gpuprims kernels show``."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.backends import PRELUDES
from gpuprims.backends.reference.device import ReferenceDriver
from gpuprims.core.capabilities import Capabilities
from gpuprims.core.codegen import kernel_source
from gpuprims.core.driver import Launch
from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.core.layout import Form
from gpuprims.core.memory import reach
from gpuprims.core.variant import Variant


class IdleKernel:
    """A kernel that does not run."""

    def prepare(self, groups: int, layout: np.ndarray, *numbers: int, local: int = 0) -> Launch:
        """Return a launch that does nothing."""
        return lambda memories: None


class TextDriver(ReferenceDriver):
    """A device with the capabilities of another, which keeps what it should compile and runs nothing."""

    def __init__(self, backend: str, able: Capabilities) -> None:
        self.backend = backend
        self.capabilities = able
        self.shares_host_memory = able.kind == "cpu"
        self.asked: list[tuple[Variant, KernelSpec]] = []

    @property
    def texts(self) -> list[tuple[Variant, str]]:
        """What the backend's compiler would get, each text with its variant."""
        prelude, warp = PRELUDES[self.backend], self.capabilities.warp
        return [(variant, kernel_source(spec, variant, prelude, warp)) for variant, spec in self.asked]

    def form(self, array: np.ndarray) -> Form:
        """Say where an array's elements lie; memory of a GPU is aligned, so is an array's lowest address."""
        low, _ = reach(array.shape, array.strides, array.itemsize)
        return super().form(array)._replace(alignment=16, phase=-low % 16)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """Return zeros, because no kernel writes results."""
        return np.zeros(shape, dtype)

    def build(self, variant: Variant, spec: KernelSpec) -> Any:
        """Keep what the backend would compile."""
        self.asked.append((variant, spec))
        return IdleKernel()


def usual_device(kind: str, warp: int) -> Capabilities:
    """Return the capabilities of a large GPU with such warps, or of a CPU if the kind is "cpu"."""
    cpu = kind == "cpu"
    bulk_copies = not cpu and warp == 32
    return Capabilities(
        kind="cpu" if cpu else "gpu",
        name="a CPU that is not here" if cpu else f"a GPU that is not here, with warps of {warp} lanes",
        vendor="NVIDIA" if bulk_copies else "",
        driver="",
        compute_units=132,
        group_limit=1024,
        local_memory=48 << 10,
        asked_local_memory=(227 if bulk_copies else 48) << 10,
        unit_local_memory=228 << 10,
        memory=64 << 30,
        largest_allocation=16 << 30,
        subgroup_size=0 if cpu else warp,
        subgroup_sizes=() if cpu else (warp,),
        shuffles=not cpu and warp > 0,
        fp64=True,
        fp16=True,
        int64_atomics=True,
        tries_progress=lambda: True,
        bulk_copies=bulk_copies,
    )
