"""The contract between gpuprims and a vendor's library.

A backend is one object (:class:`Backend`) that lists its kernels and finds its drivers; a :class:`Driver` is one device
with its memory, compiler and queue. Everything else uses only these.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.core.layout import Form, View
from gpuprims.core.variant import Variant
from gpuprims.errors import ArrayError

# Starts a kernel on the memories of its inputs and outputs, in order: vendor's arrays or memories of share(). Returns
# before the kernel is done.
Launch = Callable[[Sequence[Any]], None]


class Kernel(Protocol):
    """A compiled kernel of one device."""

    def prepare(self, groups: int, layout: np.ndarray, *numbers: int, local: int = 0) -> Launch:
        """Fix everything about a launch but the memory: groups, ``layout_t``, the trailing numbers.

        ``local`` is the bytes of local memory a group, beside those that the kernel declares.
        """


class Report(Protocol):
    """A number that a kernel writes and the host reads, while later kernels run."""

    @property
    def memory(self) -> Any:
        """An array of one int64, for launches."""

    def mark(self) -> None:
        """Mark the end of the launches that write the number; not needed if :meth:`read` follows at once."""

    def leave(self) -> None:
        """Mark it in less time, if nobody reads the number soon: :meth:`read` may then wait for later work too."""

    def read(self) -> int:
        """Wait for the work before the mark, or for all, and return the number. The memory may serve another call."""

    def peek(self) -> int | None:
        """Return the number as :meth:`read` does; None, without a wait, if the work before the mark is not done."""


class HostReport:
    """A report where launches are done when they return."""

    def __init__(self) -> None:
        self.memory = np.zeros(1, np.int64)

    def mark(self) -> None:
        """Do nothing: the number is there."""

    leave = mark

    def read(self) -> int:
        """Return the number."""
        return int(self.memory[0])

    peek = read


class WithConstants(NamedTuple):
    """A kernel with constants, which its launches pass after the layout."""

    kernel: Kernel
    constants: np.ndarray

    def prepare(self, groups: int, layout: np.ndarray, *numbers: int, local: int = 0) -> Launch:
        """Fix a launch."""
        return self.kernel.prepare(groups, np.concatenate([layout, self.constants]), *numbers, local=local)


class Driver(Protocol):
    """One device of one backend.

    It may also have ``stream_memory``, a :class:`~gpuprims.core.stream_memory.StreamMemory`, from which folds then take
    memory that stays, and ``runner(device, launch, form, turned=...)``, which returns what launches on arrays and a new
    one of a form and returns this one, in less time of the host than :meth:`empty` and a launch by themselves.
    ``runner_in_place(device, launch, form, slow, turned=..., nbytes=..., beside=())`` does so for short calls in the
    host's memory, or returns ``slow``, which runs any such call; the kernel takes the arrays ``beside`` last.

    A driver that shares the host's memory may have ``wakes_threads``: True if launches of short calls wake threads of
    its runtime, False if the calling thread runs their kernels. NumPy then computes calls that take it less time than
    such a launch, if that gives the same bits.

    A driver whose compiler serves several threads at the same time may have ``alongside(function)``, which returns the
    function for another thread, where it finds the caller's device and stream.

    A driver whose launches graphs can capture has ``is_capturing()`` and ``stream_memory``, and passes what it
    allocates to :func:`gpuprims.core.capture.keep`. During a capture, transfers and reports raise
    :class:`~gpuprims.errors.CaptureError`.

    A driver whose vendor has a library of matrix products may have ``matmul(one, other)``, which multiplies two
    matrices of one dtype and returns a new one; it is None where the library is missing. ``matmul_tf32`` does so for
    float32 matrices, which it may round to TF32.

    A driver whose devices reach each other's memory may have ``from_peer(array)``, which returns a copy of an array on
    another of its backend's devices, ordered with the work of both. If ``reaches(drivers)`` is True, kernels of each of
    these devices read and write what ``view_of_peer(array)`` returns, the memory of another one. ``meet(drivers)`` lets
    later work of each wait for the work so far of all, ``follow(drivers)`` that of this one for that of others, and
    ``lead(drivers)`` that of others for that of this one. Within ``current()`` calls on a device are the fastest.

    A driver whose device tells when kernels run may have ``clock()``, which returns a new
    :class:`~gpuprims.core.clock.Clock`, for profiles.

    A driver whose transfers run beside kernels and beside each other may have ``begin_asarray(array)``, which starts
    :meth:`asarray`; the function that it returns waits until the host array has been read, and returns the copy, which
    later work finds complete. ``begin_to_host(array, host, new=...)`` starts to copy a C-contiguous array, as the work
    so far leaves it, to a host array; the function that it returns waits for that. With ``new``, the host array may be
    in memory that nothing has written to, and its contents do not matter. ``begin_few(array)`` starts :meth:`to_host`
    of an array of a few bytes; the function that it returns waits, and returns the host array.
    """

    @property
    def backend(self) -> str:
        """Name of the backend."""

    @property
    def index(self) -> int:
        """Position among the backend's devices."""

    @property
    def capabilities(self) -> Capabilities:
        """Properties of the device, by which variants are chosen."""

    def build(self, variant: Variant, spec: KernelSpec) -> Kernel:
        """Compile a variant; raises :class:`~gpuprims.errors.BuildError` with the compiler's log."""

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Allocate an array of the vendor's own class, C-contiguous and aligned to 16 bytes, contents undefined.

        Raises :class:`~gpuprims.errors.DeviceMemoryError` where there is no room.
        """

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Allocate as :meth:`empty`, and fill with zeros."""

    def copy(self, array: Any, host: np.ndarray) -> Any:
        """Return a copy of a device array, from there or from ``host``, which holds the same values."""

    def cut(self, array: Any, start: int, shape: tuple[int, ...]) -> Any:
        """Return a view of consecutive elements of a C-contiguous array of :meth:`empty`."""

    def scratch(self, nbytes: int) -> Any:
        """Allocate memory for a kernel's partial values, aligned as :meth:`empty`, contents undefined."""

    def form(self, array: Any) -> Form:
        """Return where the elements of a vendor's array lie."""

    def address(self, array: Any) -> tuple[int, int]:
        """Return the memory object (0 if all share an address space), and where an array's first element begins."""

    @property
    def shares_host_memory(self) -> bool:
        """True if kernels can work on host arrays in place."""

    def share(self, array: np.ndarray) -> View:
        """Return a view of a host array for kernels, without a copy; the caller keeps the array alive."""

    def memory(self, array: np.ndarray) -> Any:
        """Return the memory of a C-contiguous host array for kernels, as :meth:`share` does."""

    def wait(self) -> None:
        """Wait for the kernels launched so far, where they work in the host's memory."""

    def in_this_thread(self, run: Callable[[Sequence[Any]], Any], nbytes: int) -> Callable[[Sequence[Any]], Any]:
        """Return a function for calls of up to ``nbytes`` bytes in the host's memory, too few to wake threads for.

        It may be ``run`` itself, which launches kernels and waits for them.
        """

    def asarray(self, array: np.ndarray) -> Any:
        """Copy a host array into an array of the vendor's own class."""

    def to_host(self, array: Any) -> np.ndarray:
        """Wait for the work that fills a vendor's array, and return it as a host array."""

    @property
    def room(self) -> int:
        """Bytes of arrays that the device has room for, as far as its driver tells."""

    def scalar(self, dtype: np.dtype[Any]) -> tuple[Any, Callable[[], Any]]:
        """Return an array of shape () that a kernel can write, and a function that waits and returns its Python number.

        If the device can write to the host's memory, the array lies there.
        """

    def report(self) -> Report:
        """Return a report for one call."""

    @property
    def order(self) -> int:
        """Number of the current queue or stream, which runs work in order."""

    def counters(self, count: int) -> Any:
        """Return at least ``count`` 32-bit zeros. Kernels leave them zero, for the next launch in order."""

    def tile_statuses(self, entries: int) -> Any:
        """Return at least ``entries`` 64-bit tile statuses, zero at first, for launches in order.

        The lower halves may hold anything; the upper ones, tags, grow by at most 2 a launch and stay below 2^31.
        """

    def synchronize(self) -> None:
        """Wait for everything started on the device."""


class OwnMemory:
    """Methods of drivers whose kernels do not work in the host's memory: each refuses."""

    shares_host_memory = False

    def share(self, array: np.ndarray) -> View:
        """Refuse: a device of its own memory gets a copy."""
        raise TypeError(f"{type(self).__name__}: a copy of a host array, by asarray; got a request to share one")

    memory = share

    def wait(self) -> None:
        """Refuse: there is no kernel to wait for."""
        raise TypeError(f"{type(self).__name__}: no kernel works in the host's memory; got a request to wait for one")

    def in_this_thread(self, run: Callable[[Sequence[Any]], Any], nbytes: int) -> Callable[[Sequence[Any]], Any]:
        """Refuse: there is no such call."""
        raise TypeError(f"{type(self).__name__}: no call works in the host's memory; got {run} to make one shorter")


class Backend(Protocol):
    """A vendor's library as gpuprims sees it; importing it must not import the library.

    By default, a subclass has no arrays, DLPack support or kernels of its own.
    """

    @property
    def name(self) -> str:
        """Name of the backend, the first part of a device spec."""

    @property
    def array_library(self) -> str | None:
        """Name of the package whose arrays lie on its devices; None if it has no array class of its own."""
        return None

    @property
    def dlpack_device(self) -> int | None:
        """DLPack's device type of its memory (dlpack.h); None if it takes no DLPack arrays."""
        return None

    def from_dlpack(self, array: Any) -> Any:
        """Return an array of its own class over the memory of a DLPack producer; refuse by default."""
        raise ArrayError(f"{self.name}: an array of its own or of the host; got {type(array).__name__} by DLPack")

    def over(self, like: Any) -> Callable[[int, Any], Any]:
        """Return what makes arrays, of its own class and like another, at an address, which an owner keeps alive."""
        raise ArrayError(f"{self.name}: an array of the host; got {type(like).__name__}")

    def stream_of(self, array: Any) -> Callable[[], int]:
        """Return what tells the handle of the current stream of the device that an array lies on."""
        raise ArrayError(f"{self.name}: an array of the host; got {type(array).__name__}")

    def viewed(self, integers: Any, dtype: np.dtype[Any]) -> Any:
        """Return an array of its own class, of integers, as one of a dtype of ml_dtypes that they hold."""
        return integers.view(dtype)

    @property
    def variants(self) -> Sequence[Variant]:
        """The variants that it brings."""
        return ()

    def drivers(self) -> Sequence[Driver]:
        """List its devices; raises :class:`~gpuprims.errors.BackendUnavailableError` if there are none."""

    def driver_of(self, array: Any) -> Driver | None:
        """Return the driver of the device that an array lies on; None for other objects."""
        return None

    @property
    def facts_of(self) -> Callable[[Any], Hashable] | None:
        """A function of an array of its own class, which tells all that a launch plan depends on.

        That is its dtype, shape, strides, alignment to 16 bytes and device. None if warm calls are to read it all.
        """
        return None
