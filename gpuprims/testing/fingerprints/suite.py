"""Run the calls of a fingerprint, hash their results, and compare these with those of this version."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from gpuprims.core.determinism import use_determinism
from gpuprims.core.device import Device
from gpuprims.testing.fingerprints import fits, folds, maps, neighbours, orders, scans
from gpuprims.testing.fingerprints.data import Data

# Grows by one with each change of bits.
VERSION = 2
_PARTS = maps.calls, folds.calls, scans.calls, neighbours.calls, orders.calls, fits.calls
_EXPECTED = Path(__file__).with_name("expected.txt")


@dataclass(frozen=True)
class Fingerprint:
    """The hash of each call by name, and one for all.

    ``small`` is True for the few calls of simulated devices.
    """

    calls: Mapping[str, str]
    small: bool

    @property
    def value(self) -> str:
        """A SHA-256 of all calls, by name."""
        return _hashed(f"{name} {value}\n".encode() for name, value in self.calls.items())

    def differing(self, other: Fingerprint) -> list[str]:
        """Return the names of calls with another hash, or none, in another fingerprint."""
        names = dict.fromkeys((*self.calls, *other.calls))
        return [name for name in names if self.calls.get(name) != other.calls.get(name)]


def fingerprint(
    device: str | Device | None = None, *, small: bool = False, seen: Callable[[str, str], Any] | None = None
) -> Fingerprint:
    """Run all calls on a device at the level "device", and return their hashes.

    Parameters
    ----------
    device : str or Device, optional
        By default the device that host arrays go to.
    small : bool, default False
        Run few calls of few elements, as for a simulated device.
    seen : callable, optional
        Called with the name and the hash of each call when it has run.

    Examples
    --------
    >>> from gpuprims.testing.fingerprints import expected, fingerprint
    >>> fingerprint("reference", small=True) == expected(small=True)
    True
    """
    found: dict[str, str] = {}
    with use_determinism("device"):
        for name, results in _results(Data(Device(device), small=small)):
            if name in found:
                raise ValueError(f"fingerprint: a name for each call; got {name!r} twice")
            found[name] = _hashed(_told(one) for one in results)
            if seen is not None:
                seen(name, found[name])
    return Fingerprint(found, small)


def _results(data: Data) -> Iterator[tuple[str, Iterable[Any]]]:
    for part in _PARTS:
        for name, result in part(data):
            yield name, result if isinstance(result, tuple | list) else (result,)


def _told(result: Any) -> bytes:
    """Return the dtype, the shape and the elements of a result as bytes."""
    array = np.asarray(result)
    array = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return f"{array.dtype.str} {array.shape}\n".encode() + array.tobytes()


def _hashed(parts: Iterable[bytes]) -> str:
    hashed = sha256()
    for part in parts:
        hashed.update(part)
    return hashed.hexdigest()


@cache
def expected(*, small: bool = False) -> Fingerprint:
    """Return the fingerprint of this version."""
    form, calls = "small" if small else "whole", {}
    for line in _EXPECTED.read_text().splitlines():
        own, value, name = line.split(" ", 2)
        if own == form:
            calls[name] = value
    return Fingerprint(calls, small)


def written(*fingerprints: Fingerprint) -> str:
    """Return the lines of ``expected.txt``."""
    return "".join(
        f"{'small' if one.small else 'whole'} {value} {name}\n"
        for one in fingerprints
        for name, value in one.calls.items()
    )
