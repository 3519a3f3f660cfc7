"""The solvers by name."""

from __future__ import annotations

from gpuprims.models.logreg.conditioning import Solver
from gpuprims.models.logreg.descent import gradient_descent, minibatch
from gpuprims.models.logreg.lbfgs import lbfgs
from gpuprims.models.logreg.newton import newton_cholesky
from gpuprims.models.logreg.sgd import hogwild, sgd

SOLVERS: dict[str, Solver] = {
    "lbfgs": lbfgs,
    "newton-cholesky": newton_cholesky,
    "gd": gradient_descent,
    "minibatch": minibatch,
    "sgd": sgd,
    "hogwild": hogwild,
}
# Solvers by single samples: for two classes and features in their own dtype.
SAMPLE_SOLVERS = frozenset({"sgd", "hogwild"})
