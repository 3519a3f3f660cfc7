"""The text before each kernel: what CUDA says differently from other backends."""

from pathlib import Path

PRELUDE = Path(__file__).with_name("prelude.cuh")
