"""Primitives: what the package of each one provides, found by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Primitive:
    """What the package of a primitive provides, as its attribute ``PRIMITIVE``.

    Parameters
    ----------
    name : str
    plan_call : callable
        From a request, forms, forms of ``out=`` or None, alignment, device, variant and the registry's generation to a
        :class:`~gpuprims.core.launch_plan.LaunchPlan`. It compiles nothing.
    sample : callable
        From a :class:`~gpuprims.core.launch_plan.Sample` to the launch plan of such a call.
    bind : callable, optional
        From a call's arrays and keywords to its operands, request, ``out=`` and variant. Without it,
        :func:`gpuprims.plan` refuses the primitive.
    in_place : bool
        Whether an array of ``out=`` may have the elements of an input.
    """

    name: str
    plan_call: Callable[..., Any]
    sample: Callable[..., Any]
    bind: Callable[..., tuple[Any, Any, Any, Any]] | None = None
    in_place: bool = False


def primitive_names() -> tuple[str, ...]:
    """Return the names of all primitives."""
    names: tuple[str, ...] = importlib.import_module("gpuprims.primitives").ROOMS
    return names


def find_primitive(name: str) -> Primitive:
    """Return the primitive of a name among :func:`primitive_names`."""
    primitive: Primitive = importlib.import_module(f"gpuprims.primitives.{name}").PRIMITIVE
    return primitive


def trial_primitive() -> str:
    """Return the primitive whose kernel shows whether a device computes."""
    name: str = importlib.import_module("gpuprims.primitives").TRIAL
    return name
