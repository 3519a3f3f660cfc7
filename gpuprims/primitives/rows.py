"""Samples as rows of a matrix."""

from __future__ import annotations

from gpuprims.core.launch_plan import Sample
from gpuprims.core.layout import VECTOR_BYTES, Form, contiguous, is_contiguous
from gpuprims.core.operands import Operands
from gpuprims.primitives.map import map as map_arrays


def vector_of(form: Form) -> int:
    """Return how many neighbours of a row one instruction reads; 1 unless each row begins at a whole vector."""
    vector = VECTOR_BYTES // form.item
    whole = not form.shape[1] % vector and not form.offset % VECTOR_BYTES and form.alignment >= VECTOR_BYTES
    return vector if whole else 1


def power_of_two(number: int) -> int:
    """Return the smallest power of two that is at least a number."""
    return 1 << (number - 1).bit_length()


def sample_forms(call: Sample) -> tuple[Form, ...]:
    """Return the forms of rows, labels and weights for ``explain``."""
    n, k = call.size, call.outputs
    return tuple(contiguous(call.dtype, shape, 16) for shape in ((n, k), (n,), (k,)))


def side_by_side(operands: Operands) -> Operands:
    """Return the arrays, each that is not contiguous replaced by a contiguous copy."""
    apart = [not is_contiguous(form) for form in operands.forms]
    if not any(apart):
        return operands
    natives = zip(operands.natives, apart, strict=True)
    return operands.instead(
        *(map_arrays("x", array, device=operands.device) if copied else array for array, copied in natives)
    )
