"""Short vectors along an axis, as elements of several numbers."""

from __future__ import annotations

from collections.abc import Sequence

from gpuprims.core.layout import VECTOR_BYTES, Form


def as_lanes(form: Form, axis: int) -> tuple[Form, ...]:
    """Make an axis the components of vectors: one form if an instruction can move a vector, else one per component."""
    axis %= len(form.shape)
    count, stride = form.shape[axis], form.strides[axis]
    shape, strides = ((*own[:axis], *own[axis + 1 :]) for own in (form.shape, form.strides))
    part = form._replace(shape=shape, strides=strides)
    width = count * form.dtype.itemsize
    whole = stride == form.dtype.itemsize and not any(place % width for place in part.strides)
    if whole and count in (2, 4, 8, 16) and width <= VECTOR_BYTES and form.begins_at(part.offset, width):
        return (part._replace(lanes=count),)
    return tuple(part._replace(offset=part.offset + k * stride) for k in range(count))


def split_lanes(forms: Sequence[Form], vector_axis: int | None) -> tuple[list[Form], tuple[int, ...]]:
    """Return the kernel's operands, and which array each lies in."""
    parts = [as_lanes(form, vector_axis) if vector_axis is not None and form.shape else (form,) for form in forms]
    return [form for part in parts for form in part], tuple(k for k, part in enumerate(parts) for _ in part)
