"""What a backend provides: the contract between gpuprims and a vendor's library.

A backend is one object (:class:`Backend`) that lists its kernels and finds its drivers; a :class:`Driver` is one device
with its memory, compiler and queue. Everything else in the library is written against these few verbs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.core.layout import Form, View

if TYPE_CHECKING:
    from gpuprims.core.registry import Variant


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
    """What a device can do, as far as kernels are chosen by it.

    Parameters
    ----------
    kind : str
        ``"gpu"``, ``"cpu"``, ``"accelerator"`` or ``"reference"``.
    name, vendor, driver : str
        As the vendor's library reports them.
    compute_units : int
        Multiprocessors of a GPU, cores of a CPU.
    group_limit : int
        Most work-items a group.
    local_memory : int
        Bytes of local memory a group.
    asked_local_memory : int
        Bytes of local memory a group, where the launch asks for as much as there is.
    unit_local_memory : int or None
        Bytes of local memory that the groups on a compute unit share, where the vendor tells.
    memory : int
        Bytes of device memory.
    largest_allocation : int
        Bytes of the largest array, on some OpenCL devices a quarter of the memory. 0 on the reference backend.
    subgroup_size : int
        Work-items that run in step (warp, sub-group); 0 where the driver tells none.
    subgroup_sizes : tuple of int
        Sub-group sizes that a kernel can ask for, ascending; empty if it cannot ask. Kernels are compiled for
        ``subgroup_size``.
    shuffles : bool
        Whether kernels can read the registers of others in their sub-group.
    fp64, fp16, int64_atomics : bool
        Double and half precision arithmetic, atomics on 64-bit integers.
    tries_progress : callable
        Returns a :class:`Progress`, or a bool: True if as many groups as compute units run at the same time and see
        each other's writes. It is called once, at the first question. The answer must be the same in every process.
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

    @cached_property
    def progress(self) -> Progress:
        """The answer of ``tries_progress``, with its reason."""
        found = self.tries_progress()
        return found if isinstance(found, Progress) else Progress(found, "its backend says so")

    @property
    def forward_progress(self) -> bool:
        """True if as many groups as compute units run at the same time and see each other's writes."""
        return self.progress.together

    @property
    def warp(self) -> int:
        """Work-items whose registers shuffles reach; 0 where there are no shuffles."""
        return self.subgroup_size if self.shuffles else 0


# Starts a kernel on the memories of its inputs and outputs, in order: arrays of the vendor's own class, or what share()
# gave; returns before it is done.
Launch = Callable[[Sequence[Any]], None]


class Kernel(Protocol):
    """A compiled kernel of one device."""

    def prepare(self, groups: int, layout: np.ndarray, *numbers: int, local: int = 0) -> Launch:
        """Fix everything about a launch but the memory: how many groups, ``layout_t``, the trailing numbers.

        ``local`` is how many bytes of local memory a group is given, beside what the kernel has of its own.
        """


class WithConstants:
    """A kernel with constants, which its launches pass after the layout."""

    def __init__(self, kernel: Kernel, constants: np.ndarray) -> None:
        self._kernel = kernel
        self._constants = constants

    def prepare(self, groups: int, layout: np.ndarray, *numbers: int, local: int = 0) -> Launch:
        """Fix a launch."""
        return self._kernel.prepare(groups, np.concatenate([layout, self._constants]), *numbers, local=local)


class Driver(Protocol):
    """One device of one backend."""

    @property
    def backend(self) -> str:
        """Name of the backend."""

    @property
    def index(self) -> int:
        """Position among the backend's devices."""

    @property
    def capabilities(self) -> Capabilities:
        """What the device can do."""

    def build(self, variant: Variant, spec: KernelSpec) -> Kernel:
        """Compile a variant; raises :class:`~gpuprims.errors.BuildError` with the compiler's log."""

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Allocate an array of the vendor's own class, C-contiguous and aligned to 16 bytes, contents undefined.

        Raises :class:`~gpuprims.errors.DeviceMemoryError` where there is no room.
        """

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Allocate as :meth:`empty`, and fill with zeros."""

    def copy(self, array: Any, host: np.ndarray) -> Any:
        """Return a copy of an array of the device, whose elements the host has too, by whichever way is faster."""

    def cut(self, array: Any, start: int, shape: tuple[int, ...]) -> Any:
        """Return an array of that shape over elements of a C-contiguous one that :meth:`empty` gave, from one on."""

    def scratch(self, nbytes: int) -> Any:
        """Allocate memory for a kernel's partial values, aligned as :meth:`empty`, contents undefined."""

    def form(self, array: Any) -> Form:
        """Say where the elements of an array of the vendor's own class lie."""

    def span(self, array: Any) -> tuple[int, int, int]:
        """Return where its bytes lie: the memory object (0 where addresses are of one space), first, past the last."""

    @property
    def shares_host_memory(self) -> bool:
        """Whether kernels can work on host arrays where they lie."""

    def share(self, array: np.ndarray) -> View:
        """Make a host array an operand where it lies; the caller keeps it alive. For devices that share host memory."""

    def asarray(self, array: np.ndarray) -> Any:
        """Copy a host array into an array of the vendor's own class."""

    def to_host(self, array: Any) -> np.ndarray:
        """Wait for the work that fills a vendor's array, and return it as a host array."""

    @property
    def room(self) -> int:
        """How many bytes of arrays the device can take, as far as its driver tells."""

    def scalar(self, dtype: np.dtype[Any]) -> tuple[Any, Callable[[], Any]]:
        """Return an array of shape () that a kernel can write, and a function that waits and returns its Python number.

        If the device can write to the host's memory, the array lies there.
        """

    @property
    def order(self) -> int:
        """Number of the queue or stream that work goes to now, which runs it in order."""

    def counters(self, count: int) -> Any:
        """Return at least ``count`` 32-bit zeros. Kernels leave them zero, for the next launch in order."""

    def tile_statuses(self, entries: int) -> Any:
        """Return at least so many 64-bit tile statuses, zero at first, for the groups of launches in order.

        A launch may leave anything in the lower halves; the upper ones, tags, grow by at most two with each launch, and
        stay below 2^31.
        """

    def synchronize(self) -> None:
        """Wait for everything started on the device."""


class Backend(Protocol):
    """A vendor's library as gpuprims sees it; importing it must not import the library."""

    @property
    def name(self) -> str:
        """Name of the backend, the first part of a device spec."""

    @property
    def array_library(self) -> str | None:
        """Name of the package whose arrays lie on its devices; None where it has no array class of its own."""

    @property
    def dlpack_device(self) -> int | None:
        """DLPack's type of its memory (dlpack.h); None where it takes no arrays that way."""

    def from_dlpack(self, array: Any) -> Any:
        """Return an array of its own class over the memory of a DLPack producer."""

    @property
    def variants(self) -> Sequence[Variant]:
        """Every kernel it ships."""

    def drivers(self) -> Sequence[Driver]:
        """List its devices; raises :class:`~gpuprims.errors.BackendUnavailableError` when there are none."""

    def driver_of(self, array: Any) -> Driver | None:
        """Return the driver of the device a vendor's array lies on, or None for anything else."""
