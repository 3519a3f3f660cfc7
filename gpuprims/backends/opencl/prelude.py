"""The text before each kernel: what OpenCL says differently from other backends."""

from pathlib import Path

PRELUDE = Path(__file__).with_name("prelude.cl")
