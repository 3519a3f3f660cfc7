"""Every exception that gpuprims raises on purpose.

::

    GpuprimsError
    |-- ArgumentError (ValueError)         an argument has a value the call cannot take
    |   |-- UnknownOperatorError           op="median"
    |   |-- LawError                       Op(..., check=True) of a function that is not associative
    |   |-- AxisError (IndexError)         axis=3 of a 2-d array
    |   |-- ShapeError                     arrays that do not broadcast together
    |   '-- EmptyReductionError            min of nothing
    |-- DtypeError (TypeError)             object, string, datetime, or a cast that loses
    |-- ArrayError (TypeError)             not an array, or an array of an unknown library
    |-- ExpressionError (ValueError)       a string outside the whitelist, a function that cannot be traced
    |-- DeviceError (RuntimeError)
    |   |-- UnknownDeviceError (ValueError)    a spec that names no device
    |   |-- NoDeviceError                      nothing to compute on
    |   |-- DeviceMismatchError (ValueError)   arrays on two devices, or not on the one asked for
    |   '-- DeviceMemoryError (MemoryError)    not enough memory on the device; with ``wanted`` and ``free`` bytes
    |-- BackendUnavailableError (RuntimeError) with ``reason`` and ``remedy``
    |-- RegistryError (ValueError)
    |   |-- UnknownVariantError            variant="fastest"
    |   '-- NoVariantError                 every variant refused, with each reason
    |-- TuningError (ValueError)           a file of tuned choices that cannot be read
    |-- ModelFileError (ValueError)        a file that holds no model, or a damaged or hostile one
    '-- BuildError (RuntimeError)          the vendor's compiler said no; carries its log

:class:`GpuprimsWarning` (a RuntimeWarning) is the class of warnings about caches, settings and plug-ins.

Each message reads ``label: rule; got ...``: the call, what it takes, and what it got. :func:`quoted` quotes the
caller's values, so that messages stay short and a failing ``repr`` does no harm.
"""

from __future__ import annotations

import reprlib
from typing import Any


class GpuprimsError(Exception):
    """Base of every exception that gpuprims raises on purpose."""


class ArgumentError(GpuprimsError, ValueError):
    """An argument has a value that the call cannot take."""


class UnknownOperatorError(ArgumentError):
    """``op`` names no operator."""


class LawError(ArgumentError):
    """An operator that is not associative, whose identity changes a value, or that does not commute as it claims."""


class AxisError(ArgumentError, IndexError):
    """``axis`` is outside the array, or named twice."""


class ShapeError(ArgumentError):
    """Shapes that do not broadcast together."""


class EmptyReductionError(ArgumentError):
    """A reduction of no elements whose operator has no value for nothing."""


class DtypeError(GpuprimsError, TypeError):
    """A dtype that the call cannot compute with."""


class ArrayError(GpuprimsError, TypeError):
    """Something that is not an array, or an array of a library that cannot be read or written."""


class ExpressionError(GpuprimsError, ValueError):
    """A function or string that cannot become an expression."""


class DeviceError(GpuprimsError, RuntimeError):
    """Base of the errors about devices."""


class UnknownDeviceError(DeviceError, ValueError):
    """A device spec that names no device here."""


class NoDeviceError(DeviceError):
    """No device to compute on."""


class DeviceMismatchError(DeviceError, ValueError):
    """Arrays on two devices, or on another device than the one asked for."""


class DeviceMemoryError(DeviceError, MemoryError):
    """A device without room for an array.

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


class BackendUnavailableError(GpuprimsError, RuntimeError):
    """A backend that cannot be used on this machine.

    Parameters
    ----------
    backend : str
        Name of the backend.
    reason : str
        What is missing, in a sentence.
    remedy : str
        The one command or step that mends it.
    """

    def __init__(self, backend: str, reason: str, remedy: str) -> None:
        super().__init__(f"{backend}: {reason}; to mend it: {remedy}")
        self.backend = backend
        self.reason = reason
        self.remedy = remedy


class RegistryError(GpuprimsError, ValueError):
    """A registration that cannot stand: a name or a rank claimed twice."""


class UnknownVariantError(RegistryError):
    """``variant`` names none of a primitive's variants on this backend."""


class NoVariantError(RegistryError):
    """No variant can run the call; the message holds every refusal."""


class TuningError(GpuprimsError, ValueError):
    """A file of tuned choices that cannot be read; the message names it, and how to begin anew."""


class ModelFileError(GpuprimsError, ValueError):
    """A file that holds no model, or a damaged or hostile one; the message names the path and the reason.

    A file that does not exist is a FileNotFoundError instead.
    """


class BuildError(GpuprimsError, RuntimeError):
    """The vendor's compiler refused a kernel; the message holds its log."""


class GpuprimsWarning(RuntimeWarning):
    """Something beside the computation failed: a cache, a settings file, a plug-in. Results are not affected."""


def shortened(text: str, most: int = 80) -> str:
    """Cut a text for a message; one that is cut ends in three dots.

    Examples
    --------
    >>> shortened("x" * 100)[-6:]
    'xxx...'
    """
    return text if len(text) <= most else text[: most - 3] + "..."


def said(error: BaseException) -> str:
    """Return an exception's message in 80 characters, or its class if ``str`` fails."""
    try:
        return shortened(str(error)) or type(error).__name__
    except Exception:  # whatever a caller's ``__str__`` raises
        return type(error).__name__


def quoted(value: Any, most: int = 80) -> str:
    """Quote a value in a message: its ``repr`` on one line, or the class of the error if that fails.

    Parameters
    ----------
    value : object
        Any object. Containers are cut as well.
    most : int, default 80
        Characters; a longer text ends in three dots.

    Examples
    --------
    >>> quoted("cuda:0")
    "'cuda:0'"
    >>> quoted("9" * 5000, most=10)
    "'99999..."
    """
    try:
        text = _brief(most).repr(value).replace("\n", " ")
    except Exception as error:  # whatever the caller's class raises; the message is about the value, not about its repr
        text = f"<{type(value).__name__}, whose repr raises {type(error).__name__}>"
    return shortened(text, most)


def _brief(most: int) -> reprlib.Repr:
    """Return a ``repr`` that stops at deep nesting and at the length of the message."""
    brief = _Brief()
    brief.maxlevel = 8
    brief.maxtuple = brief.maxlist = brief.maxarray = brief.maxdict = brief.maxset = brief.maxfrozenset = most
    brief.maxdeque = most
    brief.maxstring = brief.maxlong = brief.maxother = most + 2  # so that the dots show a cut at the end
    return brief


class _Brief(reprlib.Repr):
    """A ``Repr`` that cuts at the end, not in the middle, and does not catch errors."""

    def repr_str(self, x: str, level: int) -> str:
        return repr(x[: self.maxstring])

    def repr_bytes(self, x: bytes, level: int) -> str:
        return repr(x[: self.maxstring])

    def repr_int(self, x: int, level: int) -> str:
        if x.bit_length() > 4 * self.maxlong:
            return f"<int of {x.bit_length()} bits>"
        return repr(x)

    def repr_instance(self, x: Any, level: int) -> str:
        return repr(x)
