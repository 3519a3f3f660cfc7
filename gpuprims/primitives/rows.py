"""Arrays with a row for each sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.device import device_of
from gpuprims.core.launch_plan import Sample
from gpuprims.core.layout import VECTOR_BYTES, Form, contiguous, is_contiguous
from gpuprims.core.operands import Operands
from gpuprims.primitives.copies import with_copies

# Bytes of the shortest vector of integers that is worth a load.
_LEAST_BYTES = 4


def side_by_side(operands: Operands) -> Operands:
    """Make contiguous copies of arrays that are not contiguous, for kernels that take no strides."""
    return with_copies(operands, [not is_contiguous(form) for form in operands.forms])


def vector_of(form: Form) -> int:
    """Return how many neighbours of a row a kernel may load at once: each row must begin at a whole vector."""
    vector = VECTOR_BYTES // form.item
    least = vector if form.dtype.kind == "f" else _LEAST_BYTES // form.item  # integers may be read by a few
    while vector > 1 and (form.shape[1] % vector or not form.begins_at(form.offset, vector * form.item)):
        vector = vector // 2 if vector > least else 1
    return vector


def sample_forms(call: Sample) -> tuple[Form, ...]:
    """Return samples, labels and weights for ``explain``: a row for each element, a feature for each output."""
    n, k = call.size, call.outputs
    return tuple(contiguous(call.dtype, shape, 16) for shape in ((n, k), (n,), (k,)))


def beside(array: Any, *others: np.ndarray) -> tuple[Any, ...]:
    """Return an array and others, copied to its device, for tuning cases."""
    device = device_of(array)
    return (array, *(others if device is None else map(device.asarray, others)))
