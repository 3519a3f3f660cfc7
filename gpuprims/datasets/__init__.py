"""Data of the articles that the library grew from: generated, or read from text files."""

from gpuprims.datasets.feature_files import read_features
from gpuprims.datasets.normals import two_normals
from gpuprims.datasets.words import spam_counts

__all__ = ["read_features", "spam_counts", "two_normals"]
