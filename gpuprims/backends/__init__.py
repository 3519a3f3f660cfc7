"""The vendors' libraries behind one contract, :mod:`gpuprims.core.driver`. Each is imported when it is asked for."""

from pathlib import Path

# The text before each kernel, by backend: it defines what the languages say differently.
PRELUDES = {name: Path(__file__).parent / name / f"prelude.{end}" for name, end in (("cuda", "cuh"), ("opencl", "cl"))}
