"""Logistic regression."""

from gpuprims.models.logreg.batch import Inference, LogRegBatch
from gpuprims.models.logreg.cv import LogRegCV
from gpuprims.models.logreg.estimator import LogReg
from gpuprims.models.logreg.paths import LogRegPath

__all__ = ["Inference", "LogReg", "LogRegBatch", "LogRegCV", "LogRegPath"]
