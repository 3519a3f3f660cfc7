"""Refusals that variants of several backends share; each is a sentence about the variant it speaks for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gpuprims.core.driver import Capabilities
from gpuprims.core.geometry import Refusal
from gpuprims.core.kernel_spec import DOUBLES
from gpuprims.core.layout import VECTOR_BYTES
from gpuprims.core.registry import MOST_GROUPS
from gpuprims.core.traits import Around, Call

# Ranges of bins, each of which fits in local memory, that are worth a reading of all elements.
_MOST_RANGES = 8
# Bytes of local memory for a few numbers that a group shares, beside arrays of values.
SPARE_LOCAL = 64
# Local memory for the places behind a range, one in each plane.
BEHIND_RANGE = 64
# Numbers of 32 bits that a work-item keeps of a stencil's neighbourhoods in registers, elements of a row that it takes
# at least, and operations in all the phases of a window that are worth compiling.
MOST_NUMBERS, LEAST_ITEMS, MOST_OPERATIONS = 128, 4, 8192
# Elements of a row of a tile in local memory.
TILE_WIDTH = 64
# Rows of a strip that are loaded together before they are needed.
ROWS_AT_ONCE = 4
# Rows of a neighbourhood that is applied twice in one launch.
MOST_ROWS_TWICE = 3
# Bytes of a gradient that a work-item of a CPU keeps, which are on its stack.
MOST_PRIVATE = 65_536
# Numbers that a work-item of a CPU keeps, so that they stay in a cache of its core.
CPU_NUMBERS = 24_576


def for_cpus(capabilities: Capabilities, call: Call) -> str | None:
    """Refuse what is no CPU."""
    if capabilities.kind == "cpu":
        return None
    return f"is for CPUs, where each work-item is a thread of its own; {capabilities.name} is a {capabilities.kind}"


def not_for_cpus(capabilities: Capabilities, call: Call) -> str | None:
    """Refuse CPUs."""
    if capabilities.kind != "cpu":
        return None
    return f"is for GPUs, which run all groups at the same time whatever else they do; {capabilities.name} is a CPU"


def double_precision(capabilities: Capabilities, call: Call) -> str | None:
    """Refuse float64 and complex128 on a device without double precision."""
    needed = [dtype for dtype in call.dtypes if dtype in DOUBLES]
    if not needed or capabilities.fp64:
        return None
    smaller = "complex64" if needed[0].kind == "c" else "float32"
    return f"needs {needed[0]}, which {capabilities.name} does not compute in (convert to {smaller})"


def picks_one(capabilities: Capabilities, call: Call) -> str | None:
    """Refuse operators that do more than to pick one of their values."""
    if call.picks:
        return None
    return "is for operators that pick one of their values, such as argmax; this call's does not say so"


def many_outputs(capabilities: Capabilities, call: Call) -> str | None:
    """Refuse what leaves work-items idle, or far apart in memory, when each folds an output of its own."""
    if call.side_by_side:
        return None if call.outputs >= 32 else f"is for 32 outputs side by side or more; this call has {call.outputs}"
    if call.size <= 64 and call.outputs >= 1024:
        return None
    return f"is for outputs side by side, or 1024 of at most 64 elements; this call has {call.outputs} of {call.size}"


def columns(capabilities: Capabilities, call: Call) -> str | None:
    """Refuse what is not like the columns of a matrix."""
    if call.side_by_side and call.outputs >= 16:
        return None
    lie = "side by side" if call.side_by_side else "apart"
    return f"is for 16 outputs side by side or more; this call has {call.outputs} that lie {lie}"


def many_columns(outputs: int) -> Refusal:
    """Refuse what leaves the device idle when each work-item has one column of a matrix to itself."""

    def refuse(capabilities: Capabilities, call: Call) -> str | None:
        if call.side_by_side and call.outputs >= outputs:
            return None
        lie = "side by side" if call.side_by_side else "apart"
        return f"is for {outputs} outputs side by side or more; this call has {call.outputs} that lie {lie}"

    return refuse


def many_rows(capabilities: Capabilities, call: Call) -> str | None:
    """Refuse what leaves warps idle, or their lanes far apart in memory, when each output has a few lanes to itself."""
    if call.side_by_side:
        return "is for outputs whose elements lie together; this call's outputs lie side by side"
    if call.size <= 2048 and call.outputs >= 1024:
        return None
    return f"is for 1024 outputs or more of at most 2048 elements; this call has {call.outputs} of {call.size}"


def many_segments(capabilities: Capabilities, call: Call) -> str | None:
    """Refuse segments that leave most warps idle: too few, or so long that the rest is done before one of them is."""
    if call.size <= 8192 and call.outputs >= 1024:
        return None
    got = f"{call.outputs}, none longer than {call.size}"
    return f"is for 1024 segments or more of at most 8192 elements; this call has {got}"


def group_fits(block: int) -> Refusal:
    """Refuse devices whose groups are smaller than ``block``."""

    def refuse(capabilities: Capabilities, call: Call) -> str | None:
        if capabilities.group_limit < block:
            return f"needs groups of {block} work-items; {capabilities.name} allows {capabilities.group_limit}"
        return None

    return refuse


def values_fit(block: int) -> Refusal:
    """Refuse devices whose local memory is too small for ``block`` values a group."""

    def refuse(capabilities: Capabilities, call: Call) -> str | None:
        return _lacks_local(block * call.value_bytes + SPARE_LOCAL, capabilities)

    return refuse


def _lacks_local(wanted: int, capabilities: Capabilities) -> str | None:
    if capabilities.local_memory >= wanted:
        return None
    return f"needs {wanted} bytes of local memory a group; {capabilities.name} has {capabilities.local_memory}"


def partials_fit(block: int) -> Refusal:
    """Refuse devices whose local memory is too small for twice a value of each warp of a group."""

    def refuse(capabilities: Capabilities, call: Call) -> str | None:
        return values_fit(2 * _warps(block, capabilities))(capabilities, call)

    return refuse


def _warps(block: int, capabilities: Capabilities) -> int:
    """Return how many warps scanning.h makes of a group; a work-item each if the device's warps do not fit."""
    warp = capabilities.warp
    return block // warp if warp and block <= warp**2 and block % warp == 0 else block


def gathered_fit(block: int, items: int) -> Refusal:
    """Refuse devices whose local memory is too small for a tile, and for a few values."""

    def refuse(capabilities: Capabilities, call: Call) -> str | None:
        words = block * items + 2 * _warps(block, capabilities)
        return values_fit(words)(capabilities, replace(call, value_bytes=4))

    return refuse


def shuffles(block: int) -> Refusal:
    """Refuse devices without shuffles, or whose warps are too narrow to fold a group in two steps."""

    def refuse(capabilities: Capabilities, call: Call) -> str | None:
        if not capabilities.warp:
            return f"needs shuffles, which {capabilities.name} does not offer here"
        if block % capabilities.warp:
            return whole_warps(block)(capabilities, call)
        if block > capabilities.warp**2:
            return f"needs warps of {block} work-items' root; those of {capabilities.name} have {capabilities.warp}"
        return None

    return refuse


def whole_warps(block: int) -> Refusal:
    """Refuse devices on which so many work-items are not whole warps."""

    def refuse(capabilities: Capabilities, call: Call) -> str | None:
        if not capabilities.warp or block % capabilities.warp == 0:
            return None
        return f"needs groups of whole warps; {block} work-items are not, of {capabilities.warp} on {capabilities.name}"

    return refuse


def few_outputs(capabilities: Capabilities, call: Call) -> str | None:
    """Refuse more outputs than a board can count tiles of, in 32 bits, and groups beside them."""
    if call.outputs <= MOST_GROUPS:
        return None
    return f"counts tiles in 32 bits, which is for 2^30 outputs at most; this call has {call.outputs}"


def forward_progress(capabilities: Capabilities, call: Call) -> str | None:
    """Refuse devices on which groups cannot wait for each other."""
    if not capabilities.int64_atomics:
        return f"needs atomics on 64 bits, which {capabilities.name} lacks"
    if not capabilities.forward_progress:
        return f"needs groups that run at the same time; {capabilities.name}: {capabilities.progress.reason}"
    return None


def histogram_fits(capabilities: Capabilities, call: Call) -> str | None:
    """Refuse devices whose local memory is too small for a histogram."""
    if call.histogram_bytes <= capabilities.asked_local_memory:
        return None
    return (
        f"needs {call.histogram_bytes} bytes of local memory for {call.bins} bins; {capabilities.name} has"
        f" {capabilities.asked_local_memory}"
    )


def counted(capabilities: Capabilities, call: Call) -> str | None:
    """Refuse weights."""
    return "counts elements; this call has weights" if call.value_bytes > 4 else None


def ranges_fit(capabilities: Capabilities, call: Call) -> str | None:
    """Refuse more bins than a few ranges hold that each fit in local memory."""
    most = _MOST_RANGES * (capabilities.asked_local_memory - BEHIND_RANGE)
    if call.histogram_bytes <= most:
        return None
    asked = call.histogram_bytes
    return f"is for sums of {most} bytes at most, {_MOST_RANGES} times the local memory; this call's have {asked}"


def counted_bytes(capabilities: Capabilities, call: Call) -> str | None:
    """Refuse what is not a count of elements of a byte each."""
    if call.dtypes[0].itemsize > 1:
        return f"is for elements of one byte; this call has {call.dtypes[0]}"
    if call.value_bytes > 4:
        return counted(capabilities, call)
    return _lacks_local(256 * 32 * 4, capabilities)  # a count of each value for each of 32 lanes, and nothing else


def sums_add_atomically(capabilities: Capabilities, call: Call) -> str | None:
    """Refuse devices without the atomics that add to a bin."""
    if call.value_bytes > 4 and not capabilities.int64_atomics:
        return f"needs atomics on 64 bits, which {capabilities.name} lacks"
    return None


def one_atomic(capabilities: Capabilities, call: Call) -> str | None:
    """Refuse what one atomic operation cannot fold into memory."""
    if not call.commutative:
        return "folds groups in the order in which they are done; this operator does not commute"
    if call.value_bytes > 8:
        return f"folds values of at most 8 bytes by one atomic; this operator's have {call.value_bytes}"
    if call.value_bytes == 8 and not capabilities.int64_atomics:
        return f"needs atomics on 64 bits, which {capabilities.name} lacks"
    return None


def number_atomics(capabilities: Capabilities, call: Call) -> str | None:
    """Refuse numbers that a device's atomics do not add to."""
    if call.value_bytes > 4 and not capabilities.int64_atomics:
        return f"needs atomics on 64 bits for {call.dtypes[0]}, which {capabilities.name} lacks (convert to float32)"
    return None


def one_step(capabilities: Capabilities, call: Call) -> str | None:
    """Refuse stencils in two steps."""
    return (
        "computes in one step; this call has two, which it may do one after the other" if _around(call).across else None
    )


def along_lines(capabilities: Capabilities, call: Call) -> str | None:
    """Refuse arrays whose rows do not lie together, and weights from memory."""
    around = _around(call)
    if not around.lines:
        return "is for rows whose elements, and channels, lie side by side; this call's do not, or it has planes"
    return "writes weights out one by one; this call has too many" if around.table else None


def window_fits(capabilities: Capabilities, call: Call) -> str | None:
    """Refuse neighbourhoods that do not fit in registers, or have too many operations to write out in each phase."""
    around = _around(call)
    numbers, work = around.registers(LEAST_ITEMS), around.taps * around.span * LEAST_ITEMS
    if around.times > 1 and around.span > MOST_ROWS_TWICE:
        return f"applies up to {MOST_ROWS_TWICE} rows twice; this call's neighbourhood has {around.span}"
    most = MOST_NUMBERS // around.times
    if numbers * max(*(dtype.itemsize for dtype in call.dtypes[:2]), 4) > 4 * most:
        return f"keeps up to {most} numbers of 32 bits; this call's neighbourhood takes {numbers}"
    if work > MOST_OPERATIONS:
        return f"writes up to {MOST_OPERATIONS} operations out; this call has {work}"
    return None


def tile_fits(block: int, items: int) -> Refusal:
    """Refuse neighbourhoods that with a tile do not fit in local memory."""

    def refuse(capabilities: Capabilities, call: Call) -> str | None:
        around = _around(call)
        rows, columns = block * items // TILE_WIDTH + around.span - 1, TILE_WIDTH + around.beside
        return _too_much(rows * columns * register_bytes(call.dtypes[0]), capabilities)

    return refuse


def strips_fit(block: int) -> Refusal:
    """Refuse neighbourhoods so wide that rows handed round do not fit in local memory."""

    def refuse(capabilities: Capabilities, call: Call) -> str | None:
        number = register_bytes(call.dtypes[0])
        items = max(VECTOR_BYTES // call.dtypes[0].itemsize, 1)
        around = _around(call)
        needed = 2 * ROWS_AT_ONCE * number * (block * items + 2 * around.times * around.beside + VECTOR_BYTES)
        return _too_much(needed, capabilities)

    return refuse


def register_bytes(dtype: np.dtype[Any]) -> int:
    """Return the bytes of a number in registers and local memory, where halves are floats."""
    return 4 if dtype == np.float16 else dtype.itemsize


def _too_much(needed: int, capabilities: Capabilities) -> str | None:
    """Return why a group's arrays do not fit in local memory, of which CUDA's kernels declare up to 48 KiB."""
    if needed <= min(capabilities.local_memory, 48 * 1024) - SPARE_LOCAL:
        return None
    return f"needs {needed} bytes of local memory; {capabilities.name} has {capabilities.local_memory}"


def few_rows(capabilities: Capabilities, call: Call) -> str | None:
    """Refuse windows of more rows than a work-item of a CPU keeps in the cache of its core."""
    numbers = _around(call).numbers(64)
    if numbers <= CPU_NUMBERS:
        return None
    return f"keeps up to {CPU_NUMBERS} numbers; this call's neighbourhood takes {numbers}"


def _around(call: Call) -> Around:
    if call.around is None:
        raise TypeError("a rule of stencils: a call of one; got another")
    return call.around


def row_fits(block: int, items: int) -> Refusal:
    """Refuse rows that a group of so many work-items, each with so many words in registers, does not hold."""

    def refuse(capabilities: Capabilities, call: Call) -> str | None:
        most = block * items * 4 // call.value_bytes
        if call.outputs <= most:
            return None
        return f"holds a row in the registers of a group, up to {most} features of {call.dtypes[0]}; got {call.outputs}"

    return refuse


def gradient_fits(capabilities: Capabilities, call: Call) -> str | None:
    """Refuse gradients that are too large for memory of a CPU thread's own."""
    if call.outputs * call.value_bytes <= MOST_PRIVATE:
        return None
    most = MOST_PRIVATE // call.value_bytes
    return f"keeps a gradient a thread, of up to {most} features of {call.dtypes[0]}; got {call.outputs}"


def gradients_fit(block: int) -> Refusal:
    """Refuse devices whose local memory is too small for the sums of each of so many work-items."""

    def refuse(capabilities: Capabilities, call: Call) -> str | None:
        return values_fit(block * (call.outputs + 3))(capabilities, call)  # NVIDIA's OpenCL lends not quite all

    return refuse


def samples_fit(block: int, items: int) -> Refusal:
    """Refuse more samples than so many work-items, each with so many words, hold for all of a launch."""

    def refuse(capabilities: Capabilities, call: Call) -> str | None:
        words = call.value_bytes // 4
        rows = -(-call.size // block) * block
        if rows * call.outputs * words <= block * items:
            return None
        most = block * items // words
        return f"holds up to {most} numbers of {call.dtypes[0]}; got {call.size} rows of {call.outputs}"

    return refuse


def columns_fit(most: int) -> Refusal:
    """Refuse rows of which a warp's lanes do not have a column each."""

    def refuse(capabilities: Capabilities, call: Call) -> str | None:
        if call.outputs <= most:
            return None
        return f"folds up to {most} columns in a warp, the intercept's with them; got {call.outputs}"

    return refuse
