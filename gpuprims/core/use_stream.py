"""use_stream: order calls with the work of a stream, whichever library it belongs to."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from gpuprims.core.device import Device
from gpuprims.errors import ArgumentError, quoted

# The protocol's version: a handle is an address of CUDA's driver API.
_VERSION = 0


class Stream:
    """A stream of a device, for every library that takes objects with ``__cuda_stream__``."""

    __slots__ = ("handle",)

    def __init__(self, handle: int) -> None:
        self.handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return the protocol's version and the handle of the stream."""
        return _VERSION, self.handle

    def __repr__(self) -> str:
        return f"<gpuprims stream {self.handle:#x}>"


def current_stream(device: str | Device | None = "cuda") -> Stream:
    """Return the stream that calls on a device go to now.

    Parameters
    ----------
    device : str or Device, default "cuda"
        A device with streams.

    Returns
    -------
    Stream
        An object with ``__cuda_stream__``, as cuda.core, numba and torch take them.

    Raises
    ------
    ArgumentError
        The device has no streams.
    """
    driver = _with_streams("current_stream", device)
    return Stream(driver.stream_handle())


class use_stream:  # noqa: N801 - called like a function, as use_device is
    """Let calls inside a ``with`` block go to a stream.

    Parameters
    ----------
    stream : object with ``__cuda_stream__``
        A stream of cuda.core, numba, torch or CuPy, or of any library with this protocol.
    device : str or Device, default "cuda"
        The device that the stream belongs to.

    Raises
    ------
    ArgumentError
        The object has no ``__cuda_stream__``, or one of another version; or the device has no streams.

    Notes
    -----
    The stream is CuPy's current stream inside the block, in the thread that runs it. Without a block, calls go to the
    current stream of CuPy.

    Examples
    --------
    >>> import gpuprims
    >>> with gpuprims.use_stream(7):
    ...     pass
    Traceback (most recent call last):
    gpuprims.errors.ArgumentError: use_stream: an object with __cuda_stream__, such as cupy.cuda.Stream(); got 7
    """

    def __init__(self, stream: Any, device: str | Device | None = "cuda") -> None:
        self._stream = Stream(_handle(stream))
        self._driver = _with_streams("use_stream", device)
        self._entered: list[AbstractContextManager[Any]] = []

    def __enter__(self) -> Stream:
        entered = self._driver.in_stream(self._stream)
        entered.__enter__()
        self._entered.append(entered)
        return self._stream

    def __exit__(self, *exception: Any) -> None:
        self._entered.pop().__exit__(*exception)


def _handle(stream: Any) -> int:
    """Return the handle of a stream by the protocol: a method, or an attribute of older libraries."""
    told = getattr(stream, "__cuda_stream__", None)
    if told is None:
        rule = "an object with __cuda_stream__, such as cupy.cuda.Stream()"
        raise ArgumentError(f"use_stream: {rule}; got {quoted(stream)}")
    told = told() if callable(told) else told
    match told:
        case (0, int(handle)):
            return handle
    raise ArgumentError(f"use_stream: __cuda_stream__ of version {_VERSION} with an int handle; got {quoted(told)}")


def _with_streams(label: str, spec: str | Device | None) -> Any:
    device = Device(spec)
    if not hasattr(device.driver, "in_stream"):
        raise ArgumentError(f"{label}: a CUDA device; got {device!r}, which has no streams")
    return device.driver
