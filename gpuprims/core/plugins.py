"""Kernels, backends and primitives of installed packages, by entry points; one that fails causes a warning."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from importlib.metadata import EntryPoint, distributions, entry_points
from typing import Any

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.driver import Backend, Driver
from gpuprims.core.geometry import Refusal
from gpuprims.core.notices import warn_once
from gpuprims.core.primitive import Primitive
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant_checks import check_types
from gpuprims.errors import BackendUnavailableError, RegistryError, quoted

# Exceptions that leave a plug-in out; some modules call sys.exit() where they cannot work.
FAILURES = (Exception, SystemExit)
# Attributes of a backend object; see Backend in driver.py. Reading `driver_of` may import the vendor's library.
_WANTED = ("array_library", "dlpack_device", "from_dlpack", "variants", "drivers")


def find_plugins(group: str) -> list[EntryPoint]:
    """Return the entry points of a group, ordered by name, not by folder."""
    try:
        found = list(select_in(tuple(sys.path))(group=group))
    except Exception:  # a package's entry points are damaged; read the others' one by one
        found = list(_one_by_one(group))
    return sorted(found, key=lambda point: (distribution_of(point), point.name, point.value))


@lru_cache(maxsize=1)
def select_in(path: tuple[str, ...]) -> Callable[..., Iterable[EntryPoint]]:
    """Return a function that selects the entry points of a group, which reads a search path only once."""
    return entry_points().select


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
            leave_out(point, RegistryError(f"{what} {quoted(point.name)}: {rule} {first}"))
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


def leave_out(point: EntryPoint, error: BaseException) -> str:
    """Warn that a plug-in fails, and return the reason."""
    cause = str(error) if isinstance(error, RegistryError) else quoted(error, 200)
    warn_once(f"gpuprims goes on without {described(point)}: {cause}", stacklevel=3)
    return f"{described(point)} fails: {cause}"


def checked_backend(point: EntryPoint, found: Any) -> Backend:
    """Return the backend that an entry point names; raise RegistryError if it lacks an attribute of one."""
    if missing := [name for name in _WANTED if not hasattr(found, name)]:
        rule = "an object that meets gpuprims.core.driver.Backend"
        got = f"{type(found).__name__} {quoted(found)} without {', '.join(missing)}"
        raise RegistryError(f"backend {quoted(point.name)}: {rule}; got {got}")
    backend: Backend = found
    return backend


def plugged_drivers(point: EntryPoint, backend: Backend) -> Sequence[Driver]:
    """List the devices of a package's backend; if that fails, warn and raise BackendUnavailableError."""
    try:
        drivers = tuple(backend.drivers())
        for driver in drivers:
            if not isinstance(driver.capabilities, Capabilities):
                raise TypeError(f"capabilities of {driver.backend}:{driver.index}: {quoted(driver.capabilities)}")
    except BackendUnavailableError:
        raise
    except FAILURES as error:
        raise unavailable(point, leave_out(point, error)) from error
    return drivers


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
