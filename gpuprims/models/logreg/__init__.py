"""Logistic regression."""

from gpuprims.models.logreg.batch import Inference, LogRegBatch
from gpuprims.models.logreg.estimator import LogReg

__all__ = ["Inference", "LogReg", "LogRegBatch"]
