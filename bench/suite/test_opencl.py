"""The benchmarks on an OpenCL device: ``python -m pytest bench/suite/test_opencl.py --benchmark-only``."""

from __future__ import annotations

from .models import Fits, Models, Texts
from .ordered import Ordered
from .primitives import Elements, Neighbours, Samples


class TestElements(Elements):
    backend = "opencl"


class TestNeighbours(Neighbours):
    backend = "opencl"


class TestOrdered(Ordered):
    backend = "opencl"


class TestSamples(Samples):
    backend = "opencl"


class TestFits(Fits):
    backend = "opencl"


class TestTexts(Texts):
    backend = "opencl"


class TestModels(Models):
    backend = "opencl"
