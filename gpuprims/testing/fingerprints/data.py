"""Numbers for the calls of a fingerprint, made on the device that computes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.primitives.philox import random

FLOATS = ("float32", "float64")


@dataclass(frozen=True)
class Data:
    """Arrays of the host by :func:`gpuprims.random`, for calls on a device."""

    device: Device
    small: bool
    _made: dict[Any, np.ndarray] = field(default_factory=dict)

    def some(self, whole: int, small: int) -> int:
        """Return a number for the whole suite or for the small one."""
        return small if self.small else whole

    def numbers(self, shape: Any, dtype: str = "float32", kind: str = "normal", key: int = 27, **how: Any) -> Any:
        """Return random numbers, made once."""
        told = shape, dtype, kind, key, *how.items()
        if told not in self._made:
            how |= {"kind": kind, "dtype": dtype, "device": self.device}
            self._made[told] = np.asarray(random(key, shape, **how))
        return self._made[told]

    def uneven(self, shape: Any, dtype: str = "float32") -> Any:
        """Return normal numbers of many exponents, with infinities, zeros with a sign and NaN among them."""
        x = self.numbers(shape, dtype).copy()
        flat = x.reshape(-1)
        exponents = self.numbers(flat.size, "int32", "integers", low=-30, high=31)
        flat[:] = np.ldexp(flat, exponents)
        flat[7::1009], flat[11::1013], flat[13::2003], flat[17::3001] = np.inf, -0.0, np.nan, -np.inf
        return x
