"""Properties of a device, by which variants are chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple


class Progress(NamedTuple):
    """An answer to "do groups of one launch run at the same time?", with its reason."""

    together: bool
    reason: str

    def __bool__(self) -> bool:
        return self.together

    def __str__(self) -> str:
        return f"{'yes' if self.together else 'no'}: {self.reason}"


@dataclass(frozen=True)
class Capabilities:
    """Device properties that decide which kernel runs.

    Parameters
    ----------
    kind : str
        ``"gpu"``, ``"cpu"``, ``"accelerator"`` or ``"reference"``.
    name, vendor, driver : str
        As the vendor's library reports them.
    compute_units : int
        Multiprocessors of a GPU, cores of a CPU.
    group_limit : int
        The largest number of work-items in a group.
    local_memory : int
        Bytes of local memory per group.
    asked_local_memory : int
        Bytes of local memory per group, if the launch asks for the most.
    unit_local_memory : int or None
        Bytes of local memory that the groups on a compute unit share; None if the vendor does not tell.
    memory : int
        Bytes of device memory.
    largest_allocation : int
        Bytes of the largest array, on some OpenCL devices a quarter of the memory. 0 on the reference backend.
    subgroup_size : int
        Work-items that run in step (warp, sub-group); 0 if the driver does not tell.
    subgroup_sizes : tuple of int
        Sub-group sizes that a kernel can ask for, ascending; empty if it cannot ask. Kernels are compiled for
        ``subgroup_size``.
    shuffles : bool
        True if kernels can read the registers of others in their sub-group.
    fp64, fp16, int64_atomics : bool
        Double and half precision arithmetic, atomics on 64-bit integers.
    tries_progress : callable
        Returns a :class:`Progress`, or a bool: True if as many groups as compute units run at the same time and see
        each other's writes. It is called at most once. The answer must be the same in every process.
    bulk_copies : bool, default False
        True if local memory has copies of whole tiles that run by themselves, and barriers that count their bytes.
    exact_float32 : bool, default True
        True if quotients and square roots of float32 are rounded once, and denormals kept, as IEEE 754 says.
    vector_lanes : int, default 0
        Numbers of 32 bits in a vector register of a CPU; 0 if the driver does not tell.
    vector_widths : tuple of (str, int), default ()
        For each dtype, how many numbers the driver prefers in a vector, as float4 has four; empty if it does not tell.
    """

    kind: str
    name: str
    vendor: str
    driver: str
    compute_units: int
    group_limit: int
    local_memory: int
    asked_local_memory: int
    unit_local_memory: int | None
    memory: int
    largest_allocation: int
    subgroup_size: int
    subgroup_sizes: tuple[int, ...]
    shuffles: bool
    fp64: bool
    fp16: bool
    int64_atomics: bool
    tries_progress: Callable[[], bool | Progress] = field(compare=False)
    bulk_copies: bool = False
    exact_float32: bool = True
    vector_lanes: int = 0
    vector_widths: tuple[tuple[str, int], ...] = ()

    @cached_property
    def progress(self) -> Progress:
        """The answer of ``tries_progress``, with its reason."""
        found = self.tries_progress()
        return found if isinstance(found, Progress) else Progress(found, "its backend says so")

    @property
    def forward_progress(self) -> bool:
        """True if one group for each compute unit can run at the same time, and they see each other's writes."""
        return self.progress.together

    @property
    def is_pocl(self) -> bool:
        """True for devices of PoCL."""
        return "portable computing" in self.vendor.lower()

    @property
    def calls_by_element(self) -> bool:
        """True if functions such as ``log`` are called for one element at a time, as PoCL's are on CPUs."""
        return self.is_pocl and self.kind == "cpu"

    @property
    def warp(self) -> int:
        """Work-items whose registers shuffles reach; 0 where there are no shuffles."""
        return self.subgroup_size if self.shuffles else 0


def remedy(able: Capabilities) -> str:
    """Return advice on a device that is listed but does not work."""
    if able.is_pocl:
        return "to fix it: pip uninstall -y pocl-binary-distribution && pip install 'gpuprims[cpu]'"
    return "to fix it: update its driver"
