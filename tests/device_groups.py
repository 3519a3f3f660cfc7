"""Groups of the devices of this machine, for tests that run anywhere."""

from __future__ import annotations

import gpuprims
from conftest import SPECS

# Shards on the NumPy reference, on the first device twice, and on all devices, whose kernels differ.
KINDS = {"reference": ["reference"] * 3, SPECS[0]: SPECS[:1] * 2, "all": [*SPECS, *SPECS[:1]]}


def group_of(kind: str) -> gpuprims.DeviceGroup:
    """Return a group of devices."""
    return gpuprims.DeviceGroup(KINDS[kind])
