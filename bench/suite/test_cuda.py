"""The benchmarks on a CUDA device: ``python -m pytest bench/suite/test_cuda.py --benchmark-only``."""

from __future__ import annotations

from .models import Fits, Models, Texts
from .ordered import Ordered
from .primitives import Elements, Neighbours, Samples


class TestElements(Elements):
    backend = "cuda"


class TestNeighbours(Neighbours):
    backend = "cuda"


class TestOrdered(Ordered):
    backend = "cuda"


class TestSamples(Samples):
    backend = "cuda"


class TestFits(Fits):
    backend = "cuda"


class TestTexts(Texts):
    backend = "cuda"


class TestModels(Models):
    backend = "cuda"
