"""tune: a search, in a given time, for the variants and shapes that are faster on a device than the best rank."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np

from gpuprims.core.device import Device, pick_device
from gpuprims.core.registry import REGISTRY
from gpuprims.core.traits import CallTraits
from gpuprims.core.tuned_choices import Entry, Named, Place, keep, read_entries, subject, tuning_path, write_entries
from gpuprims.core.variant import Variant
from gpuprims.errors import ArgumentError, GpuprimsError, quoted
from gpuprims.expressions import computable
from gpuprims.tuning.cases import TRIALS, Trial
from gpuprims.tuning.timing import Bench, Pace, Stopwatch, Timer

PRIMITIVES = tuple(TRIALS)
DTYPES = ("float32", "int32")
# What two measurements of the same kernel may differ by, side by side: a choice has to gain more.
NOISE = 0.03
# Rounds, of the best rank and the candidate in turn, in the search and to make sure.
_ROUNDS, _SURE_ROUNDS = 5, 31
# Times that a variant may take of the best rank's for its other shapes to be tried, and for a second look at it.
_CLOSE, _HOPELESS = 1.5, 3.0
# Of the time for a primitive and dtype, what is left for variants beside the best rank, and to make sure of the best.
_FOR_RIVALS, _FOR_FINALISTS = 0.5, 0.25
# Of the best, as many are looked at again before the best rank is kept.
_FINALISTS = 3


@dataclass
class Found:
    """What came of one primitive and dtype.

    ``chosen`` is None where the best rank stays, and ``default`` where none is able, for the reason in ``note``.
    ``tried`` counts candidates, and ``dropped`` has those that failed or computed something else, each with the reason.
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


class _Share:
    """A part of the time there is."""

    def __init__(self, clock: Callable[[], float], seconds: float) -> None:
        self._clock, self._seconds, self._end = clock, seconds, clock() + seconds

    @property
    def left(self) -> float:
        """How much is left of it, from 1 down."""
        return (self._end - self._clock()) / self._seconds


class _Search:
    """The search for one primitive and dtype: the shapes of the best rank first, then other variants, and theirs."""

    def __init__(self, bench: Bench, default: Variant, rivals: Sequence[Variant], found: Found, share: _Share) -> None:
        self._bench, self._default, self._rivals, self._found, self._share = bench, default, rivals, found, share
        self._paces: dict[Variant, Pace | None] = {default: Pace(*[1.0] * 5)}

    def run(self, say: Callable[[str], None]) -> tuple[Variant, Pace] | None:
        """Return the best candidate that is surely faster than the best rank."""
        if wrong := self._bench.wrong(self._default):
            raise GpuprimsError(f"tune: a best rank that is right; got {self._default.entry}, which {wrong}")
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
            if self._ratio(candidate) >= 1 - NOISE or self._share.left <= 0:
                return None
            if (pace := self._sure(candidate)) is not None:
                return candidate, pace
        return None

    def _climb(self, registered: Variant, say: Callable[[str], None], until: float = _FOR_FINALISTS) -> None:
        """Go to the best of the shapes one step away, from there again, until none is better."""
        at = registered
        while registered.tunable is not None and self._share.left > until:
            beside = [registered.with_geometry(one) for one in registered.tunable.beside(at.geometry)]
            for variant in beside:
                self._try(variant, say)
            best = min((at, *beside), key=self._ratio)
            if best is at:
                return
            at = best

    def _widen(self, say: Callable[[str], None]) -> None:
        """Try all other shapes of the best variant, the nearest first: steps can end where none is better by chance."""
        best = self._best()[0]
        registered = next(variant for variant in (self._default, *self._rivals) if variant.name == best.name)
        if registered.tunable is not None and registered.deterministic:
            for geometry in sorted(registered.tunable.geometries, key=best.geometry.distance):
                self._try(registered.with_geometry(geometry), say)

    def _try(self, variant: Variant, say: Callable[[str], None]) -> None:
        """Check a candidate, and time it if it is right; nothing that it raises is more than its own failure."""
        if variant in self._paces or self._share.left <= _FOR_FINALISTS:
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
        except Exception as error:  # drivers raise classes of their own, at a launch too
            self._found.dropped.append((named, " ".join(f"{type(error).__name__}: {error}".split())[:200]))
            self._bench.compare(self._default, self._default, 1)  # which raises where the device is lost

    def _ratio(self, variant: Variant) -> float:
        pace = self._paces.get(variant)
        return pace.ratio if pace else float("inf")

    def _best(self) -> list[Variant]:
        return sorted((variant for variant, pace in self._paces.items() if pace), key=self._ratio)

    def _sure(self, candidate: Variant) -> Pace | None:
        """Time a candidate for longer, and for the smallest calls it is for; None unless it wins and loses none."""
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
) -> Iterator[Found]:
    """Search for what is faster on a device than the best rank, and keep it for all calls from then on.

    Parameters
    ----------
    device : str or Device, optional
        By default the one that host arrays go to.
    primitives, dtypes : sequence of str
        Each of these primitives is tuned for elements of each of these dtypes.
    seconds : float, default 60
        For the whole search, each primitive and dtype an equal share of what is left. A measurement that has begun is
        not broken off, so that it takes a little longer.
    size : int, optional
        Elements to measure with: by default 2^26, on CPUs 2^24, or as many as a sixteenth of the memory holds.
    timer : callable, optional
        Measures a call; by default a :class:`Stopwatch`.
    clock : callable
        Tells the seconds that have passed.
    say : callable
        Told what is being tried.

    Yields
    ------
    Found
        For each primitive and dtype, once it is in the file: who breaks off has what was found before.

    Raises
    ------
    ArgumentError
        For unknown primitives and numbers that are not positive, and where ``GPUPRIMS_TUNING`` is ``off``.
    TuningError
        Where the file of choices cannot be read or written.

    Notes
    -----
    A candidate is checked against NumPy at two sizes and then timed in turn with the best rank. It is kept if it is
    faster by more than 3 % in the search and again in 31 rounds, and not slower by more for a sixteenth of the
    elements. Variants whose float sums differ from run to run are no candidates.

    Examples
    --------
    >>> from gpuprims.tuning.search import tune
    >>> list(tune("reference", dtypes=["float16"], size=-1))
    Traceback (most recent call last):
    ...
    gpuprims.errors.ArgumentError: tune: a size of one element or more; got -1
    """
    for primitive in primitives:
        if primitive not in TRIALS:
            raise ArgumentError(f"tune: primitives among {', '.join(TRIALS)}; got {quoted(primitive)}")
    if seconds <= 0:
        raise ArgumentError(f"tune: more seconds than none; got {seconds}")
    if size is not None and size < 1:
        raise ArgumentError(f"tune: a size of one element or more; got {size}")
    path = tuning_path()
    if path is None:
        raise ArgumentError("tune: a file to keep choices in; got GPUPRIMS_TUNING=off")
    write_entries(path, read_entries(path))  # before the work, which would be lost
    found = pick_device(None, device)
    place = Place.of(found.backend, found.capabilities)
    end = clock() + seconds
    cases = list(itertools.product(primitives, (computable(dtype, "tune") for dtype in dtypes)))
    for done, (primitive, dtype) in enumerate(cases):
        if clock() >= end:  # building the best rank alone takes seconds on some drivers
            yield Found(primitive, dtype.name, note="there was no time left")
            continue
        share = _Share(clock, max(end - clock(), 1e-9) / (len(cases) - done))
        many = size or _size(found, dtype)
        result, entry, call = _tuned(TRIALS[primitive], found, dtype, many, timer or Stopwatch(found), share, say)
        if result.default is not None and call is not None:
            keep(path, place, entry, subject(primitive, dtype.name, result.default.name, call))
        yield result


def _size(device: Device, dtype: np.dtype[Any]) -> int:
    """Return how many elements to measure with: more than caches hold, and fewer than there is memory for."""
    able = device.capabilities
    size = 2**26 if able.kind == "gpu" else 2**24
    room = able.memory // (16 * dtype.itemsize) if able.memory else size
    return min(size, 1 << max(room.bit_length() - 1, 0))


def _tuned(
    trial: Trial,
    device: Device,
    dtype: np.dtype[Any],
    size: int,
    timer: Timer,
    share: _Share,
    say: Callable[[str], None],
) -> tuple[Found, Entry | None, CallTraits | None]:
    """Search for one primitive and dtype; return the choice to keep, and the call that it is for."""
    result = Found(trial.primitive, dtype.name)
    known = REGISTRY.variants(trial.primitive, device.backend)
    if dtype.kind not in "iuf" or (len(known) == 1 and known[0].tunable is None):
        result.note = "is for real numbers" if dtype.kind not in "iuf" else "has one variant, in one shape"
        return result, None, None
    bench = Bench(trial, device, dtype, size, timer)
    explanation = device.ranked(trial.primitive, bench.call)
    default = explanation.ranked
    if default is None:
        result.note = explanation.refusals[0][1] or ""
        return result, None, None
    result.default = Named(default.name, default.geometry)
    able = [variant for variant, reason in explanation.refusals if reason is None and variant is not default]
    rivals = [variant for variant in able if variant.deterministic and not getattr(variant, "accumulates", False)]
    best = _Search(bench, default, rivals, result, share).run(say)
    if best is None:
        return result, None, bench.call
    variant, pace = best
    result.chosen = Named(variant.name, variant.geometry)
    result.default_seconds, result.seconds = pace.default, pace.candidate
    entry = Entry(
        trial.primitive,
        dtype.name,
        bench.call.value_bytes,
        bench.call.measured,
        size,
        bench.least,
        result.default,
        result.chosen,
        pace.default,
        pace.candidate,
        date.today().isoformat(),
    )
    return result, entry, bench.call
