"""Doctests import every module; the CUDA backend's need CuPy, which is not everywhere.

What the person at this machine has tuned is not what is tested.
"""

import os
from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("cupy") else ["gpuprims/backends/cuda/*.py"]

os.environ["GPUPRIMS_TUNING"] = "off"
