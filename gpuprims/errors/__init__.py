"""Every exception that gpuprims raises on purpose, and the class of its warnings.

Each message reads ``label: rule; got ...``: the call, the values that it takes, and the value that it got.
:func:`quoted` quotes the caller's values, so that messages stay short and a failing ``repr`` does no harm.
"""

from __future__ import annotations

from typing import Any, Never

from gpuprims.errors.quoting import quoted as quoted
from gpuprims.errors.quoting import said as said
from gpuprims.errors.quoting import shortened as shortened
from gpuprims.errors.similar import absent as absent
from gpuprims.errors.similar import did_you_mean as did_you_mean


class GpuprimsError(Exception):
    """Base of every exception that gpuprims raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy by the message, because constructors of some take other arguments."""
        state = dict(vars(self)) | ({"name": self.name} if isinstance(self, ImportError) else {})
        return _rebuilt, (type(self), self.args), state


def _rebuilt(kind: type[GpuprimsError], args: tuple[Any, ...]) -> GpuprimsError:
    """Return an exception of a kind, without a call of its constructor."""
    return kind.__new__(kind, *args)


class ArgumentError(GpuprimsError, ValueError):
    """An argument has a value that the call cannot take."""


class MissingExtraError(GpuprimsError, ImportError):
    """A part of gpuprims needs packages that an extra installs, as ``gpuprims.models`` needs scikit-learn."""

    def __init__(self, label: str, packages: str, error: ImportError, extra: str) -> None:
        remedy = f"pip install 'gpuprims[{extra}]'"
        ImportError.__init__(
            self, f"{label}: {packages} installed; got {quoted(str(error))}: {remedy}", name=error.name
        )


class UnknownOperatorError(ArgumentError):
    """``op`` names no operator, as ``op="median"``."""


class UnknownKeywordError(ArgumentError, TypeError):
    """A call has no keyword of this name, as ``axes=1``."""


class LawError(ArgumentError):
    """An operator breaks a law that ``Op(..., check=True)`` checks: associativity, identity or commutativity."""


class AxisError(ArgumentError, IndexError):
    """``axis`` is outside the array, or named twice, as ``axis=3`` of a 2-d array."""


class IndicesError(ArgumentError, IndexError):
    """Indices are outside the array, as in ``take(x, [7])`` of five elements."""


class ShapeError(ArgumentError):
    """The shapes of arrays do not fit, as shapes that do not broadcast together."""


class EmptyReductionError(ArgumentError):
    """The reduction has no elements, and its operator has no identity, as the minimum of an empty array."""


class DtypeError(GpuprimsError, TypeError):
    """The call cannot compute with a dtype, as object, string or datetime, or a cast would lose values."""


class NumberOverflowError(DtypeError, OverflowError):
    """A dtype cannot hold a Python number, as 300 beside an array of uint8; NumPy raises OverflowError too."""


class UnpicklableError(GpuprimsError, TypeError):
    """An object belongs to the process that made it, as a plan and its compiled kernel do."""


class ArrayError(GpuprimsError, TypeError):
    """An argument is not an array, or is an array of a library that cannot be read or written."""


class LazyArrayError(ArrayError):
    """An array computes later, as Dask's do, and the call with these arguments has no form for its chunks."""

    def __init__(self, label: str, library: str) -> None:
        hint = "compute it first, x.compute(), or see docs/howto/dask.md"
        super().__init__(f"{label}: arrays in memory; got an array of {library} ({hint})")
        self.library = library


class ExpressionError(GpuprimsError, ValueError):
    """A function or a string cannot become an expression."""


class DeviceError(GpuprimsError, RuntimeError):
    """Base of the errors about devices."""


class CaptureError(DeviceError):
    """A call cannot be part of a CUDA graph: it waits for the device, or copies to or from the host."""


class UnknownDeviceError(DeviceError, ValueError):
    """A device spec names no device of this machine."""


class NoDeviceError(DeviceError):
    """There is no device to compute on."""


class DeviceMismatchError(DeviceError, ValueError):
    """Arrays lie on two devices, or on another device than the one asked for."""


class DeviceMemoryError(DeviceError, MemoryError):
    """A device has no room for an array.

    Parameters
    ----------
    device : str
        Name of the device.
    wanted : int
        Bytes asked for.
    free : int or None
        Bytes that were free, where the driver tells.
    largest : int, optional
        Bytes of the largest array that the device allows, if ``wanted`` is more.
    """

    def __init__(self, device: str, wanted: int, free: int | None, largest: int | None = None) -> None:
        left = "an unknown number" if free is None else f"{free:,}"
        said = f"{wanted:,} bytes; got {left} free (reduce in parts, or free arrays)"
        if largest is not None:
            said = f"arrays of {largest:,} bytes at most, the device's limit; got one of {wanted:,} (call on its parts)"
        super().__init__(f"memory of {device}: {said}")
        self.wanted = wanted
        self.free = free


class ShardError(DeviceError):
    """A call of a :class:`gpuprims.DeviceGroup` failed on one device; the others have ended and can be used.

    Parameters
    ----------
    label : str
        The call.
    shard, count : int
        Number of the device in its group, and of all devices.
    device : str
        The device.
    reason : str
        What went wrong there; ``__cause__`` is the error itself.
    """

    def __init__(self, label: str, shard: int, count: int, device: str, reason: str) -> None:
        super().__init__(f"{label}: every shard computed; got an error on shard {shard} of {count}, {device}: {reason}")
        self.shard, self.device = shard, device


class StreamError(GpuprimsError, RuntimeError):
    """Number ``chunk`` of the file ``source`` cannot be read; ``checkpoint`` is a stream's result of those before."""

    def __init__(self, chunk: int, rows: str, source: str, reason: str) -> None:
        super().__init__(f"stream: chunk {chunk}{rows} of {source} read; got {reason}")
        self.chunk, self.source = chunk, source
        self.checkpoint: Any = None


class BackendUnavailableError(GpuprimsError, RuntimeError):
    """A backend cannot be used on this machine.

    Parameters
    ----------
    backend : str
        Name of the backend.
    reason : str
        What is missing, in a sentence.
    remedy : str
        The command or step that solves the problem.
    """

    def __init__(self, backend: str, reason: str, remedy: str) -> None:
        super().__init__(f"{backend}: {reason}; to fix it: {remedy}")
        self.backend = backend
        self.reason = reason
        self.remedy = remedy


class RegistryError(GpuprimsError, ValueError):
    """A kernel, backend or primitive cannot be registered, as its name or rank is taken."""


class UnknownVariantError(RegistryError):
    """``variant`` names none of the primitive's variants on this backend."""


class NoVariantError(RegistryError):
    """Every variant refuses the call; the message holds the reasons."""


class TuningError(GpuprimsError, ValueError):
    """A file of tuned choices cannot be read; the message names it, and the command that deletes it."""


class ModelFileError(GpuprimsError, ValueError):
    """A file holds no model, or a damaged or hostile one. A file that does not exist is a FileNotFoundError instead."""


class BuildError(GpuprimsError, RuntimeError):
    """The vendor's compiler refuses a kernel; the message holds its log."""


class GpuprimsWarning(RuntimeWarning):
    """A cache, a settings file or a plug-in fails. Results are not affected."""


def axis_rule(ndim: int) -> str:
    """Return the axes of an array of ``ndim`` dimensions, for messages."""
    if not ndim:
        return "none, as a 0-dimensional array has no axis"
    return f"from {-ndim} to {ndim - 1} for {ndim} dimension(s)"


def too_large(number: object, error: Exception) -> str:
    """Return why a dtype cannot hold a number, and what to write for an integer of 64 bits."""
    wide = type(number) is int and -(2**63) <= number < 2**63
    return said(error) + (f"; int64({number}) gives a wider result" if wide else "")


def __getattr__(name: str) -> Never:
    kinds = [one for one, value in globals().items() if isinstance(value, type) and issubclass(value, Exception)]
    raise absent(__name__, name, kinds)
