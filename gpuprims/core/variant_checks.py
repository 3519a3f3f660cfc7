"""Checks of a variant from outside before it is registered: types, ranges, the kernel file."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from gpuprims.core.geometry import Geometry
from gpuprims.core.variant import Variant
from gpuprims.errors import RegistryError, UnknownVariantError, quoted

# The smallest and largest value of each number.
_RANGES = {
    "rank": (-(2**31), 2**31 - 1),
    "block": (1, 2**16),
    "items": (1, 2**62),
    "groups_per_unit": (1, 2**30),
    "outputs_per_group": (1, 2**62),
}


def check_variant(variant: Variant, primitives: Collection[str], backend: str | None = None) -> None:
    """Raise RegistryError if a variant could not run; ``backend`` is the one that an entry point names."""
    label = variant.label
    if backend not in (None, variant.backend):
        raise RegistryError(f"{label}: backend {backend!r}, as the entry point says; got {quoted(variant.backend)}")
    if variant.primitive not in primitives:
        known = ", ".join(sorted(primitives))
        raise RegistryError(f"{quoted(label)}: a primitive among {known}; got {quoted(variant.primitive)}")
    if not re.fullmatch(r"[A-Za-z]\w*", variant.name, re.ASCII):
        raise RegistryError(f"{quoted(label)}: a name of letters, digits and underscores; got {quoted(variant.name)}")
    for name, (least, most) in _RANGES.items():
        number = getattr(variant, name)
        if number is not None and not least <= number <= most:
            raise RegistryError(f"{label}: {name} from {least} to {most}; got {quoted(number)}")
    if variant.tile < 1:
        got = f"{variant.outputs_per_group} outputs for {variant.block} x {variant.items}"
        raise RegistryError(f"{label}: an element or more for each of outputs_per_group; got {got}")
    _check_source(label, variant)


def asked_by_name(label: str, variant: Any) -> Any:
    """Return ``variant=`` of a call, or raise if it is neither a name nor a Variant."""
    if variant is None or isinstance(variant, str) or is_dataclass(variant):  # tuning and tests pass a Variant
        return variant
    raise UnknownVariantError(f"{label}: variant= a name; got {type(variant).__name__} {quoted(variant)}")


def check_types(variant: Any) -> None:
    """Raise RegistryError for an object that is not a variant, or has a field of another type."""
    if not isinstance(variant, Variant):
        raise RegistryError(f"kernel: a gpuprims.Variant; got {type(variant).__name__} {quoted(variant)}")
    hints = get_type_hints(type(variant))
    for field in fields(variant):
        value = getattr(variant, field.name)
        if not fits(value, hints[field.name]):
            wanted = str(field.type).replace("Literal", "one of ")
            raise RegistryError(f"kernel {quoted(variant.name)}: {field.name} of type {wanted}; got {quoted(value)}")


def fits(value: Any, hint: Any) -> bool:
    """Return True if a value has the type of an annotation: a bool is not an int, but an int is a float."""
    kind = get_origin(hint)
    if kind is Literal:
        return isinstance(value, str) and value in get_args(hint)
    if kind in (Union, UnionType):
        return any(fits(value, one) for one in get_args(hint))
    if kind is Callable:
        return callable(value)
    if hint in (int, bool, NoneType):
        return type(value) is hint
    if hint is float:
        return type(value) in (int, float)
    if hint is Geometry and isinstance(value, Geometry):
        return all(fits(number, one) for number, one in zip(value, get_type_hints(Geometry).values(), strict=True))
    return isinstance(value, kind or hint)


def _check_source(label: str, variant: Variant) -> None:
    source = variant.source
    if not isinstance(source, Path):
        if variant.backend in ("cuda", "opencl"):
            raise RegistryError(f"{label}: a kernel file, as pathlib.Path; got {quoted(source)}")
        return
    if variant.backend == "reference":
        raise RegistryError(f"{label}: a Python function; got {quoted(str(source))}")
    if not source.is_file():
        raise RegistryError(f"{label}: an existing kernel file; got {str(source)!r}")
    try:
        text = source.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise RegistryError(f"{label}: a kernel file in UTF-8; got {str(source)!r} ({error})") from error
    if not re.search(rf"\b{variant.entry}\s*\(", text):
        raise RegistryError(f"{label}: a kernel file with the function {variant.entry}; got {str(source)!r} without it")
