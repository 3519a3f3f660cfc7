"""Models built from the primitives, with scikit-learn's interface; importing them imports scikit-learn."""

import importlib
from typing import Never

from gpuprims.errors import MissingExtraError, absent

try:
    for name in ("scipy", "sklearn", "tqdm"):
        importlib.import_module(name)
except ImportError as error:
    raise MissingExtraError("gpuprims.models", "scikit-learn, SciPy and tqdm", error, "models") from error

from gpuprims.models.decomposition import PCA, PPCA, FactorAnalysis, SparsePCA
from gpuprims.models.few_shot import MatchingNet, Prototypes
from gpuprims.models.logreg import Inference, LogReg, LogRegBatch, LogRegCV, LogRegPath
from gpuprims.models.metrics import Rates, rates_table
from gpuprims.models.spam import (
    Mail,
    SpamFilter,
    TextOptions,
    Training,
    TrainingRuns,
    generated_mail,
    read_mail,
    train_filter,
    train_filter_runs,
)

__all__ = ["Inference", "LogReg", "LogRegBatch", "LogRegCV", "LogRegPath", "Mail", "Rates", "SpamFilter", "Training"]
__all__ += ["PCA", "PPCA", "FactorAnalysis", "MatchingNet", "Prototypes", "SparsePCA", "TextOptions"]
__all__ += ["TrainingRuns", "generated_mail", "rates_table", "read_mail", "train_filter", "train_filter_runs"]

# Names of scikit-learn's classes.
_INSTEAD = {
    "logisticregression": "LogReg", "logisticregressioncv": "LogRegCV", "incrementalpca": "PCA",
    "nearestcentroid": "Prototypes",
}  # fmt: skip


def __getattr__(name: str) -> Never:
    raise absent(__name__, name, __all__, _INSTEAD)
