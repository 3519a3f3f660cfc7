"""Let kernels refuse other calls during a test."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager

from gpuprims.core.geometry import Refusal
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant import Variant


@contextmanager
def refusing(refuse: Refusal, *kernels: tuple[str, str]) -> Iterator[None]:
    """Give OpenCL's kernels, by primitive and name, another refusal; plans are outdated before and after."""
    found = [one for primitive, name in kernels for one in REGISTRY.variants(primitive, "opencl") if one.name == name]
    _know(*[dataclasses.replace(one, refuse=refuse) for one in found])
    try:
        yield
    finally:
        _know(*found)


def _know(*variants: Variant) -> None:
    """Put variants in place of those of their names; the registry of now, since rooms loaded meanwhile copy it."""
    for one in variants:
        REGISTRY._variants[one.backend, one.primitive][one.name] = one
    REGISTRY.outdate()
