"""The registry of variants, backends and primitives, of this library and of installed packages.

The highest-ranked variant that does not refuse a call runs it. Two variants of one primitive and backend can share
neither name nor rank, so the choice never depends on the order of imports.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from threading import RLock
from typing import Any

from gpuprims.core import plugins
from gpuprims.core.driver import Backend, Driver
from gpuprims.core.keywords import is_one_of
from gpuprims.core.lifetime import after_fork, refuse_at_exit
from gpuprims.core.primitive import Primitive
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import check_types, check_variant
from gpuprims.errors import BackendUnavailableError, RegistryError, UnknownDeviceError, quoted

OWN_BACKENDS = {name: f"gpuprims.backends.{name}" for name in ("cuda", "opencl", "reference")}
_ROOMS = "gpuprims.primitives"  # imported by name, so that the core depends on no primitive


class Registry:
    """The variants of every backend, loaded when first asked for."""

    def __init__(self) -> None:
        self._variants: dict[tuple[str, str], dict[str, Variant]] = {}
        self._outside: set[tuple[str, str, str]] = set()  # backend, primitive and name of variants from outside
        self._primitives: dict[str, Primitive | None] = {}  # None if its package fails
        self._backends: dict[str, Backend | str] = {}  # the reason if its package fails
        self.by_class: dict[type, Backend | None] = {}  # by class of arrays
        self.facts_by_class: dict[type, Callable[[Any], Hashable]] = {}
        self._lock = RLock()
        self.generation = 0  # grows with every registration, which outdates plans

    def after_fork(self) -> None:
        """Take a new lock in a child: another thread of the parent may have held the old one."""
        self._lock = RLock()

    @cached_property
    def backend_names(self) -> tuple[str, ...]:
        """Names of all backends, this library's own first, then those of installed packages."""
        refuse_at_exit("backends")
        self._plugged_backends = plugins.find_named("backend", OWN_BACKENDS)
        return (*OWN_BACKENDS, *self._plugged_backends)

    @cached_property
    def primitive_names(self) -> tuple[str, ...]:
        """Names of all primitives, this library's own first, then those of installed packages."""
        own = tuple(importlib.import_module(_ROOMS).ROOMS)
        self._plugged_primitives = plugins.find_named("primitive", own)
        return (*own, *self._plugged_primitives)

    def primitive(self, name: str) -> Primitive | None:
        """Return a primitive, whose variants are registered; None if there is none, or its package fails."""
        with self._lock:
            if not is_one_of(name, self.primitive_names):
                return None
            if name not in self._primitives:
                point = self._plugged_primitives.get(name)
                if point is None:
                    own = self._primitives[name] = importlib.import_module(f"{_ROOMS}.{name}").PRIMITIVE
                    self._add(own.variants)
                else:
                    self._primitives[name] = None  # also while it loads
                    try:
                        found = plugins.checked_primitive(point, point.load())
                        self._add_outside(found.variants, plugins.described(point))
                        self._primitives[name] = found
                    except plugins.FAILURES as error:
                        plugins.leave_out(point, error)
            return self._primitives.get(name)

    def backend(self, name: str) -> Backend:
        """Return a backend, whose variants are registered, with those of installed packages; raise if it fails."""
        with self._lock:
            if name not in self._backends:
                self._load(name)
            found = self._backends[name]
            if isinstance(found, str):
                raise plugins.unavailable(self._plugged_backends[name], found)
            return found

    def backends(self) -> Iterator[Backend]:
        """Yield each backend, which is loaded first, but those of installed packages that fail, with a warning."""
        for name in self.backend_names:
            try:
                found = self.backend(name)
            except BackendUnavailableError:
                continue
            yield found

    def backend_of(self, kind: type) -> Backend | None:
        """Return the backend whose library defines a class of arrays."""
        try:
            return self.by_class[kind]
        except KeyError:
            library = kind.__module__.partition(".")[0]
            found = next((backend for backend in self.backends() if backend.array_library == library), None)
            if (tell := getattr(found, "facts_of", None)) is not None:  # a plug-in may be older than this
                self.facts_by_class[kind] = tell
            return self.by_class.setdefault(kind, found)

    def drivers(self, name: str) -> Sequence[Driver]:
        """List the devices of a backend; raise BackendUnavailableError if there are none."""
        backend = self.backend(name)
        if name in OWN_BACKENDS:
            return backend.drivers()
        return plugins.plugged_drivers(self._plugged_backends[name], backend)

    def _load(self, name: str) -> None:
        refuse_at_exit(name)
        if name not in self.backend_names:
            raise UnknownDeviceError(f"backend: one of {', '.join(self.backend_names)}; got {quoted(name)}")
        if name in OWN_BACKENDS:
            self._backends[name] = importlib.import_module(OWN_BACKENDS[name]).BACKEND
        else:
            point = self._plugged_backends[name]
            try:
                backend = plugins.checked_backend(point, point.load())
                self._add_outside(backend.variants, plugins.described(point), name)
                self._backends[name] = backend
            except plugins.FAILURES as error:
                self._backends[name] = plugins.leave_out(point, error)
                return
        for kernels in plugins.find_plugins(f"gpuprims.kernels.{name}"):
            try:
                self._add_outside(kernels.load(), plugins.described(kernels), name)
            except plugins.FAILURES as error:
                plugins.leave_out(kernels, error)

    def register(self, variant: Variant) -> None:
        """Add a kernel to those that gpuprims chooses from.

        Parameters
        ----------
        variant : Variant
            Installed packages use the entry point ``gpuprims.kernels.<backend>`` instead.

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
        check_types(variant)
        with self._lock:
            self.backend(variant.backend)
            self._add_outside([variant], "gpuprims.register")

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
            key = variant.backend, variant.primitive
            known = self._variants.get(key, {})
            if variant.name not in known:
                raise RegistryError(f"{variant.label}: a variant that is registered; got one that is not")
            if (*key, variant.name) not in self._outside:
                raise RegistryError(f"{variant.label}: a variant from outside gpuprims; got one of its own")
            self._outside.discard((*key, variant.name))
            self._variants = self._variants | {key: {n: one for n, one in known.items() if n != variant.name}}
            self.generation += 1

    def _add_outside(self, variants: Iterable[Variant], origin: str, backend: str | None = None) -> None:
        """Check and add variants from outside gpuprims, so that failing refusals harm no other variant."""
        checked = []
        for variant in variants:
            check_types(variant)
            self.primitive(variant.primitive)  # its own variants have the first claim to names and ranks
            check_variant(variant, self.primitive_names, backend)
            yields = variant.yields and plugins.guarded(variant.yields, variant.label, origin)
            refuse = plugins.guarded(variant.refuse, variant.label, origin)
            checked.append(replace(variant, refuse=refuse, yields=yields))
        self._add(checked)
        self._outside.update((variant.backend, variant.primitive, variant.name) for variant in checked)
        self.generation += 1  # the library's own are added before any plan could use them

    def _add(self, variants: Iterable[Variant]) -> None:
        """Add all variants, or none if a name or rank is taken."""
        merged = {key: dict(known) for key, known in self._variants.items()}
        for variant in variants:
            known, label = merged.setdefault((variant.backend, variant.primitive), {}), variant.label
            if variant.name in known:
                raise RegistryError(f"{label}: a name claimed once; got a second variant of that name")
            for other in known.values():
                if other.rank == variant.rank:
                    raise RegistryError(f"{label}: a rank of its own; got {variant.rank}, which {other.name!r} has")
            known[variant.name] = variant
        self._variants = merged

    def variants(self, primitive: str, backend: str) -> tuple[Variant, ...]:
        """Return a primitive's variants on a backend, best rank first."""
        self.backend(backend)
        self.primitive(primitive)
        known = self._variants.get((backend, primitive), {})
        return tuple(sorted(known.values(), key=lambda variant: -variant.rank))

    @contextmanager
    def outranking(self, variant: Variant) -> Iterator[None]:
        """Have a variant outrank all others of its primitive and backend, in place of the one of its name."""
        key = variant.backend, variant.primitive
        with self._lock:
            highest = self.variants(variant.primitive, variant.backend)[0].rank
            kept = self._variants[key]
            self._variants = self._variants | {
                key: kept | {variant.name: replace(variant, rank=highest + 1, yields=None)}
            }
            self.generation += 1
        try:
            yield
        finally:
            with self._lock:
                self._variants = self._variants | {key: kept}
                self.generation += 1

    def outdate(self) -> None:
        """Outdate all plans."""
        with self._lock:
            self.generation += 1


REGISTRY = Registry()
register, unregister = REGISTRY.register, REGISTRY.unregister
after_fork(REGISTRY.after_fork)
