"""Checks of arguments, made before torch's dispatcher, whose errors name operators that the caller did not call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuprims.errors import ArgumentError, ArrayError, AxisError, axis_rule, quoted


def along(label: str, dim: Any, ndim: int) -> int:
    """Return a dimension as one from 0."""
    if isinstance(dim, bool) or not isinstance(dim, int | np.integer) or not -ndim <= dim < ndim:
        raise AxisError(f"{label}: dim {axis_rule(ndim)}; got {quoted(dim)}")
    return int(dim) % ndim


def check_tensors(label: str, *given: Any) -> None:
    """Raise for an argument that is not a tensor, before torch's dispatcher does."""
    for one in given:
        if not isinstance(one, Tensor):
            raise ArrayError(f"{label}: a tensor of torch; got {quoted(one)} (write torch.as_tensor(...))")


def check_flag(label: str, name: str, flag: Any) -> None:
    """Raise for a flag that is not a bool."""
    if not isinstance(flag, bool):
        raise ArgumentError(f"{label}: {name}= True or False; got {quoted(flag)}")


def check_name(label: str, op: Any) -> None:
    """Raise for an operator that is not given by its name."""
    if not isinstance(op, str):
        raise ArgumentError(f"{label}: op= the name of an operator; got {quoted(op)}")


def broadcast(*shapes: Sequence[int], to: Sequence[int] | None = None) -> bool:
    """Return True if shapes broadcast together; with ``to``, to this shape."""
    try:
        found = tuple(torch.broadcast_shapes(*shapes))
    except RuntimeError:
        return False
    return to is None or found == tuple(to)
