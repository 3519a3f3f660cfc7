"""The articles' ladder of kernels for a logistic gradient, the same on every backend that compiles kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gpuprims.core.refusals import double_precision, gradient_fits, gradients_fit, group_fits, values_fit
from gpuprims.core.registry import Variant, first_refusal


def ladder(backend: str, kernels: Path) -> tuple[Variant, ...]:
    """Return the rungs, which run when asked for by name, or two_kernels_local where rows are too long for the rest.

    Parameters
    ----------
    backend : str
    kernels : Path
        The folder of its kernel files.
    """

    def rung(name: str, rank: int, **how: Any) -> Variant:
        return Variant("logistic", name, backend, kernels / f"logistic_{name}.cl", rank, items=1, **how)

    grid: dict[str, Any] = {"block": 64, "groups_per_unit": 16}
    group: dict[str, Any] = {"block": 64, "shares_outputs": False}
    alone: dict[str, Any] = {"block": 1, "shares_outputs": False}
    fits = first_refusal(double_precision, group_fits(64))
    sums_fit = first_refusal(fits, gradients_fit(64))
    return (
        rung("two_kernels_local", 70, scratch="rows in turn", refuse=first_refusal(fits, values_fit(64)), **grid),
        rung("two_kernels", 60, scratch="rows in turn", refuse=fits, **grid),
        rung("two_kernels_transposed", 55, scratch="columns in turn", refuse=fits, **grid),
        rung("vec4", 50, vectors=True, refuse=sums_fit, **group),
        rung("tree", 40, refuse=sums_fit, **group),
        rung("work_items", 30, refuse=sums_fit, **group),
        rung("merged_loops", 20, refuse=first_refusal(double_precision, gradient_fits), **alone),
        rung("sequential", 10, scratch="rows", refuse=double_precision, **alone),
    )
