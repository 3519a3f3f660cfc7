"""Data of the articles that the library grew from: generated, or read from text files."""

from typing import Never

from gpuprims.datasets.feature_files import read_features
from gpuprims.datasets.normals import two_normals
from gpuprims.datasets.words import spam_counts
from gpuprims.errors import absent

__all__ = ["read_features", "spam_counts", "two_normals"]


def __getattr__(name: str) -> Never:
    raise absent(__name__, name, __all__)
