"""Doctests import every module; the CUDA backend's need CuPy, which is not everywhere."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("cupy") else ["gpuprims/backends/cuda/*.py"]
