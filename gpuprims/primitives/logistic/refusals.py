"""Refusals of logistic regression: of its gradient, of batch gradient descent, and of steps by single samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.geometry import Geometry, Refusal
from gpuprims.core.refusals import values_fit
from gpuprims.core.traits import CallTraits


@dataclass(frozen=True)
class LogisticTraits(CallTraits):
    """Traits of a gradient; ``weighted`` is True if there are sample weights."""

    weighted: bool = False


# Bytes of a gradient that a work-item of a CPU keeps on its stack.
_MOST_PRIVATE = 65_536
# Most features of a row that the fixed tree takes: more would not fit in the registers of its lanes.
MOST_OF_TREE = 1024
# Most columns that the lanes of a warp can share.
_MOST_COLUMNS = 32


def number_atomics(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse numbers of 64 bits on devices without 64-bit atomics."""
    if call.value_bytes > 4 and not capabilities.int64_atomics:
        return f"needs atomics on 64 bits for {call.dtypes[0]}, which {capabilities.name} lacks (convert to float32)"
    return None


def samples_of_floats(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse samples that are stored as integers."""
    if (stored := call.dtypes[-1]).kind == "f":
        return None
    return f"takes samples of floats; this call's are {stored} (convert them)"


def samples_of_bytes(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse samples other than int8 beside float32, without sample weights."""
    weighted = isinstance(call, LogisticTraits) and call.weighted
    if call.dtypes == (np.dtype(np.float32), np.dtype(np.int8)) and not weighted:
        return None
    got = f"are {call.dtypes[-1]} beside {call.dtypes[0]}{', with sample weights' * weighted}"
    return f"takes samples of int8 beside float32, without sample weights; this call's {got}"


def row_fits(at: Geometry) -> Refusal:
    """Refuse rows that do not fit in the registers of a group, where a work-item holds ``items`` words."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        most = at.block * at.items * 4 // call.value_bytes
        if call.outputs <= most:
            return None
        return f"holds a row in the registers of a group, up to {most} features of {call.dtypes[0]}; got {call.outputs}"

    return refuse


def gradient_fits(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse gradients that do not fit on the stack of a CPU thread."""
    most = _MOST_PRIVATE // call.value_bytes
    if call.outputs <= most:
        return None
    return f"keeps a gradient a thread, of up to {most} features of {call.dtypes[0]}; got {call.outputs}"


def few_features(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse rows that the lanes of the fixed tree do not hold in registers."""
    if call.outputs <= MOST_OF_TREE:
        return None
    return f"adds up to {MOST_OF_TREE} features by a fixed tree; got {call.outputs}"


def gradients_fit(block: int) -> Refusal:
    """Refuse devices whose local memory is too small for the sums of ``block`` work-items."""
    # One value more than the sums: NVIDIA's OpenCL does not offer all of its local memory.
    return lambda capabilities, call: values_fit(block * (call.outputs + 3))(capabilities, call)


def samples_fit(at: Geometry) -> Refusal:
    """Refuse samples that do not fit in the registers of a group, where a work-item holds ``items`` words."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        most = at.block * at.items * 4 // call.value_bytes
        if -(-call.size // at.block) * at.block * call.outputs <= most:
            return None
        return f"holds up to {most} numbers of {call.dtypes[0]}; got {call.size} rows of {call.outputs}"

    return refuse


def columns_fit(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse rows with more columns than the lanes of a warp can share."""
    if call.outputs <= _MOST_COLUMNS:
        return None
    return f"folds up to {_MOST_COLUMNS} columns in a warp, the intercept's with them; got {call.outputs}"
