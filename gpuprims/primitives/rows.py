"""Rows of samples: operands whose rows lie side by side, and in what pieces kernels read them."""

from __future__ import annotations

from gpuprims.arrays import Operands
from gpuprims.layout import VECTOR_BYTES, Form, Layout, contiguous
from gpuprims.primitives.map import map as map_arrays


def side_by_side(operands: Operands) -> Operands:
    """Return the same arrays, those whose elements lie apart copied together."""
    apart = [not _lies_together(form) for form in operands.forms]
    if not any(apart):
        return operands
    natives = zip(operands.natives, apart, strict=True)
    return operands.instead(
        *(map_arrays("x", array, device=operands.device) if copied else array for array, copied in natives)
    )


def _lies_together(form: Form) -> bool:
    together = contiguous(form.dtype, form.shape, 1).strides
    return all(n == 1 or a == b for n, a, b in zip(form.shape, form.strides, together, strict=True))


def layout_of(forms: tuple[Form, ...]) -> Layout:
    """Return where operands begin; kernels know how far apart rows and elements lie."""
    still = ((),) * len(forms)
    return Layout(forms, (), (), still, still, tuple([form.offset // form.item for form in forms]))


def vector_of(form: Form) -> int:
    """Return how many neighbours of a row are read at once: each row is to begin at a whole vector."""
    vector = VECTOR_BYTES // form.item
    whole = not form.shape[1] % vector and not form.offset % VECTOR_BYTES and form.alignment >= VECTOR_BYTES
    return vector if whole else 1


def power_of_two(number: int) -> int:
    """Return the least power of two that is not below a number."""
    return 1 << (number - 1).bit_length()
