"""Rows of samples: in what pieces kernels read them."""

from __future__ import annotations

from gpuprims.core.launch_plan import Sample
from gpuprims.core.layout import VECTOR_BYTES, Form, contiguous


def vector_of(form: Form) -> int:
    """Return how many neighbours of a row are read at once: each row is to begin at a whole vector."""
    vector = VECTOR_BYTES // form.item
    whole = not form.shape[1] % vector and not form.offset % VECTOR_BYTES and form.alignment >= VECTOR_BYTES
    return vector if whole else 1


def power_of_two(number: int) -> int:
    """Return the least power of two that is not below a number."""
    return 1 << (number - 1).bit_length()


def sample_forms(call: Sample) -> tuple[Form, ...]:
    """Return rows, labels and weights for ``explain``, of so many samples and features."""
    n, k = call.size, call.outputs
    return tuple(contiguous(call.dtype, shape, 16) for shape in ((n, k), (n,), (k,)))
