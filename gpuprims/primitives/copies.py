"""Copies of arrays that kernels read faster than the arrays themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gpuprims.core.device import Device
from gpuprims.core.layout import Form
from gpuprims.core.operands import Operands
from gpuprims.core.taking import Step
from gpuprims.primitives.map import contiguous_copy, copier

# A GPU reads sectors of this many bytes: elements that lie further apart cost a sector each. A copy goes through tiles.
_SECTOR = 32
# Arrays of fewer elements are read as they are; so are larger ones than this part of the device's memory.
_FEWEST, _PART = 2**14, 8


def with_copies(operands: Operands, copied: Sequence[bool]) -> Operands:
    """Return operands with contiguous copies in place of some."""
    if not any(copied):
        return operands
    natives = zip(operands.natives, copied, strict=True)
    return operands.instead(*(contiguous_copy(array, operands.device) if one else array for array, one in natives))


def in_index_order(operands: Operands) -> tuple[Operands, Step | None]:
    """Copy arrays on a GPU whose neighbours in C order lie apart in memory, for kernels that read in that order.

    Return the operands, and the step that does the same in another call.
    """
    if operands.on_host or not _is_gpu(operands.device):
        return operands, None
    most = operands.device.capabilities.memory // _PART
    copied = [_lies_across(form, most) for form in operands.forms]
    return with_copies(operands, copied), copying(operands, copied)


def copying(operands: Operands, copied: Sequence[bool]) -> Step | None:
    """Return the step that puts contiguous copies in place of some arrays; None for no copies, and for large arrays."""
    if operands.on_host and (not operands.in_place or operands.exceed_room):
        return None
    natives = zip(operands.natives, copied, strict=True)
    copies = {k: copier(array, operands.device) for k, (array, one) in enumerate(natives) if one}
    if not copies:
        return None
    return lambda arrays: [copies[k]((array,)) if k in copies else array for k, array in enumerate(arrays)]


def _is_gpu(device: Device) -> bool:
    return device.capabilities.kind == "gpu"


def _lies_across(form: Form, most: int) -> bool:
    """Return True if neighbours along the last axis lie further apart than along another."""
    axes = [abs(stride) for stride, length in zip(form.strides, form.shape, strict=True) if length > 1]
    if not axes or axes[-1] < _SECTOR or min(filter(None, axes)) >= axes[-1] or not form.item < _SECTOR:
        return False
    size = math.prod(form.shape)
    return size >= _FEWEST and size * form.item <= most
