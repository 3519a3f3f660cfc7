"""Search for variants and geometries that are faster on a device than the default, the variant that runs by rank."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np

from gpuprims.core.device import Device, pick_device
from gpuprims.core.registry import REGISTRY
from gpuprims.core.tuned_choices import Entry, Named, Place, keep, read_entries, tuning_path, write_entries
from gpuprims.core.tuning_case import TuningCase
from gpuprims.core.variant import Variant
from gpuprims.errors import ArgumentError, GpuprimsError, quoted
from gpuprims.expressions import computable
from gpuprims.tuning.cases import PRIMITIVES, case_of
from gpuprims.tuning.timing import Bench, Pace, Stopwatch, Timer

DTYPES = ("float32", "int32")
# Two measurements of the same kernel may differ by this part. A choice must gain more.
NOISE = 0.03
# Rounds in the search, and to confirm a candidate; each times the default and the candidate in turn.
_ROUNDS, _SURE_ROUNDS = 5, 31
# The search tries other geometries of a variant, or more rounds, up to these multiples of the best time so far.
_CLOSE, _HOPELESS = 1.5, 3.0
# Parts of the time to leave for other variants than the default, and to confirm the best candidates.
_FOR_RIVALS, _FOR_FINALISTS = 0.5, 0.25
_FINALISTS = 3  # candidates to confirm before the default stays


@dataclass
class Found:
    """The result for one primitive and dtype.

    ``chosen`` is None if the default stays. ``default`` is None if the search did not run, for the reason in ``note``.
    ``tried`` counts candidates. ``dropped`` lists those that failed or gave wrong results, with the reasons.
    """

    primitive: str
    dtype: str
    default: Named | None = None
    chosen: Named | None = None
    default_seconds: float = 0.0
    seconds: float = 0.0
    tried: int = 0
    dropped: list[tuple[Named, str]] = field(default_factory=list)
    note: str = ""

    @property
    def gain(self) -> float:
        """How many times as fast the choice is."""
        return self.default_seconds / self.seconds if self.chosen else 1.0


def _countdown(clock: Callable[[], float], seconds: float) -> Callable[[], float]:
    """Return a function that returns the part of the time that is left, from 1 down."""
    end = clock() + seconds
    return lambda: (end - clock()) / seconds


class _Search:
    """The search for one primitive and dtype: geometries of the default first, then other variants and theirs."""

    def __init__(
        self, bench: Bench, default: Variant, rivals: Sequence[Variant], found: Found, left: Callable[[], float]
    ) -> None:
        self._bench, self._default, self._rivals, self._found, self._left = bench, default, rivals, found, left
        self._paces: dict[Variant, Pace | None] = {default: Pace(*[1.0] * 5)}

    def run(self, say: Callable[[str], None]) -> tuple[Variant, Pace] | None:
        """Return the best candidate that is confirmed to be faster than the default."""
        if wrong := self._bench.wrong(self._default):
            raise GpuprimsError(f"tune: a default that is right; got {self._default.entry}, which {wrong}")
        self._found.default_seconds = self._bench.compare(self._default, self._default, 1).default
        if self._default.deterministic:
            self._climb(self._default, say, until=_FOR_RIVALS)
        for variant in self._rivals:
            self._try(variant, say)
        close = _CLOSE * self._ratio(self._best()[0])
        for variant in sorted(self._rivals, key=self._ratio):
            if self._ratio(variant) <= close:
                self._climb(variant, say)
        self._widen(say)
        for candidate in self._best()[:_FINALISTS]:
            if self._ratio(candidate) >= 1 - NOISE or self._left() <= 0:
                return None
            if (pace := self._confirmed(candidate)) is not None:
                return candidate, pace
        return None

    def _climb(self, registered: Variant, say: Callable[[str], None], until: float = _FOR_FINALISTS) -> None:
        """Go to the best neighbour of the geometry, and on from there, until no neighbour is better."""
        at = registered
        while registered.tunable is not None and self._left() > until:
            beside = [registered.with_geometry(one) for one in registered.tunable.beside(at.geometry)]
            for variant in beside:
                self._try(variant, say)
            best = min((at, *beside), key=self._ratio)
            if best is at:
                return
            at = best

    def _widen(self, say: Callable[[str], None]) -> None:
        """Try all other geometries of the best variant, the nearest first, because climbing finds local optima."""
        best = self._best()[0]
        registered = next(variant for variant in (self._default, *self._rivals) if variant.name == best.name)
        if registered.tunable is not None and registered.deterministic:
            for geometry in sorted(registered.tunable.geometries, key=best.geometry.distance):
                self._try(registered.with_geometry(geometry), say)

    def _try(self, variant: Variant, say: Callable[[str], None]) -> None:
        """Check a candidate, and time it if it is right. An error only drops the candidate."""
        if variant in self._paces or self._left() <= _FOR_FINALISTS:
            return
        self._paces[variant] = None
        named = Named(variant.name, variant.geometry)
        if self._bench.refuses(variant):
            return
        self._found.tried += 1
        say(f"{self._found.primitive} {self._found.dtype}: {named}")
        try:
            if wrong := self._bench.wrong(variant):
                self._found.dropped.append((named, wrong))
                return
            pace = self._bench.compare(self._default, variant, 1)
            if pace.ratio <= _HOPELESS:
                pace = self._bench.compare(self._default, variant, _ROUNDS)
            self._paces[variant], self._found.default_seconds = pace, pace.default
        except Exception as error:  # drivers raise classes of their own, also at a launch
            self._found.dropped.append((named, " ".join(f"{type(error).__name__}: {error}".split())[:200]))
            self._bench.compare(self._default, self._default, 1)  # raises if the device is lost

    def _ratio(self, variant: Variant) -> float:
        pace = self._paces.get(variant)
        return pace.ratio if pace else float("inf")

    def _best(self) -> list[Variant]:
        return sorted((variant for variant, pace in self._paces.items() if pace), key=self._ratio)

    def _confirmed(self, candidate: Variant) -> Pace | None:
        """Time a candidate for longer; None unless it is faster, and not slower for the smallest calls it is for."""
        pace = self._bench.compare(self._default, candidate, _SURE_ROUNDS)
        if not pace.faster_by(NOISE):
            return None
        small = self._bench.compare(self._default, candidate, _SURE_ROUNDS, self._bench.least)
        return None if small.slower_by(NOISE) else pace


def tune(
    device: str | Device | None = None,
    primitives: Sequence[str] = PRIMITIVES,
    dtypes: Sequence[str] = DTYPES,
    *,
    seconds: float = 60.0,
    size: int | None = None,
    timer: Timer | None = None,
    clock: Callable[[], float] = time.monotonic,
    say: Callable[[str], None] = lambda text: None,
) -> Generator[Found, None, None]:
    """Search for faster variants on a device, and use them for all later calls.

    Parameters
    ----------
    device : str or Device, optional
        By default the device that host arrays go to.
    primitives, dtypes : sequence of str
        Each primitive is tuned for elements of each dtype.
    seconds : float, default 60
        Duration of the whole search, shared equally. A running measurement ends first, so it may take a little longer.
    size : int, optional
        Number of elements to measure with: by default 2^26, on CPUs 2^24, but at most a sixteenth of the memory.
    timer : callable, optional
        Measures a call; by default a :class:`Stopwatch`.
    clock : callable
        Returns the time in seconds.
    say : callable
        Called with the name of each candidate.

    Yields
    ------
    Found
        For each primitive and dtype, after it is written to the file.

    Raises
    ------
    ArgumentError
        A primitive is unknown, a number is not positive, or ``GPUPRIMS_TUNING`` is ``off``.
    TuningError
        The file of choices cannot be read or written.

    Notes
    -----
    A candidate is checked against NumPy at two sizes and then timed in turn with the default. It is kept if it is
    faster by more than 3 % in the search and again in 31 rounds, and not slower by more for a sixteenth of the
    elements. Variants whose float sums differ from run to run are not candidates.

    Examples
    --------
    >>> from gpuprims.tuning.search import tune
    >>> list(tune("reference", dtypes=["float16"], size=-1))
    Traceback (most recent call last):
    ...
    gpuprims.errors.ArgumentError: tune: a size of one element or more; got -1
    """
    for primitive in primitives:
        if primitive not in PRIMITIVES:
            raise ArgumentError(f"tune: primitives among {', '.join(PRIMITIVES)}; got {quoted(primitive)}")
    if seconds <= 0:
        raise ArgumentError(f"tune: a positive number of seconds; got {seconds}")
    if size is not None and size < 1:
        raise ArgumentError(f"tune: a size of one element or more; got {size}")
    path = tuning_path()
    if path is None:
        raise ArgumentError("tune: a file to keep choices in; got GPUPRIMS_TUNING=off")
    write_entries(path, read_entries(path))  # fails now rather than after the search
    found = pick_device(None, device)
    place = Place.of(found.backend, found.capabilities)
    end = clock() + seconds
    pairs = list(itertools.product(primitives, (computable(dtype, "tune") for dtype in dtypes)))
    for done, (primitive, dtype) in enumerate(pairs):
        if clock() >= end:  # some drivers take seconds to build the default
            yield Found(primitive, dtype.name, note="there was no time left")
            continue
        left = _countdown(clock, max(end - clock(), 1e-9) / (len(pairs) - done))
        result, entry = _tuned(case_of(primitive), found, dtype, size, timer or Stopwatch(found), left, say)
        if entry is not None:
            keep(path, place, entry)
        yield result


def _size(device: Device, dtype: np.dtype[Any]) -> int:
    """Return how many elements to measure with: more than caches hold, and fewer than the memory holds."""
    able = device.capabilities
    size = 2**26 if able.kind == "gpu" else 2**24
    room = able.memory // (16 * dtype.itemsize) if able.memory else size
    return min(size, 1 << max(room.bit_length() - 1, 0))


def _tuned(
    case: TuningCase,
    device: Device,
    dtype: np.dtype[Any],
    size: int | None,
    timer: Timer,
    left: Callable[[], float],
    say: Callable[[str], None],
) -> tuple[Found, Entry | None]:
    """Search for one primitive and dtype. The entry chooses the default if that stays."""
    result = Found(case.primitive, dtype.name)
    # Variants of the highest level of determinism are for calls that ask for it.
    known = [one for one in REGISTRY.variants(case.primitive, device.backend) if one.level != "order"]
    if dtype.kind not in "iuf" or (len(known) == 1 and known[0].tunable is None):
        result.note = "is for real numbers" if dtype.kind not in "iuf" else "has one variant, in one geometry"
        return result, None
    bench = Bench(case, device, dtype, size or _size(device, dtype), timer)
    explanation = device.ranked(case.primitive, bench.call)
    default = explanation.ranked
    if default is None:
        result.note = explanation.refusals[0][1] or ""
        return result, None
    result.default = Named(default.name, default.geometry)
    able = [variant for variant, reason in explanation.refusals if reason is None and variant is not default]
    rivals = [variant for variant in able if variant.level == default.level]
    if (best := _Search(bench, default, rivals, result, left).run(say)) is not None:
        variant, pace = best
        result.chosen = Named(variant.name, variant.geometry)
        result.default_seconds, result.seconds = pace.default, pace.candidate
    call, today = bench.call, date.today().isoformat()
    kept = result.default, result.chosen or result.default, result.default_seconds, result.seconds, today
    return result, Entry(case.primitive, dtype.name, call.value_bytes, bench.size, bench.least, *kept, call.measured)
