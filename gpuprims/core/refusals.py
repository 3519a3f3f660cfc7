"""Refusals that several primitives share; each returns a reason in a sentence, or None."""

from __future__ import annotations

import math

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.geometry import Geometry, Refusal, first_refusal
from gpuprims.core.kernel_spec import DOUBLES
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import MOST_GROUPS

SPARE_LOCAL = 64  # bytes of local memory for a few numbers that a group shares, beside arrays of values


def for_cpus(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse devices other than CPUs."""
    if capabilities.kind == "cpu":
        return None
    return f"is for CPUs, where each work-item is a thread of its own; {capabilities.name} is a {capabilities.kind}"


def not_for_cpus(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse CPUs."""
    if capabilities.kind != "cpu":
        return None
    return f"is for GPUs; {capabilities.name} is a CPU"


def double_precision(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse float64 and complex128 on a device without double precision."""
    needed = [dtype for dtype in call.dtypes if dtype in DOUBLES]
    if not needed or capabilities.fp64:
        return None
    smaller = "complex64" if needed[0].kind == "c" else "float32"
    advice = f"convert to {smaller}: x.astype(np.{smaller}), or {smaller}(x) in a string"
    return f"needs {needed[0]}, which {capabilities.name} does not compute in ({advice})"


def columns(outputs: int) -> Refusal:
    """Refuse calls with fewer outputs, or outputs that do not lie side by side."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        if call.side_by_side and call.outputs >= outputs:
            return None
        lie = "side by side" if call.side_by_side else "apart"
        return f"is for {outputs} or more outputs side by side; this call has {call.outputs} that lie {lie}"

    return refuse


def many_rows(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse calls where a few lanes for each output leave warps idle or read far apart in memory."""
    if call.side_by_side:
        return "is for outputs whose elements lie together; this call's outputs lie side by side"
    if call.size <= 2048 and call.outputs >= 1024:
        return None
    return f"is for 1024 or more outputs of at most 2048 elements; this call has {call.outputs} of {call.size}"


def group_fits(block: int) -> Refusal:
    """Refuse devices whose groups are smaller than ``block``."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        if capabilities.group_limit < block:
            return f"needs groups of {block} work-items; {capabilities.name} allows {capabilities.group_limit}"
        return None

    return refuse


def values_fit(block: int) -> Refusal:
    """Refuse devices whose local memory is too small for ``block`` values a group."""
    return lambda capabilities, call: lacks_local(block * call.value_bytes + SPARE_LOCAL, capabilities)


def tile_fits(at: Geometry, each_warp: int) -> Refusal:
    """Refuse devices whose local memory is too small for a tile and some numbers of each warp, in words of 32 bits."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        words = at.block * at.items + each_warp * warps_of(at.block, capabilities)
        return lacks_local(4 * words + SPARE_LOCAL, capabilities)

    return refuse


def lacks_local(wanted: int, capabilities: Capabilities) -> str | None:
    """Return why ``wanted`` bytes of local memory a group are too many, or None."""
    if capabilities.local_memory >= wanted:
        return None
    return f"needs {wanted} bytes of local memory a group; {capabilities.name} has {capabilities.local_memory}"


def partials_fit(block: int) -> Refusal:
    """Refuse devices whose local memory is too small for twice a value of each warp of a group."""
    return lambda capabilities, call: values_fit(2 * warps_of(block, capabilities))(capabilities, call)


def warps_of(block: int, capabilities: Capabilities) -> int:
    """Return the number of warps of a group in scanning.h; the block if the device's warps do not fit."""
    warp = capabilities.warp
    return block // warp if warp and block <= warp**2 and block % warp == 0 else block


def shuffles(block: int) -> Refusal:
    """Refuse devices without shuffles, or whose warps are too narrow to fold a group in two steps."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        if not capabilities.warp:
            return f"needs shuffles, which {capabilities.name} does not offer here"
        if block % capabilities.warp == 0 and block > capabilities.warp**2:
            return f"needs warps of {math.isqrt(block - 1) + 1}; those of {capabilities.name} have {capabilities.warp}"
        return whole_warps(block)(capabilities, call)

    return refuse


def whole_warps(block: int) -> Refusal:
    """Refuse devices on which ``block`` work-items are not whole warps."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        if not capabilities.warp or block % capabilities.warp == 0:
            return None
        return f"needs groups of whole warps; {block} work-items are not, of {capabilities.warp} on {capabilities.name}"

    return refuse


def few_outputs(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse more outputs than 32-bit counts of tiles and groups allow."""
    if call.outputs <= MOST_GROUPS:
        return None
    return f"counts tiles in 32 bits, so at most 2^30 outputs; this call has {call.outputs}"


def bulk_copies(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse devices without bulk copies."""
    if capabilities.bulk_copies:
        return None
    return f"needs bulk copies (NVIDIA's GPUs of compute capability 9.0 and later); {capabilities.name} has none"


def forward_progress(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse devices on which groups cannot wait for each other."""
    if not capabilities.int64_atomics:
        return f"needs atomics on 64 bits, which {capabilities.name} lacks"
    if not capabilities.forward_progress:
        return f"needs groups that run at the same time; {capabilities.name}: {capabilities.progress.reason}"
    return None


def work_item_fits(at: Geometry) -> Refusal:
    """Refuse nothing: a group of one work-item needs no room."""
    return first_refusal()


def work_items_fit(at: Geometry) -> Refusal:
    """Refuse devices whose groups are smaller than a geometry's."""
    return group_fits(at.block)
