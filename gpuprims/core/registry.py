"""Which kernels there are, and which one runs: variants as data, refusals as sentences.

The highest-ranked variant that does not refuse a call is chosen. Two variants of one primitive and backend can share
neither name nor rank, so the choice never depends on the order of imports.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from importlib.metadata import EntryPoint
from pathlib import Path
from threading import RLock
from typing import Literal

from gpuprims.core.choice import Explanation, Tuned
from gpuprims.core.driver import Backend, Capabilities
from gpuprims.core.geometry import Refusal, Shape, Tunable
from gpuprims.core.lifetime import after_fork, refuse_at_exit
from gpuprims.core.plugins import PluggedBackend, attempt, described, find_backends, find_plugins, guarded, unavailable
from gpuprims.core.traits import Call
from gpuprims.core.variant_checks import check_types, check_variant
from gpuprims.errors import (
    BackendUnavailableError,
    NoVariantError,
    RegistryError,
    UnknownDeviceError,
    UnknownVariantError,
    quoted,
)

_OWN_BACKENDS = {name: f"gpuprims.backends.{name}" for name in ("cuda", "opencl", "reference")}

MOST_GROUPS = 2**30  # a grid's first dimension holds 2^31 - 1 in CUDA; groups take further tiles in a loop


@dataclass(frozen=True)
class Variant:
    """One way to run a primitive on a backend.

    Parameters
    ----------
    primitive, name, backend : str
        ``reduce``, ``tree``, ``opencl``: the kernel ``reduce_tree``, asked for by ``variant="tree"``.
    source : Path or callable
        The kernel file; for the reference backend a Python function.
    rank : int
        The highest able rank wins; unique within primitive and backend.
    block : int
        Work-items a group.
    items : int
        Elements a work-item takes before a group is worth adding.
    refuse : callable
        From capabilities and call to a reason, in a sentence, or None when able.
    groups_per_unit : int, optional
        Most groups a compute unit, for kernels whose groups stride over the input; by default as many as tiles.
    vectors : bool, default False
        Whether the kernel reads by ``MAP_VECTOR``; it is then compiled for as many elements at once as the call allows.
    outputs_per_group : int, default 1
        Outputs that a group computes at a time.
    shares_outputs : bool, default True
        Whether several groups may share an output, each folding a part of its elements.
    accumulates : bool, default False
        Whether groups fold into one zeroed slot an output, in whatever order they are done, so that sums of floats
        differ from run to run; by default they leave partial values, which are folded in order.
    word_items : bool, default False
        Whether ``items`` is for values of one 32-bit word; larger ones take the place of several.
    scratch : {"none", "levels", "board", "rows", "rows in turn", "columns in turn", "products"}
        What a scan has beside its operands: the folds of tiles, and of tiles of those, level by level, a launch each;
        or a board on which groups of one launch post folds for each other. Of a logistic gradient, the error and the
        loss of each row; in turn, one launch writes them and the next one sums, perhaps after one that copies the
        samples by columns. Of steps by single samples, products of samples, which a launch before that of the steps
        computes.
    together : bool, default False
        Whether all groups of a launch are to run at the same time.
    repeats : bool, default True
        Whether sums of floats are the same from run to run.
    window : {"listed", "ring", "strip", "tile"}
        Of a stencil, how neighbours are held; see :class:`gpuprims.primitives.stencil.spec.StencilSpec`.
    twice : bool, default False
        Of a stencil, whether its kernel applies it twice in one launch when asked to.
    histograms : {"shared", "cached", "local", "replicas", "split", "bytes", "private"}
        Where groups count: in one histogram in global memory, some of whose bins they may keep in local memory; in one
        a group in local memory, in several of them, in a range of one, or in counts of the values of a byte; or in
        global memory of their own, where a group adds in order.
    tunable : Tunable, optional
        In which other shapes it may run; see :mod:`gpuprims.core.tuned_choices`.
    """

    primitive: str
    name: str
    backend: str
    source: Path | Callable[..., None]
    rank: int
    block: int
    items: int
    refuse: Refusal
    groups_per_unit: int | None = None
    vectors: bool = False
    outputs_per_group: int = 1
    shares_outputs: bool = True
    accumulates: bool = False
    word_items: bool = False
    scratch: Literal["none", "levels", "board", "rows", "rows in turn", "columns in turn", "products"] = "none"
    together: bool = False
    repeats: bool = True
    window: Literal["listed", "ring", "strip", "tile"] = "listed"
    twice: bool = False
    histograms: Literal["shared", "cached", "local", "replicas", "split", "bytes", "private"] = "shared"
    tunable: Tunable | None = field(default=None, compare=False, repr=False)

    @property
    def shape(self) -> Shape:
        """Its block, items and groups a compute unit."""
        return Shape(self.block, self.items, self.groups_per_unit)

    def shaped(self, shape: Shape) -> Variant:
        """Return the variant in a shape that it may be tuned to; the same object each time."""
        if shape == self.shape:
            return self
        if self.tunable is None or shape not in self.tunable.shapes:
            raise RegistryError(f"{self.label}: a shape that it may have; got {shape}")
        return _shaped(self, self.tunable, shape)

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
        """How many of its groups a compute unit must have room for."""
        return (self.groups_per_unit or 1) if self.together else 1

    @property
    def tile(self) -> int:
        """Elements of one output that a group takes: block x items, shared by its outputs."""
        return self.block * self.items // self.outputs_per_group

    @property
    def path(self) -> Path:
        """The kernel file, for backends that compile one."""
        if not isinstance(self.source, Path):
            raise RegistryError(f"{self.label}: a kernel file; got {self.source!r}")
        return self.source

    @property
    def summary(self) -> str:
        """What it does, in the first sentence of its kernel file's header or of its function's docstring."""
        if not isinstance(self.source, Path):
            return (self.source.__doc__ or "").partition("\n")[0]
        if not self.source.is_file():  # which is said when it is built
            return ""
        title, _, rest = self.source.read_text().partition("*/")[0].partition(": ")
        if not rest or title != f"/* {self.primitive}/{self.name}":
            return ""
        lines = rest.split("\n *\n", 1)[0].split("\n")
        return " ".join(line.strip().removeprefix("*").strip() for line in lines)

    def fitted(self, words: int, size: int, capabilities: Capabilities) -> Variant:
        """Return the variant for values of so many words: with as many items as fit, and as few as fill the device."""
        if not self.word_items:
            return self
        items = max(self.items // words, 1)
        items = 1 << items.bit_length() - 1  # whole vectors, which have a power of two of elements
        while items > 1 and self.block * (items // 2) * capabilities.compute_units >= size:
            items //= 2
        return replace(self, items=items)

    @property
    def shares_histograms(self) -> bool:
        """Whether all groups add to one histogram in global memory."""
        return self.histograms in ("shared", "cached")

    @property
    def waits(self) -> bool:
        """True if its groups wait for each other."""
        return self.scratch == "board"

    @property
    def asks_local_memory(self) -> bool:
        """Whether its launches ask for local memory, as much as what a group counts in takes."""
        return self.histograms in ("cached", "local", "replicas", "split")

    @property
    def merges(self) -> bool:
        """Whether its groups can add their histograms to one."""
        return self.histograms in ("local", "replicas", "bytes")

    def groups(self, tiles: int, capabilities: Capabilities) -> int:
        """Return how many groups to start for so many tiles."""
        units = self.groups_per_unit
        return min(tiles, MOST_GROUPS if units is None else units * capabilities.compute_units)


@lru_cache(maxsize=1024)
def _shaped(variant: Variant, tunable: Tunable, shape: Shape) -> Variant:
    return replace(variant, **shape._asdict(), refuse=first_refusal(variant.refuse, tunable.fits(shape)))


def first_refusal(*rules: Refusal) -> Refusal:
    """Combine rules into one: the first reason given, or None when every rule is content."""

    def refuse(capabilities: Capabilities, call: Call) -> str | None:
        return next((reason for rule in rules if (reason := rule(capabilities, call))), None)

    return refuse


class Registry:
    """The variants of every backend, loaded when first asked for."""

    def __init__(self) -> None:
        self._variants: dict[tuple[str, str], dict[str, Variant]] = {}
        self._origins: dict[tuple[str, str, str], str] = {}  # where variants from outside come from
        self._backends: dict[str, Backend] = {}
        self._absent: dict[str, str] = {}  # installed packages' backends that fail, with the reason
        self.by_class: dict[type, Backend | None] = {}
        self._lock = RLock()
        self.generation = 0  # grows with every registration, so that plans made before can be told apart

    def after_fork(self) -> None:
        """Take a new lock in a child: another thread of the parent may have held the old one."""
        self._lock = RLock()

    @cached_property
    def backend_names(self) -> tuple[str, ...]:
        """Names of all backends, this library's own first, then those of installed packages."""
        refuse_at_exit("backends")
        self._foreign = find_backends(_OWN_BACKENDS)
        return (*_OWN_BACKENDS, *self._foreign)

    def backend(self, name: str) -> Backend:
        """Return a backend after registering its variants and those of installed packages; raise if it fails."""
        with self._lock:
            if name not in self._backends:
                self._load(name)
            return self._backends[name]

    def backends(self) -> list[Backend]:
        """Return every backend except those of installed packages that fail; loading has warned of these."""
        with self._lock:
            for name in self.backend_names:
                if name not in self._backends and name not in self._absent:
                    with suppress(BackendUnavailableError):
                        self._load(name)
            return [self._backends[name] for name in self.backend_names if name in self._backends]

    def backend_of(self, kind: type) -> Backend | None:
        """Return the backend to whose library a class of arrays belongs."""
        try:
            return self.by_class[kind]
        except KeyError:
            library = kind.__module__.partition(".")[0]
            found = next((backend for backend in self.backends() if backend.array_library == library), None)
            return self.by_class.setdefault(kind, found)

    def _load(self, name: str) -> None:
        refuse_at_exit(name)
        if name not in self.backend_names:
            raise UnknownDeviceError(f"backend: one of {', '.join(self.backend_names)}; got {quoted(name)}")
        if name in _OWN_BACKENDS:
            backend: Backend = importlib.import_module(_OWN_BACKENDS[name]).BACKEND
            self._add(backend.variants)
            self._backends[name] = backend  # before plug-ins, whose import may use it
        else:
            point = self._foreign[name]
            cause = self._absent.get(name) or attempt(point, lambda: self._add_foreign(point))
            if cause is not None:
                self._absent[name] = cause
                raise unavailable(point, cause)
        for kernels in find_plugins(f"gpuprims.kernels.{name}"):
            attempt(kernels, lambda kernels=kernels: self._add_plugged(kernels, name, kernels.load()))  # type: ignore[misc]

    def _add_foreign(self, point: EntryPoint) -> None:
        backend = PluggedBackend(point, point.load())
        self._add_plugged(point, point.name, backend.variants)
        self._backends[point.name] = backend

    def _add_plugged(self, point: EntryPoint, backend: str, variants: Iterable[Variant]) -> None:
        self._add([self._from_outside(variant, described(point), backend) for variant in variants], described(point))

    def register(self, variant: Variant) -> None:
        """Add a variant. See :func:`register`."""
        checked = self._from_outside(variant, "gpuprims.register")
        with self._lock:
            self.backend(checked.backend)
            self._add([checked], "gpuprims.register")

    def unregister(self, variant: Variant) -> None:
        """Remove a variant. See :func:`unregister`."""
        check_types(variant, Variant)
        with self._lock:
            self.backend(variant.backend)
            key, label = (variant.backend, variant.primitive), variant.label
            known = self._variants.get(key, {})
            if variant.name not in known:
                raise RegistryError(f"{label}: a variant that is registered; got one that is not")
            if (*key, variant.name) not in self._origins:
                raise RegistryError(f"{label}: a variant from outside gpuprims; got one of its own")
            del self._origins[(*key, variant.name)]
            self._variants = self._variants | {key: {n: one for n, one in known.items() if n != variant.name}}
            self.generation += 1

    def _add(self, variants: Iterable[Variant], origin: str | None = None) -> None:
        """Add all variants, or none if one is refused; ``origin`` names where variants from outside come from."""
        merged, origins = {key: dict(known) for key, known in self._variants.items()}, dict(self._origins)
        for variant in variants:
            known, label = merged.setdefault((variant.backend, variant.primitive), {}), variant.label
            if variant.name in known:
                raise RegistryError(f"{label}: a name claimed once; got a second variant of that name")
            for other in known.values():
                if other.rank == variant.rank:
                    raise RegistryError(f"{label}: a rank of its own; got {variant.rank}, which {other.name!r} has")
            known[variant.name] = variant
            if origin is not None:
                origins[variant.backend, variant.primitive, variant.name] = origin
        self._variants, self._origins = merged, origins
        self.generation += 1

    def _from_outside(self, variant: Variant, origin: str, backend: str | None = None) -> Variant:
        """Check a variant, and return it with a guarded refusal, whose failure harms no other variant."""
        own = importlib.import_module(_OWN_BACKENDS["cuda"]).BACKEND.variants
        check_types(variant, Variant)
        check_variant(variant, {variant.primitive for variant in own}, backend)
        return replace(variant, refuse=guarded(variant.refuse, variant.label, origin))

    def variants(self, primitive: str, backend: str) -> tuple[Variant, ...]:
        """Return a primitive's variants on a backend, best rank first."""
        self.backend(backend)
        known = self._variants.get((backend, primitive), {})
        return tuple(sorted(known.values(), key=lambda variant: -variant.rank))

    def outdate(self) -> None:
        """Let every plan that was made before be made anew."""
        with self._lock:
            self.generation += 1

    def explain(
        self,
        primitive: str,
        backend: str,
        device: str,
        capabilities: Capabilities,
        call: Call,
        tuned: Tuned | None = None,
    ) -> Explanation:
        """Ask every variant of a primitive whether it can run a call, and ``tuned`` what is faster than the first."""
        asked = tuple((v, v.refuse(capabilities, call)) for v in self.variants(primitive, backend))
        explanation = Explanation(primitive, device, asked, capabilities=capabilities)
        if tuned is None or explanation.ranked is None:
            return explanation
        return replace(explanation, tuned=tuned(explanation.ranked, call))

    def select(
        self,
        primitive: str,
        backend: str,
        device: str,
        capabilities: Capabilities,
        call: Call,
        name: str | Variant | None = None,
        tuned: Tuned | None = None,
    ) -> Variant:
        """Return what was tuned or else the best able variant, or the one asked for by name or in a shape of its own.

        Raises
        ------
        UnknownVariantError
            When ``name`` names no variant of the primitive.
        NoVariantError
            When the named variant, or every variant, refuses; the message holds each reason.
        """
        explanation = self.explain(primitive, backend, device, capabilities, call, tuned if name is None else None)
        if name is None:
            if explanation.chosen is None:
                got = f"a refusal: {explanation.reason}" if explanation.refusals else "none at all"
                raise NoVariantError(f"{primitive}: a variant able to run the call; got {got}\n{explanation}")
            return explanation.chosen
        known = {variant.name: variant for variant, _ in explanation.refusals}
        asked = known.get(name) if isinstance(name, str) else name
        if not isinstance(asked, Variant) or asked.name not in known:
            names = ", ".join(map(repr, known)) or "none at all"
            raise UnknownVariantError(f"{primitive} on {device}: a variant among {names}; got {quoted(name)}")
        if (reason := asked.refuse(capabilities, call)) is not None:
            raise NoVariantError(f"{primitive}: variant {asked.name!r} able to run the call; got a refusal: {reason}")
        return asked


REGISTRY = Registry()
after_fork(REGISTRY.after_fork)
