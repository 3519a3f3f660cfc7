"""Classifiers for a few samples of each class: prototypes and matching networks."""

from gpuprims.models.few_shot.matching import MatchingNet
from gpuprims.models.few_shot.prototypes import Prototypes

__all__ = ["MatchingNet", "Prototypes"]
