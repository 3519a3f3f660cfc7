"""Which kernels exist, and which one runs a call.

The highest-ranked variant that does not refuse a call is chosen. Two variants of one primitive and backend can share
neither name nor rank, so the choice never depends on the order of imports.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from importlib.metadata import EntryPoint
from threading import RLock

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.driver import Backend
from gpuprims.core.lifetime import after_fork, refuse_at_exit
from gpuprims.core.plugins import (
    PluggedBackend,
    attempt,
    checked_primitive,
    described,
    find_named,
    find_plugins,
    guarded,
    unavailable,
)
from gpuprims.core.primitive import Primitive
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Explanation, Tuned, Variant
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
_ROOMS = "gpuprims.primitives"  # imported by name, so that the core depends on no primitive


class Registry:
    """The variants of every backend, loaded when first asked for."""

    def __init__(self) -> None:
        self._variants: dict[tuple[str, str], dict[str, Variant]] = {}
        self._origins: dict[tuple[str, str, str], str] = {}  # where variants from outside come from
        self._primitives: dict[str, Primitive | None] = {}  # None for an installed package's that fails
        self._backends: dict[str, Backend] = {}
        self._absent: dict[str, str] = {}  # failing backends of installed packages: the reason
        self.by_class: dict[type, Backend | None] = {}
        self._lock = RLock()
        self.generation = 0  # grows with every registration, which outdates plans

    def after_fork(self) -> None:
        """Take a new lock in a child: another thread of the parent may have held the old one."""
        self._lock = RLock()

    @cached_property
    def backend_names(self) -> tuple[str, ...]:
        """Names of all backends, this library's own first, then those of installed packages."""
        refuse_at_exit("backends")
        self._foreign = find_named("backend", _OWN_BACKENDS)
        return (*_OWN_BACKENDS, *self._foreign)

    @cached_property
    def primitive_names(self) -> tuple[str, ...]:
        """Names of all primitives, this library's own first, then those of installed packages."""
        own = tuple(importlib.import_module(_ROOMS).ROOMS)
        self._plugged_primitives = find_named("primitive", own)
        return (*own, *self._plugged_primitives)

    def primitive(self, name: str) -> Primitive | None:
        """Return a primitive after registering its variants; None if there is none, or its package fails."""
        with self._lock:
            if name not in self.primitive_names:
                return None
            if name not in self._primitives:
                if name not in self._plugged_primitives:
                    found = self._primitives[name] = importlib.import_module(f"{_ROOMS}.{name}").PRIMITIVE
                    self._add(found.variants)
                else:
                    point = self._plugged_primitives[name]
                    self._primitives[name] = None
                    attempt(point, lambda: self._add_primitive(point))
            return self._primitives.get(name)

    def _add_primitive(self, point: EntryPoint) -> None:
        found = checked_primitive(point, point.load())
        self._add_plugged(point, None, found.variants)
        self._primitives[found.name] = found

    def backend(self, name: str) -> Backend:
        """Return a backend after registering its variants and those of installed packages; raise if it fails."""
        with self._lock:
            if name not in self._backends:
                self._load(name)
            return self._backends[name]

    def backends(self) -> list[Backend]:
        """Return every backend but those of installed packages that fail, with a warning."""
        with self._lock:
            for name in self.backend_names:
                if name not in self._backends and name not in self._absent:
                    with suppress(BackendUnavailableError):
                        self._load(name)
            return [self._backends[name] for name in self.backend_names if name in self._backends]

    def backend_of(self, kind: type) -> Backend | None:
        """Return the backend whose library has a class of arrays."""
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
            self._backends[name] = importlib.import_module(_OWN_BACKENDS[name]).BACKEND
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

    def _add_plugged(self, point: EntryPoint, backend: str | None, variants: Iterable[Variant]) -> None:
        self._add([self._from_outside(variant, described(point), backend) for variant in variants], described(point))

    def register(self, variant: Variant) -> None:
        """Add a kernel to those that gpuprims chooses from.

        Parameters
        ----------
        variant : Variant
            Installed packages name theirs under the entry point ``gpuprims.kernels.<backend>`` instead.

        Raises
        ------
        RegistryError
            Its name or rank is taken, a field has another type or is out of range, its primitive is unknown, or its
            kernel file is missing or lacks the function :attr:`Variant.entry`.
        UnknownDeviceError, BackendUnavailableError
            Its backend is unknown, or comes from an installed package that fails.

        Examples
        --------
        >>> import dataclasses, gpuprims
        >>> from gpuprims.core.registry import REGISTRY
        >>> own = REGISTRY.variants("map", "reference")[0]
        >>> gpuprims.register(own)
        Traceback (most recent call last):
        ...
        gpuprims.errors.RegistryError: reference map/numpy: a name claimed once; got a second variant of that name
        >>> mine = dataclasses.replace(own, name="mine", rank=1)
        >>> gpuprims.register(mine)
        >>> gpuprims.explain("map", "reference").chosen.name
        'mine'
        >>> gpuprims.unregister(mine)
        """
        checked = self._from_outside(variant, "gpuprims.register")
        with self._lock:
            self.backend(checked.backend)
            self._add([checked], "gpuprims.register")

    def unregister(self, variant: Variant) -> None:
        """Remove a kernel that :func:`register` added or that an installed package provides.

        Parameters
        ----------
        variant : Variant
            Its backend, primitive and name identify it. Plans that use it keep it.

        Raises
        ------
        RegistryError
            It is not registered, or is one of gpuprims' own.

        Examples
        --------
        >>> import gpuprims
        >>> from gpuprims.core.registry import REGISTRY
        >>> gpuprims.unregister(REGISTRY.variants("map", "reference")[0])
        Traceback (most recent call last):
        ...
        gpuprims.errors.RegistryError: reference map/numpy: a variant from outside gpuprims; got one of its own
        """
        check_types(variant)
        with self._lock:
            self.backend(variant.backend)
            key, label = (variant.backend, variant.primitive), variant.label
            known = self._variants.get(key, {})
            if variant.name not in known:
                raise RegistryError(f"{label}: a variant that is registered; got one that is not")
            if self._origins.pop((*key, variant.name), None) is None:
                raise RegistryError(f"{label}: a variant from outside gpuprims; got one of its own")
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
        if origin is not None:  # the library's own come before any plan that could use them
            self.generation += 1

    def _from_outside(self, variant: Variant, origin: str, backend: str | None = None) -> Variant:
        """Check a variant, and return it with a guarded refusal, whose failure harms no other variant."""
        check_types(variant)
        self.primitive(variant.primitive)  # its own variants have the first claim to names and ranks
        check_variant(variant, self.primitive_names, backend)
        return replace(variant, refuse=guarded(variant.refuse, variant.label, origin))

    def variants(self, primitive: str, backend: str) -> tuple[Variant, ...]:
        """Return a primitive's variants on a backend, best rank first."""
        self.backend(backend)
        self.primitive(primitive)
        known = self._variants.get((backend, primitive), {})
        return tuple(sorted(known.values(), key=lambda variant: -variant.rank))

    def outdate(self) -> None:
        """Outdate all plans."""
        with self._lock:
            self.generation += 1

    def explain(
        self,
        primitive: str,
        backend: str,
        device: str,
        capabilities: Capabilities,
        call: CallTraits,
        tuned: Tuned | None = None,
    ) -> Explanation:
        """Ask every variant of a primitive whether it can run a call, and ``tuned`` for a faster choice."""
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
        call: CallTraits,
        name: str | Variant | None = None,
        tuned: Tuned | None = None,
    ) -> Variant:
        """Return the named variant, a given one, or else the tuned or best able one; raise if it refuses the call."""
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
register, unregister = REGISTRY.register, REGISTRY.unregister
after_fork(REGISTRY.after_fork)
