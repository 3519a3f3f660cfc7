"""Variants, the ways to run a primitive on a backend, and explanations of the choice for a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.determinism import LEVELS, Level, reaches
from gpuprims.core.geometry import Geometry, Refusal, Tunable, first_refusal
from gpuprims.core.traits import CallTraits
from gpuprims.errors import NoVariantError, RegistryError
from gpuprims.expressions.narrow import register

# Dtypes that are computed in float32.
_IN_FLOAT32 = frozenset({np.dtype(np.float32), np.dtype(np.complex64)})
MOST_GROUPS = 2**30  # a grid's first dimension holds 2^31 - 1 in CUDA; groups take further tiles in a loop


@dataclass(frozen=True)
class Variant:
    """One way to run a primitive on a backend. Primitives add their own fields in subclasses.

    Parameters
    ----------
    primitive, name, backend : str
        The kernel function is ``<primitive>_<name>``, and ``variant="<name>"`` asks for it.
    source : Path or callable
        The kernel file; for the reference backend a Python function.
    rank : int
        The highest able rank wins; unique within primitive and backend.
    geometry : Geometry
        Work-items per group, elements per work-item, and groups per compute unit.
    refuse : callable
        Returns why the variant cannot run a call, in a sentence, or None; takes capabilities and call traits.
    yields : callable, optional
        As ``refuse``, for calls that another variant runs faster. A call that asks by name is run all the same.
    vectors : bool, default False
        True if the kernel reads several elements at once; it is compiled for as many as the call allows.
    by_rows : bool, default False
        True if the kernel finds the position of a row of elements once, by ``ROW``, and takes them by ``MAP_ROW``.
    outputs_per_group : int, default 1
        Outputs that a group computes at a time.
    together : bool, default False
        True if all groups of a launch must run at the same time.
    level : {"none", "run", "device", "order"}, default "run"
        The level of determinism of float results, by operations that are the same on every device; see
        :func:`gpuprims.use_determinism`.
    tunable : Tunable, optional
        Other geometries it may run in; see :mod:`gpuprims.core.tuned_choices`.
    """

    primitive: str
    name: str
    backend: str
    source: Path | Callable[..., None]
    rank: int
    geometry: Geometry
    refuse: Refusal
    yields: Refusal | None = field(default=None, kw_only=True)
    vectors: bool = False
    by_rows: bool = False
    outputs_per_group: int = 1
    together: bool = False
    level: Level = "run"
    tunable: Tunable | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, variant: Variant) -> Self:
        """Return a variant as one of this class; a plain :class:`Variant` gets the defaults of the other fields."""
        if isinstance(variant, cls):
            return variant
        if type(variant) is not Variant:
            raise RegistryError(f"{variant.label}: a {cls.__name__}; got a {type(variant).__name__}")
        return cls(**{one.name: getattr(variant, one.name) for one in fields(Variant)})

    def with_geometry(self, geometry: Geometry) -> Self:
        """Return the variant in a geometry that it may be tuned to; the same object each time."""
        if geometry == self.geometry:
            return self
        if self.tunable is None or geometry not in self.tunable.geometries:
            raise RegistryError(f"{self.label}: a geometry that it may have; got {geometry}")
        return _tuned(self, self.tunable, geometry)  # type: ignore[return-value]  # the cache hides the class

    def resized(self, **numbers: int) -> Self:
        """Return the variant with other numbers of its geometry, as a call needs them."""
        return replace(self, geometry=self.geometry._replace(**numbers))

    @property
    def deterministic(self) -> bool:
        """True if results are the same from run to run."""
        return self.level != "none"

    def level_for(self, call: CallTraits) -> Level:
        """Return the level of determinism that the variant reaches for a call."""
        if not call.portable:
            return "run" if self.deterministic or not call.rounds else "none"
        if not call.rounds:
            return "order" if call.commutative or call.grouped else "device"
        return self.level

    def refuses(self, able: Capabilities, call: CallTraits) -> str | None:
        """Return why the variant cannot run a call, or does not reach the level that it asks for; None if it does."""
        if (reason := self.refuse(able, call)) is not None:
            return reason
        if call.level is None:
            return None
        exact = able.exact_float32 or _IN_FLOAT32.isdisjoint(map(register, call.dtypes))
        if not exact and reaches(call.level, "device"):
            rule = f"needs quotients, roots and denormals of float32 as in IEEE 754 for the level {call.level!r}"
            return f"{rule}; {able.name} has others"
        if reaches(level := self.level_for(call), call.level):
            return None
        why = (
            " here, because functions of this call have other bits on other devices" if self.level == call.level else ""
        )
        ordered = (
            "roundings depend on the order of the elements; " if (level, call.level) == ("device", "order") else ""
        )
        asked = f"the call asks for {call.level!r} ({ordered}determinism={level!r} runs it)"
        return f"reaches the level {level!r} of determinism{why}; {asked}"

    @property
    def block(self) -> int:
        """Work-items a group."""
        return self.geometry.block

    @property
    def items(self) -> int:
        """Elements a work-item."""
        return self.geometry.items

    @property
    def groups_per_unit(self) -> int | None:
        """Most groups a compute unit, for kernels whose groups loop over tiles; None for a group a tile."""
        return self.geometry.groups_per_unit

    @property
    def entry(self) -> str:
        """Name of the kernel function, and of its file."""
        return f"{self.primitive}_{self.name}"

    @property
    def label(self) -> str:
        """The name of the variant in messages."""
        return f"{self.backend} {self.primitive}/{self.name}"

    @property
    def resident(self) -> int:
        """Groups that a compute unit must have room for."""
        return (self.groups_per_unit or 1) if self.together else 1

    @property
    def waits(self) -> bool:
        """True if groups wait for each other."""
        return False

    @property
    def asks_local_memory(self) -> bool:
        """True if launches ask for local memory beside what the kernel declares."""
        return False

    @property
    def tile(self) -> int:
        """Elements of one output that a group reads: block x items, divided by its outputs."""
        return self.block * self.items // self.outputs_per_group

    @property
    def path(self) -> Path:
        """The kernel file, for backends that compile one."""
        if not isinstance(self.source, Path):
            raise RegistryError(f"{self.label}: a kernel file; got {self.source!r}")
        return self.source

    @property
    def summary(self) -> str:
        """The first sentence of the kernel file's header, or of the function's docstring."""
        if not isinstance(self.source, Path):
            return (self.source.__doc__ or "").partition("\n")[0]
        if not self.source.is_file():  # the build says so
            return ""
        title, _, rest = self.source.read_text().partition("*/")[0].partition(": ")
        if not rest or title != f"/* {self.primitive}/{self.name}":
            return ""
        lines = rest.split("\n *\n", 1)[0].split("\n")
        text = "\n".join(line.strip().removeprefix("*").strip() for line in lines)
        return text.replace("-\n", "-").replace("\n", " ")  # a word may be broken at its hyphen

    def groups(self, tiles: int, capabilities: Capabilities) -> int:
        """Return how many groups to start for a number of tiles."""
        units = self.groups_per_unit
        return min(tiles, MOST_GROUPS if units is None else units * capabilities.compute_units)


@lru_cache(maxsize=1024)
def _tuned(variant: Variant, tunable: Tunable, geometry: Geometry) -> Variant:
    return replace(variant, geometry=geometry, refuse=first_refusal(variant.refuse, tunable.fits(geometry)))


class Choice(NamedTuple):
    """A variant and geometry that was measured to be faster than the variant of the best rank."""

    variant: Variant
    reason: str


# From the variant of the best rank and a call to a faster choice, or None.
Tuned = Callable[[Variant, CallTraits], Choice | None]


@dataclass(frozen=True)
class Explanation:
    """The variant that runs a call, and why others do not; prints as a list.

    ``refusals`` has a pair per variant, best rank first: the variant, and its refusal or None. ``tuned`` replaces the
    first able variant; see :mod:`gpuprims.core.tuned_choices`. If groups of a variant wait for each other, the last
    line says whether that works on this device, and why. ``by_numpy`` is the most elements of such a call on NumPy
    arrays that NumPy computes in place of a kernel, with the same bits; 0 if it computes none. ``levels`` has the level
    of determinism that each variant reaches for the call, by its label.
    """

    primitive: str
    device: str
    refusals: tuple[tuple[Variant, str | None], ...]
    tuned: Choice | None = None
    capabilities: Capabilities | None = field(default=None, compare=False)
    by_numpy: int = 0
    levels: Mapping[str, Level] = field(default_factory=dict, compare=False)

    @property
    def ranked(self) -> Variant | None:
        """The able variant of the best rank, if there is one."""
        return next((variant for variant, reason in self.refusals if reason is None), None)

    @property
    def chosen(self) -> Variant | None:
        """The variant that runs, if any can."""
        return self.ranked if self.tuned is None else self.tuned.variant

    @property
    def reason(self) -> str | None:
        """The most common refusal if no variant runs.

        "reaches ..." goes before "needs ...", others follow, and "is for ..." goes last. Of levels, the highest one is
        reported.
        """
        if self.chosen is not None or not self.refusals:
            return None
        refused = [(variant, reason) for variant, reason in reversed(self.refusals) if reason is not None]
        short = {self.levels.get(one.label, "none"): reason for one, reason in refused if reason.startswith("reaches ")}
        if short:
            return short[max(short, key=LEVELS.index)]  # at this level, the call would run
        reasons = [reason for _, reason in refused]
        needs = [reason for reason in reasons if reason.startswith("needs ")]
        first = needs or [reason for reason in reasons if not reason.startswith("is for ")] or reasons
        return max(first, key=first.count)

    def select(self) -> Variant:
        """Return the chosen variant; raise if there is none."""
        if self.chosen is None:
            got = f"a refusal: {self.reason}" if self.refusals else "none at all"
            raise NoVariantError(f"{self.primitive}: a variant able to run the call; got {got}\n{self}")
        return self.chosen

    def __str__(self) -> str:
        lines = [f"{self.primitive} on {self.device}:"]
        wide = max(14, *(len(variant.name) for variant, _ in self.refusals), 0)
        for variant, reason in self.refusals:
            chosen = self.chosen is not None and variant.entry == self.chosen.entry
            word = "chosen" if chosen else "able" if reason is None else "refused"
            level = f"{self.levels[variant.label]:6} " if variant.label in self.levels else ""
            lines.append(f"  {word:8}{variant.name:{wide}} rank {variant.rank:<3} {level}{variant.summary}".rstrip())
            if reason is not None:
                lines.append(f"          {reason}")
            elif chosen and self.tuned is not None:
                lines.append(f"          {self.tuned.reason}")
        if self.by_numpy and self.chosen is not None:
            lines.append(f"  NumPy computes NumPy arrays of at most {self.by_numpy} elements, with the same bits")
        if self.capabilities is not None and any(variant.waits for variant, _ in self.refusals):
            lines.append(f"  groups of one launch run at the same time: {self.capabilities.progress}")
        return "\n".join(lines)

    __repr__ = __str__
