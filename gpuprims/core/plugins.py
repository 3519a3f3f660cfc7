"""Kernels, backends and primitives of installed packages, by entry points; a failing one costs a warning."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from importlib.metadata import EntryPoint, distributions, entry_points
from typing import Any

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.driver import Backend, Driver
from gpuprims.core.geometry import Refusal
from gpuprims.core.notices import warn_once
from gpuprims.core.primitive import Primitive
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import check_types
from gpuprims.errors import BackendUnavailableError, RegistryError, quoted

# A plug-in may raise these; some modules call sys.exit() where they cannot work. KeyboardInterrupt goes on.
_FAILURES = (Exception, SystemExit)
# Attributes of a backend object; see Backend in driver.py. Reading `driver_of` may import the vendor's library.
_WANTED = ("array_library", "dlpack_device", "from_dlpack", "variants", "drivers")


def find_plugins(group: str) -> list[EntryPoint]:
    """Return the entry points of a group, ordered by name, not by folder."""
    try:
        found = list(entry_points(group=group))
    except Exception:  # a package's entry points are damaged; read the others' one by one
        found = list(_one_by_one(group))
    return sorted(found, key=lambda point: (distribution_of(point), point.name, point.value))


def _one_by_one(group: str) -> Iterator[EntryPoint]:
    seen = set()
    for distribution in distributions():
        name = str(distribution.metadata["Name"])
        if name not in seen:  # Python imports the first one
            seen.add(name)
            try:
                yield from distribution.entry_points.select(group=group)
            except Exception as error:
                warn_once(f"gpuprims goes on without the entry points of {name}: {quoted(error, 200)}")


def find_named(what: str, own: Collection[str]) -> dict[str, EntryPoint]:
    """Return the backends or primitives of installed packages by name; if several claim a name, the first one."""
    found: dict[str, EntryPoint] = {}
    for point in find_plugins(f"gpuprims.{what}s"):
        if point.name in own or point.name in found:
            first = described(found[point.name]) if point.name in found else "gpuprims itself"
            rule = "a name claimed once; got a second claim, after that of"
            _warn(point, RegistryError(f"{what} {quoted(point.name)}: {rule} {first}"))
        else:
            found[point.name] = point
    return found


def checked_primitive(point: EntryPoint, found: Any) -> Primitive:
    """Return the primitive that an entry point names; raise RegistryError if it is none of that name."""
    if not isinstance(found, Primitive) or found.name != point.name:
        raise RegistryError(f"primitive {quoted(point.name)}: a gpuprims.Primitive of that name; got {quoted(found)}")
    for variant in found.variants:
        check_types(variant)
        if variant.primitive != found.name:
            raise RegistryError(f"primitive {quoted(point.name)}: a variant of {found.name}; got {variant.label}")
    return found


def distribution_of(point: EntryPoint) -> str:
    """Return the name of an entry point's package."""
    distribution = getattr(point, "dist", None)
    return "a package without a name" if distribution is None else str(distribution.name)


def described(point: EntryPoint) -> str:
    """Describe a plug-in for messages: the package, and the line of its entry point."""
    return f"{distribution_of(point)} (entry point {point.group}: {point.name} = {point.value})"


def attempt(point: EntryPoint, work: Callable[[], None]) -> str | None:
    """Load a plug-in; if that fails, warn and return the reason."""
    try:
        work()
    except _FAILURES as error:
        return _warn(point, error)
    return None


def _warn(point: EntryPoint, error: BaseException) -> str:
    cause = str(error) if isinstance(error, RegistryError) else quoted(error, 200)
    warn_once(f"gpuprims goes on without {described(point)}: {cause}", stacklevel=4)
    return f"{described(point)} fails: {cause}"


class PluggedBackend:
    """A backend of an installed package, whose failures affect no other backend."""

    def __init__(self, point: EntryPoint, backend: Backend) -> None:
        missing = [name for name in _WANTED if not hasattr(backend, name)]
        if missing:
            rule = "an object that meets gpuprims.core.driver.Backend"
            got = f"{type(backend).__name__} {quoted(backend)} without {', '.join(missing)}"
            raise RegistryError(f"backend {quoted(point.name)}: {rule}; got {got}")
        self.name = point.name
        self.array_library = backend.array_library
        self.dlpack_device = backend.dlpack_device
        self.variants: Sequence[Variant] = tuple(backend.variants)
        self._point = point
        self._backend = backend

    @cached_property
    def driver_of(self) -> Callable[[Any], Driver | None]:
        """See :class:`~gpuprims.core.driver.Backend`."""
        return self._backend.driver_of

    def from_dlpack(self, array: Any) -> Any:
        """See :class:`~gpuprims.core.driver.Backend`."""
        return self._backend.from_dlpack(array)

    def drivers(self) -> Sequence[Driver]:
        """List its devices; any exception of the plug-in becomes BackendUnavailableError, with a warning."""
        try:
            found = tuple(self._backend.drivers())
            for driver in found:
                if not isinstance(driver.capabilities, Capabilities):
                    raise TypeError(f"capabilities of {driver.backend}:{driver.index}: {quoted(driver.capabilities)}")
        except BackendUnavailableError:
            raise
        except _FAILURES as error:
            raise unavailable(self._point, _warn(self._point, error)) from error
        return found


def unavailable(point: EntryPoint, cause: str) -> BackendUnavailableError:
    """Return the error of an installed package's backend that fails."""
    return BackendUnavailableError(point.name, cause, f"update or uninstall {distribution_of(point)}")


def guarded(refuse: Refusal, label: str, origin: str) -> Refusal:
    """Return a variant's refusal that also refuses if the check itself fails, so that other variants run."""

    def answer(capabilities: Capabilities, call: CallTraits) -> str | None:
        try:
            reason = refuse(capabilities, call)
        except Exception as error:
            wrong = f"raises {quoted(error, 200)}"
        else:
            if reason is None or isinstance(reason, str):
                return reason
            wrong = f"gives {quoted(reason)}, which is neither a sentence nor None"
        warn_once(f"gpuprims goes on without {label} of {origin}: its refuse {wrong}")
        return f"does not run: its refuse {wrong}"

    return answer
