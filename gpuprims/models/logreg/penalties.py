"""Penalties by scikit-learn's parameters, and the solvers that serve them."""

from __future__ import annotations

from typing import Any, NamedTuple

from gpuprims.core.determinism import Level, refuse_levels
from gpuprims.errors import ArgumentError, quoted
from gpuprims.models.logreg import descent, device_lbfgs, newton, one_launch, proximal, screening
from gpuprims.models.logreg.progress import Solver

PENALTIES = ("elasticnet", "l1", "l2")
SMOOTH_SOLVERS: dict[str, Solver] = {
    "lbfgs": device_lbfgs.lbfgs,
    "newton-cholesky": newton.newton_cholesky,
    "gd": descent.gradient_descent,
    "minibatch": descent.minibatch,
    "sgd": descent.sgd,
    "hogwild": descent.hogwild,
}
L1_SOLVERS: dict[str, Solver] = {"newton-cd": proximal.newton_cd, "fista": proximal.fista}
SOLVERS = SMOOTH_SOLVERS | L1_SOLVERS
# Solvers whose kernel may be chosen by name.
_BY_VARIANT = ("gd", "sgd", "hogwild")
# Solvers by single samples: for two classes and features in their own dtype.
SAMPLE_SOLVERS = ("sgd", "hogwild")
# The highest level of solvers whose steps take some of the samples, and why; other solvers reach every level.
_PLACES = "whose steps take samples in an order that random_state draws over their places,"
_REACHED: dict[str, tuple[Level, str]] = {
    "sgd": ("device", _PLACES),
    "minibatch": ("device", _PLACES),
    "hogwild": ("run", "whose work-items change the weights without waiting for each other,"),
}
_OF_ALL = 'solver="gd", "lbfgs" or "newton-cholesky", which add up all samples'


class Strengths(NamedTuple):
    """Factors of a penalty per unit of sample weight: of half the sum of squares, and of the sum of magnitudes."""

    l2: float
    l1: float


def strengths_of(penalty: str | None, l1_ratio: float, C: float, total: float) -> Strengths:
    """Return the factors for samples of this total weight; raise ArgumentError for parameters that disagree."""
    ratio = {"l1": 1.0, "l2": 0.0}.get(penalty or "", float(l1_ratio))
    if penalty in ("l1", "l2") and l1_ratio not in (0, ratio):
        got = f'got {l1_ratio} (use penalty="elasticnet")'
        raise ArgumentError(f"LogReg: l1_ratio={ratio:g} with penalty={penalty!r}; {got}")
    factor = 0.0 if penalty is None else 1 / (float(C) * total)
    return Strengths(factor * (1 - ratio), factor * ratio)


def solver_of(model: Any, strengths: Strengths, *, classes: int, features: int) -> Solver:
    """Return the solver that a model asks for; raise ArgumentError for one that cannot fit these samples."""
    sparse = strengths.l1 > 0
    if sparse:
        refuse_levels("LogReg", "fits with an L1 penalty", instead="l1_ratio=0, which reaches every level")
    if model.variant is not None and model.solver not in _BY_VARIANT:
        rule = f"variant= with solver= one of {', '.join(map(repr, _BY_VARIANT))}"
        raise ArgumentError(f"LogReg: {rule}; got {quoted(model.variant)} with {model.solver!r}")
    if model.solver == "auto":
        if not sparse:
            return one_launch.newton_or_lbfgs
        outputs = 1 if classes == 2 else classes
        return proximal.newton_cd if outputs * features <= proximal.MOST_OF_HESSIAN else screening.screened
    if sparse != (model.solver in L1_SOLVERS):
        rule, got = "l1_ratio above 0 and a finite C", "no L1 penalty"
        rule, got = ("l1_ratio=0", "an L1 penalty") if sparse else (rule, got)
        others = ", ".join(map(repr, ["auto", *(L1_SOLVERS if sparse else SMOOTH_SOLVERS)]))
        raise ArgumentError(f"LogReg: {rule} with solver={model.solver!r}; got {got} (use {others})")
    if model.solver in _REACHED:
        reached, why = _REACHED[model.solver]
        refuse_levels("LogReg", f"fits by {model.solver!r}, {why}", reached, _OF_ALL)
    if model.solver in SAMPLE_SOLVERS:
        others = ", ".join(repr(name) for name in SMOOTH_SOLVERS if name not in SAMPLE_SOLVERS)
        if classes > 2:
            got = f"got {classes}: Only binary classification is supported (use {others})"
            raise ArgumentError(f"LogReg: two classes with solver={model.solver!r}; {got}")
        if model.composed:
            got = f"got True (use {others})"
            raise ArgumentError(f"LogReg: composed=False with solver={model.solver!r}, a kernel of its own; {got}")
    return SOLVERS[model.solver]
