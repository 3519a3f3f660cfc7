"""Refusals of logistic regression: of its gradient, and of steps by it or by single samples."""

from __future__ import annotations

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.geometry import Geometry, Refusal
from gpuprims.core.refusals import values_fit
from gpuprims.core.traits import CallTraits

# Bytes of a gradient that a work-item of a CPU keeps on its stack.
MOST_PRIVATE = 65_536


def number_atomics(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse numbers that a device's atomics do not add to."""
    if call.value_bytes > 4 and not capabilities.int64_atomics:
        return f"needs atomics on 64 bits for {call.dtypes[0]}, which {capabilities.name} lacks (convert to float32)"
    return None


def row_fits(at: Geometry) -> Refusal:
    """Refuse rows that a group of so many work-items, each with so many words in registers, does not hold."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        most = at.block * at.items * 4 // call.value_bytes
        if call.outputs <= most:
            return None
        return f"holds a row in the registers of a group, up to {most} features of {call.dtypes[0]}; got {call.outputs}"

    return refuse


def gradient_fits(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse gradients that are too large for memory of a CPU thread's own."""
    if call.outputs * call.value_bytes <= MOST_PRIVATE:
        return None
    most = MOST_PRIVATE // call.value_bytes
    return f"keeps a gradient a thread, of up to {most} features of {call.dtypes[0]}; got {call.outputs}"


def gradients_fit(block: int) -> Refusal:
    """Refuse devices whose local memory is too small for the sums of each of so many work-items."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        return values_fit(block * (call.outputs + 3))(capabilities, call)  # NVIDIA's OpenCL lends not quite all

    return refuse


def samples_fit(at: Geometry) -> Refusal:
    """Refuse more samples than so many work-items, each with so many words, hold for all of a launch."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        words = call.value_bytes // 4
        rows = -(-call.size // at.block) * at.block
        if rows * call.outputs * words <= at.block * at.items:
            return None
        most = at.block * at.items // words
        return f"holds up to {most} numbers of {call.dtypes[0]}; got {call.size} rows of {call.outputs}"

    return refuse


def columns_fit(most: int) -> Refusal:
    """Refuse rows of more than ``most`` columns, which a warp's lanes cannot share."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        if call.outputs <= most:
            return None
        return f"folds up to {most} columns in a warp, the intercept's with them; got {call.outputs}"

    return refuse
