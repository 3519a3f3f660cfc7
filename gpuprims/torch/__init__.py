"""Primitives as operators of torch: with gradients, ``torch.compile`` and tensors on any device.

Importing this imports torch, and registers ``torch.ops.gpuprims``.
"""

import importlib

from gpuprims.errors import MissingExtraError

try:
    importlib.import_module("torch")
except ImportError as error:
    raise MissingExtraError("gpuprims.torch", "torch", error, "torch") from error

from gpuprims.torch.functions import linear_recurrence, map, reduce, scan, segment_reduce, stencil  # noqa: A004

__all__ = ["linear_recurrence", "map", "reduce", "scan", "segment_reduce", "stencil"]
