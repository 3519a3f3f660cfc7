"""Doctests import every module; those of some need CuPy, torch or Dask, which are not everywhere.

What the person at this machine has tuned is not what is tested.
"""

import os
from importlib.util import find_spec

NEEDS = {"cupy": "gpuprims/backends/cuda/*.py", "torch": "gpuprims/torch/*.py"}
NEEDS["dask"] = "gpuprims/distributed/dask_*.py"
collect_ignore_glob = [path for library, path in NEEDS.items() if not find_spec(library)]

os.environ["GPUPRIMS_TUNING"] = "off"
