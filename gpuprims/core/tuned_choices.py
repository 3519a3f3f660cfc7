"""The choices of ``gpuprims tune``: faster variants, kept in a file and used for similar calls.

The file is ``tuning.json`` in the user's cache folder. The environment variable ``GPUPRIMS_TUNING`` names another file,
or is ``off``. Without a readable file or a home folder, calls go by rank, with one warning; the commands raise.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_type_hints

from platformdirs import user_cache_path

from gpuprims import __version__
from gpuprims.core.capabilities import Capabilities
from gpuprims.core.geometry import Geometry
from gpuprims.core.notices import warn_once
from gpuprims.core.private_folder import read_settings, write_atomically
from gpuprims.core.registry import REGISTRY
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Choice, Tuned, Variant
from gpuprims.core.variant_checks import fits
from gpuprims.errors import TuningError, quoted

_ENVIRONMENT = "GPUPRIMS_TUNING"
_FORMAT = 1  # files of other formats are not read
_Record = TypeVar("_Record")


class Place(NamedTuple):
    """The device, driver and version that a choice was measured with, and is used with."""

    backend: str
    device: str
    driver: str
    version: str = __version__

    @classmethod
    def of(cls, backend: str, capabilities: Capabilities) -> Place:
        """Return the place of a device with this version of the library."""
        return cls(backend, capabilities.name, capabilities.driver)


class Named(NamedTuple):
    """A variant by name, in a geometry."""

    name: str
    geometry: Geometry

    def __str__(self) -> str:
        return f"{self.name} {self.geometry}"


@dataclass(frozen=True)
class Entry:
    """One choice, and the call that it was measured on.

    The call had ``size`` elements of ``dtype``; the choice is used for ``least`` or more. ``default`` is the variant
    that runs by rank, ``chosen`` the faster one; the seconds are the times of the call. ``measured`` has further facts
    about it; see :attr:`gpuprims.core.traits.CallTraits.measured`.
    """

    primitive: str
    dtype: str
    value_bytes: int
    size: int
    least: int
    default: Named
    chosen: Named
    default_seconds: float
    seconds: float
    date: str
    measured: Mapping[str, Any]

    @property
    def subject(self) -> tuple[Any, ...]:
        """The calls that the choice is for; a file has one choice for each subject."""
        return self.primitive, self.dtype, self.default.name, self.value_bytes, self.measured

    @property
    def gain(self) -> float:
        """The time of the default divided by that of the choice."""
        return self.default_seconds / self.seconds

    def covers(self, call: CallTraits) -> bool:
        """Return True for a call like the measured one."""
        return (
            (call.dtypes[0].name, call.value_bytes) == (self.dtype, self.value_bytes)
            and call.commutative
            and call.size * call.outputs >= self.least
            and call.resembles(self.measured)
        )

    def variant(self, backend: str) -> Variant | str:
        """Return the chosen variant in its geometry, or the reason why it no longer holds."""
        known = {variant.name: variant for variant in REGISTRY.variants(self.primitive, backend)}
        default, chosen = known.get(self.default.name), known.get(self.chosen.name)
        if default is None or chosen is None:
            return f"{self.primitive}/{(self.chosen if default else self.default).name} is no longer there"
        if default.geometry != self.default.geometry:
            return f"{self.default} is {default.geometry} now"
        geometry = self.chosen.geometry
        if geometry != chosen.geometry and (chosen.tunable is None or geometry not in chosen.tunable.geometries):
            return f"{self.primitive}/{chosen.name} is no longer tuned to {geometry}"
        return chosen.with_geometry(geometry)

    def __str__(self) -> str:
        return (
            f"tuned {self.date}: {self.chosen.geometry} takes {self.seconds * 1e3:.4g} ms for {self.size} elements of"
            f" {self.dtype}, where {self.default} takes {self.default_seconds * 1e3:.4g}"
        )


Entries = dict[Place, tuple[Entry, ...]]


def tuning_path() -> Path | None:
    """Return the file of choices, or None if ``GPUPRIMS_TUNING`` is ``off``; raise without a home folder."""
    if named := os.environ.get(_ENVIRONMENT):
        return None if named == "off" else Path(named)
    try:
        folder = user_cache_path("gpuprims")
        if not folder.is_absolute():  # some versions of platformdirs return this where others raise
            raise RuntimeError(f"no absolute path: {folder}")
        return folder / "tuning.json"
    except RuntimeError as error:
        rule = "tuning: a home folder for the file of choices"
        raise TuningError(f"{rule}; got {quoted(error, 200)} (set {_ENVIRONMENT} to a file, or to off)") from error


def read_entries(path: Path) -> Entries:
    """Return all choices of a file; none if the file does not exist. Raise TuningError if it cannot be read."""
    try:
        kept = json.loads(read_settings(path, named=bool(os.environ.get(_ENVIRONMENT))))
        if kept["format"] != _FORMAT:
            raise ValueError(f"format {kept['format']!r}")
        return {_checked(Place(**one["place"])): tuple(map(_entry, one["entries"])) for one in kept["devices"]}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise TuningError(
            f"{path}: choices of `gpuprims tune` in format {_FORMAT}; got {quoted(error, 200)} (to begin anew: gpuprims"
            " tune --reset)"
        ) from error


_COMMON = [field.name for field in fields(Entry) if field.name != "measured"]


def _entry(kept: dict[str, Any]) -> Entry:
    common = {name: kept.pop(name) for name in _COMMON}
    common |= {key: _checked(Named(common[key][0], Geometry(*common[key][1]))) for key in ("default", "chosen")}
    measured = {name: _frozen(value) for name, value in kept.items() if value}  # some files also hold 0 and null
    entry = _checked(Entry(**common, measured=measured))
    if min(entry.seconds, entry.default_seconds) <= 0:
        raise ValueError(f"seconds {entry.seconds!r} and {entry.default_seconds!r}")
    return entry


def _checked(record: _Record) -> _Record:
    """Return a record; raise TypeError if a field has another type than annotated or a number needs over 64 bits."""
    for name, hint in get_type_hints(type(record)).items():
        value = getattr(record, name)
        large = isinstance(value, int | float) and not -(2**63) <= value < 2**63  # NaN too
        if large or not fits(value, hint):
            raise TypeError(f"{name} {quoted(value)}")
    return record


def _frozen(value: Any) -> Any:
    """Return an integer, or a list of integers as a tuple."""
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    if not isinstance(value, int) or abs(value) >= 2**63:
        raise TypeError(f"measured {quoted(value)}")
    return value


def write_entries(path: Path, entries: Mapping[Place, Iterable[Entry]]) -> None:
    """Write the file, and use its choices from now on."""
    devices = []
    for place, kept in entries.items():
        flat = [{name: getattr(entry, name) for name in _COMMON} | {**entry.measured} for entry in kept]
        devices += [{"place": place._asdict(), "entries": flat}] if flat else []
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps({"format": _FORMAT, "devices": devices}, indent=1).encode())
    except OSError as error:
        raise TuningError(f"{path}: a file to keep choices in; got {error} (GPUPRIMS_TUNING names another)") from error
    forget()


def keep(path: Path, place: Place, new: Entry) -> None:
    """Replace the choice for the same calls; one that chooses the default only removes it."""
    entries = read_entries(path)
    others = tuple(entry for entry in entries.get(place, ()) if entry.subject != new.subject)
    write_entries(path, entries | {place: others if new.chosen == new.default else (*others, new)})


def reset(path: Path, backend: str | None = None, device: str | None = None) -> None:
    """Delete all choices, or those of a device for all drivers and versions of the library."""
    if backend is None:
        path.unlink(missing_ok=True)
        forget()
        return
    entries = read_entries(path)
    write_entries(path, {place: kept for place, kept in entries.items() if place[:2] != (backend, device)})


def forget() -> None:
    """Read the file again, for plans that are made from now on."""
    _used.cache_clear()
    REGISTRY.outdate()


def tuned_on(backend: str, capabilities: Capabilities) -> Tuned | None:
    """Return a function that looks up the choice for a call on a device; None if nothing was tuned."""
    if not (entries := _used(os.environ.get(_ENVIRONMENT), Place.of(backend, capabilities))):
        return None

    def choose(ranked: Variant, call: CallTraits) -> Choice | None:
        for entry in entries:
            if (entry.primitive, entry.default.name) == (ranked.primitive, ranked.name) and entry.covers(call):
                variant = entry.variant(backend)
                if isinstance(variant, Variant) and variant.refuses(capabilities, call) is None:
                    return Choice(variant, str(entry))
        return None

    return choose


@lru_cache(maxsize=64)
def _used(named: str | None, place: Place) -> tuple[Entry, ...]:
    """Return the choices for a place; warn if the file cannot be read. ``named`` is the environment variable."""
    try:
        path = tuning_path()
        return () if path is None else read_entries(path).get(place, ())
    except TuningError as error:
        warn_once(f"gpuprims chooses kernels by rank, not by what was tuned: {error}")
        return ()
