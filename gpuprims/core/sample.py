"""A call as ``explain`` describes it to the package of a primitive."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device


class Sample(NamedTuple):
    """A call without arrays; see :func:`gpuprims.explain` for the fields."""

    device: Device
    dtype: np.dtype[Any]
    size: int
    outputs: int
    side_by_side: bool
    op: Any
    bins: int
