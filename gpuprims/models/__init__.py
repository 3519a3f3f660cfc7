"""Models built from the primitives, with scikit-learn's interface; loading them loads scikit-learn."""

from gpuprims.models.logreg import LogReg
from gpuprims.models.mail import Mail, generated_mail, read_mail
from gpuprims.models.metrics import Rates, rates_table
from gpuprims.models.spam import SpamFilter
from gpuprims.models.spam_training import Training, train_filter

__all__ = [
    "LogReg",
    "Mail",
    "Rates",
    "SpamFilter",
    "Training",
    "generated_mail",
    "rates_table",
    "read_mail",
    "train_filter",
]
