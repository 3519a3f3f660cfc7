"""Logistic regression."""

from gpuprims.models.logreg.estimator import LogReg

__all__ = ["LogReg"]
