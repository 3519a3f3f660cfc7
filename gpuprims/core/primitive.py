"""Primitives: one record each, by which the registry finds their variants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpuprims.core.variant import Variant


@dataclass(frozen=True)
class Primitive:
    """A primitive of this library or of an installed package.

    Parameters
    ----------
    name : str
        Names of kernel functions begin with it: ``<primitive>_<name>``.
    variants : sequence of Variant
        The catalogue: the variants of every backend.
    """

    name: str
    variants: Sequence[Variant]
