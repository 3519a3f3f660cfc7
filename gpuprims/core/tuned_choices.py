"""What ``gpuprims tune`` found to be faster on a device than the best rank: kept in a file, and used from then on.

The file is ``tuning.json`` in the user's cache folder; the environment variable ``GPUPRIMS_TUNING`` names another one,
or is ``off``. A choice is for calls like the one that it was measured on: of the same primitive and dtype, for which
the same variant would run, and not much smaller.

If the file cannot be read, or the user has no home folder, calls go by rank, with one warning; the commands raise.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple

from gpuprims import __version__
from gpuprims.core.capabilities import Capabilities
from gpuprims.core.choice import Choice, Tuned
from gpuprims.core.geometry import Geometry
from gpuprims.core.notices import warn_once
from gpuprims.core.registry import REGISTRY
from gpuprims.core.settings import checked_record, path_at_home, read_settings
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.errors import TuningError, quoted

_ENVIRONMENT, _OFF = "GPUPRIMS_TUNING", "off"
# Of the file; another one is not read.
_FORMAT = 1


class Place(NamedTuple):
    """What choices were measured on: all of it has to be the same for them to be used."""

    backend: str
    device: str
    driver: str
    version: str = __version__

    @classmethod
    def of(cls, backend: str, capabilities: Capabilities) -> Place:
        """Return the place that a device is, with this version of the library."""
        return cls(backend, capabilities.name, capabilities.driver)


class Named(NamedTuple):
    """A variant by its name, in a geometry."""

    name: str
    geometry: Geometry

    def __str__(self) -> str:
        return f"{self.name} {self.geometry}"


@dataclass(frozen=True)
class Entry:
    """One choice, and the call that it was measured on.

    Parameters
    ----------
    primitive, dtype : str
        ``dtype`` is that of the elements.
    value_bytes
        As of the call.
    measured : dict
        Facts about the call that its primitive adds; see :attr:`gpuprims.core.traits.CallTraits.measured`.
    size, least : int
        Elements that it was measured with, and how many a call must have.
    default, chosen : Named
        What runs by rank, and what is faster.
    default_seconds, seconds : float
        Of a call, side by side.
    date : str
    """

    primitive: str
    dtype: str
    value_bytes: int
    measured: dict[str, Any]
    size: int
    least: int
    default: Named
    chosen: Named
    default_seconds: float
    seconds: float
    date: str

    @property
    def replaces(self) -> tuple[Any, ...]:
        """What there is one choice for."""
        return subject(self.primitive, self.dtype, self.default.name, self)

    @property
    def gain(self) -> float:
        """How many times as fast it is."""
        return self.default_seconds / self.seconds

    def covers(self, call: CallTraits) -> bool:
        """Whether a call is like the one that it was measured on."""
        return (
            call.dtypes[0].name == self.dtype
            and call.value_bytes == self.value_bytes
            and call.resembles(self.measured)
            and call.commutative
            and call.size * call.outputs >= self.least
        )

    def variant(self, backend: str) -> Variant | str:
        """Return the variant in its shape, or why there is none any more."""
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


def subject(primitive: str, dtype: str, default: str, call: CallTraits | Entry) -> tuple[Any, ...]:
    """Return what there is one choice for: calls like this one, for which that variant runs by rank."""
    return primitive, dtype, default, call.value_bytes, call.measured


Entries = dict[Place, tuple[Entry, ...]]


def tuning_path() -> Path | None:
    """Return the file of choices, or None where ``GPUPRIMS_TUNING`` is ``off``.

    Raises
    ------
    TuningError
        The user has no home folder.
    """
    named = os.environ.get(_ENVIRONMENT)
    if named == _OFF:
        return None
    try:
        return Path(named) if named else path_at_home("tuning.json")
    except OSError as error:
        rule = "tuning: a home folder for the file of choices"
        raise TuningError(f"{rule}; got {quoted(error, 200)} (set {_ENVIRONMENT} to a file, or to off)") from error


def read_entries(path: Path) -> Entries:
    """Return all choices of a file; none where there is no such file.

    Raises
    ------
    TuningError
        Where it is not such a file, or of another format.
    """
    try:
        kept = json.loads(read_settings(path, named=bool(os.environ.get(_ENVIRONMENT))))
        if kept["format"] != _FORMAT:
            raise ValueError(f"format {kept['format']!r}")
        return {
            checked_record(Place(**one["place"])): tuple(_entry(entry) for entry in one["entries"])
            for one in kept["devices"]
        }
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise TuningError(
            f"{path}: choices of `gpuprims tune` in format {_FORMAT}; got {quoted(error, 200)} (to begin anew: gpuprims"
            " tune --reset)"
        ) from error


def _entry(kept: dict[str, Any]) -> Entry:
    kept = dict(kept)
    added = kept.keys() - {one.name for one in fields(Entry)}
    measured = {key: value for key in added if (value := kept.pop(key))}  # 0 and None are as good as absent
    for key, value in measured.items():
        if not all(type(number) in (int, bool) for number in (value if isinstance(value, list) else [value])):
            raise ValueError(f"{key} {quoted(value)}")
    named = {key: Named(kept[key][0], checked_record(Geometry(*kept[key][1]))) for key in ("default", "chosen")}
    entry = checked_record(Entry(**(kept | named | {"measured": measured})))
    if not (0 < entry.seconds < math.inf and 0 < entry.default_seconds < math.inf):
        raise ValueError(f"seconds {entry.seconds!r} and {entry.default_seconds!r}")
    return entry


def write_entries(path: Path, entries: Mapping[Place, Iterable[Entry]]) -> None:
    """Write a file that others see whole or not at all, and let calls of this process see it.

    Raises
    ------
    TuningError
        Where it cannot be written.
    """
    devices = [
        {"place": place._asdict(), "entries": [_kept(entry) for entry in of_place]}
        for place, of_place in entries.items()
        if of_place
    ]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
            json.dump({"format": _FORMAT, "devices": devices}, file, indent=1)
        os.replace(file.name, path)
    except OSError as error:
        raise TuningError(f"{path}: a file to keep choices in; got {error} (GPUPRIMS_TUNING names another)") from error
    forget()


def _kept(entry: Entry) -> dict[str, Any]:
    """Return an entry as the file has it: facts that the primitive adds beside the others."""
    record = asdict(entry)
    measured: dict[str, Any] = record.pop("measured")
    return record | measured


def keep(path: Path, place: Place, found: Entry | None, replaced: tuple[Any, ...]) -> None:
    """Put what was found in the place of what the file has for such calls; None where the best rank is best."""
    entries = read_entries(path)
    others = tuple(entry for entry in entries.get(place, ()) if entry.replaces != replaced)
    write_entries(path, entries | {place: others if found is None else (*others, found)})


def reset(path: Path, backend: str | None = None, device: str | None = None) -> None:
    """Forget all choices, or those of a device, whatever its driver and the library were."""
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
    """Return what is chosen for calls on a device in place of the best rank; None where nothing was tuned.

    A file that cannot be read counts as none, with one warning.
    """
    try:
        path = tuning_path()
    except TuningError as error:
        _warn(error)
        return None
    entries = () if path is None else _used(path, Place.of(backend, capabilities))
    if not entries:
        return None

    def choose(ranked: Variant, call: CallTraits) -> Choice | None:
        for entry in entries:
            if (entry.primitive, entry.default.name) == (ranked.primitive, ranked.name) and entry.covers(call):
                variant = entry.variant(backend)
                if isinstance(variant, Variant) and variant.refuse(capabilities, call) is None:
                    return Choice(variant, str(entry))
        return None

    return choose


@lru_cache(maxsize=64)
def _used(path: Path, place: Place) -> tuple[Entry, ...]:
    try:
        return read_entries(path).get(place, ())
    except TuningError as error:
        _warn(error)
        return ()


def _warn(error: TuningError) -> None:
    warn_once(f"gpuprims chooses kernels by rank, not by what was tuned: {error}")


def state_of(place: Place, entry: Entry, here: Sequence[Place]) -> str:
    """Say whether a choice is used on one of the devices that are here."""
    if place not in here:
        drivers = [other.driver for other in here if other[:2] == place[:2]]
        if not drivers:
            return "not used: no such device here"
        if place.driver not in drivers:
            return f"not used: the driver is {' or '.join(drivers)} now"
        return f"not used: gpuprims is {__version__} now"
    variant = entry.variant(place.backend)
    return f"not used: {variant}" if isinstance(variant, str) else "used"
