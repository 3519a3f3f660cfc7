"""Models of hidden causes: principal components, probabilistic and sparse ones, and factor analysis."""

from gpuprims.models.decomposition.factor_analysis import FactorAnalysis
from gpuprims.models.decomposition.pca import PCA
from gpuprims.models.decomposition.ppca import PPCA
from gpuprims.models.decomposition.sparse_pca import SparsePCA

__all__ = ["PCA", "PPCA", "FactorAnalysis", "SparsePCA"]
