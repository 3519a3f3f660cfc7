"""Models built from the primitives, with scikit-learn's interface; importing them imports scikit-learn."""

from gpuprims.models.logreg import LogReg
from gpuprims.models.metrics import Rates, rates_table
from gpuprims.models.spam import Mail, SpamFilter, Training, generated_mail, read_mail, train_filter

__all__ = ["LogReg", "Mail", "Rates", "SpamFilter", "Training"]
__all__ += ["generated_mail", "rates_table", "read_mail", "train_filter"]
