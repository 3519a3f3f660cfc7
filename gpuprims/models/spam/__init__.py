"""A spam filter: hashed words and logistic regression."""

from gpuprims.models.spam.features import TextOptions, text_features, words_and_marks
from gpuprims.models.spam.filter import SpamFilter, positive_probabilities
from gpuprims.models.spam.hashing import hash_counts
from gpuprims.models.spam.mail import Mail, generated_mail, read_mail
from gpuprims.models.spam.runs import TrainingRuns, train_filter_runs
from gpuprims.models.spam.training import Training, train_filter

__all__ = ["Mail", "SpamFilter", "TextOptions", "Training", "generated_mail", "hash_counts", "positive_probabilities"]
__all__ += ["TrainingRuns", "read_mail", "text_features", "train_filter", "train_filter_runs", "words_and_marks"]
