"""Primitives: one record each, by which the core finds what a primitive's package provides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

from gpuprims.core.tuning_case import TuningCase
from gpuprims.core.variant import Variant


class Planner(NamedTuple):
    """How a function is planned: from the arrays and the keywords of a call to a ``Planned`` (core/planned.py).

    Its keywords are those of ``bind``, after the arrays, and ``more``. ``refused`` has keywords of the function that no
    plan can have, and the reason.
    """

    plan: Callable[[tuple[Any, ...], dict[str, Any]], Any]
    bind: Callable[..., Any]
    more: tuple[str, ...] = ()
    refused: Mapping[str, str] = {}


@dataclass(frozen=True)
class Primitive:
    """A primitive of this library or of an installed package.

    Parameters
    ----------
    name : str
        Names of kernel functions begin with it: ``<primitive>_<name>``.
    variants : sequence of Variant
        The catalogue: the variants of every backend.
    plan_call : callable
        From a request, forms, forms of ``out=`` or None, alignment, device, variant and the registry's generation to a
        :class:`~gpuprims.core.launch_plan.LaunchPlan`. It compiles nothing.
    sample : callable
        From a :class:`~gpuprims.core.launch_plan.Sample` to the launch plan of such a call.
    bind : callable, optional
        From a call's arrays and keywords to its operands, request, ``out=`` and variant. Without it,
        :func:`gpuprims.plan` refuses the primitive.
    in_place : bool
        True if an array of ``out=`` may be one of the inputs.
    tuning_case : str, optional
        The module whose ``CASE`` is a :class:`~gpuprims.core.tuning_case.TuningCase`. Without it, the primitive is
        neither tuned nor checked by :mod:`gpuprims.testing`.
    tuned : bool, default True
        True if ``gpuprims tune`` measures the case.
    plans : mapping, optional
        How :func:`gpuprims.plan` plans functions that ``bind`` and ``plan_call`` do not describe, by their names; or a
        module whose ``PLANS`` have it, which is imported when it is first asked for.
    """

    name: str
    variants: Sequence[Variant]
    plan_call: Callable[..., Any]
    sample: Callable[[Any], Any]
    bind: Callable[..., tuple[Any, Any, Any, Any]] | None = None
    in_place: bool = False
    tuning_case: str | None = None
    tuned: bool = True
    plans: Mapping[str, Planner | str] = field(default_factory=dict, compare=False)

    def planner(self, name: str) -> Planner:
        """Return how one of ``plans`` is planned."""
        found = self.plans[name]
        return import_module(found).PLANS[name] if isinstance(found, str) else found

    @property
    def case(self) -> TuningCase | None:
        """The tuning case, imported when it is first asked for."""
        return None if self.tuning_case is None else import_module(self.tuning_case).CASE
