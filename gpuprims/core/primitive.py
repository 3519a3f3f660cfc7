"""Primitives: what the package of each one provides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gpuprims.core.variant import Variant


@dataclass(frozen=True)
class Primitive:
    """A primitive of this library, the attribute ``PRIMITIVE`` of its package, or of an installed package.

    Parameters
    ----------
    name : str
        Names of kernel functions begin with it: ``<primitive>_<name>``.
    variants : sequence of Variant
        The catalogue: the variants of every backend.
    plan_call : callable, optional
        From a request, forms, forms of ``out=`` or None, alignment, device, variant and the registry's generation to a
        :class:`~gpuprims.core.launch_plan.LaunchPlan`. It compiles nothing.
    sample : callable, optional
        From a :class:`~gpuprims.core.sample.Sample` to the launch plan of such a call. Without it,
        :func:`gpuprims.explain` refuses the primitive.
    bind : callable, optional
        From a call's arrays and keywords to its operands, request, ``out=`` and variant. Without it,
        :func:`gpuprims.plan` refuses the primitive.
    in_place : bool
        Whether an array of ``out=`` may have the elements of an input.
    """

    name: str
    variants: Sequence[Variant]
    plan_call: Callable[..., Any] | None = None
    sample: Callable[[Any], Any] | None = None
    bind: Callable[..., tuple[Any, Any, Any, Any]] | None = None
    in_place: bool = False
