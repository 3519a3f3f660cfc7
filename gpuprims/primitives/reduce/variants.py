"""The variants of reduce. Comments name the rows of measurements.md."""

from __future__ import annotations

from pathlib import Path

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.catalogue import Catalogue, PerBackend
from gpuprims.core.geometry import BLOCKS, THREAD_GROUPS, Geometry, Refusal, Tunable, first_refusal, geometries
from gpuprims.core.refusals import (
    columns,
    double_precision,
    for_cpus,
    group_fits,
    lacks_local,
    many_rows,
    not_for_cpus,
    partials_fit,
    shuffles,
    values_fit,
    whole_warps,
    work_item_fits,
)
from gpuprims.core.traits import CallTraits
from gpuprims.primitives.exact_sums import a_limb_each, adds_floats
from gpuprims.primitives.fixed_trees import lanes_of
from gpuprims.primitives.fold_variants import FoldVariant
from gpuprims.primitives.reduce.reference import reduce_exactly, reduce_numpy


def picks_one(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse operators that do more than pick one of their values, and those that fold as quickly as they search."""
    if call.picks:
        return None
    return "is for operators that pick one of their values, such as argmax, or a max of floats; this call's is neither"


def many_outputs(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse calls where one output a work-item leaves work-items idle or reads far apart in memory."""
    if call.side_by_side or (call.size <= 64 and call.outputs >= 1024):
        return None
    return f"is for outputs side by side, or 1024 of at most 64 elements; this call has {call.outputs} of {call.size}"


def rows_together(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse calls whose rows do not lie one after the other, or which warps can read without local memory."""
    if not call.flat or call.outputs < 1024 or call.size > 256:
        return "is for 1024 or more rows of at most 256 elements that lie together"
    if call.begins_whole:
        return "is for rows that do not begin at whole vectors; this call's do"
    if call.value_bytes > 16:  # each fold of such values from memory costs more than a row's loads
        return f"folds values of at most 16 bytes from local memory; this operator's have {call.value_bytes}"
    return None


def few_elements(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse outputs with more elements than a few lanes hold, or that a group each is soon done with."""
    if not call.commutative:
        return "folds elements that lie apart first; this operator does not commute"
    each, most = max(call.value_bytes, 4), _BLOCK
    if call.side_by_side:
        most = _HELD // each
    elif lanes_of(call.value_bytes) * each > _HELD_BY_LANES:
        most = _HELD_BY_LANES // each
    if call.outputs >= _MANY and 0 < call.size <= most:
        return None
    return f"is for {_MANY} or more outputs of at most {most} elements; this call has {call.outputs} of {call.size}"


def lanes_fit(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse values too large for a block's lanes in local memory."""
    return values_fit(lanes_of(call.value_bytes))(capabilities, call)


def tile_fits(at: Geometry) -> Refusal:
    """Refuse values too large for a tile in local memory."""
    return lambda capabilities, call: lacks_local(at.block * at.items * call.value_bytes, capabilities)


def one_atomic(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse values that one atomic operation cannot fold into memory."""
    if not call.commutative:
        return "folds groups in the order in which they finish; this operator does not commute"
    if call.value_bytes > 8:
        return f"folds values of at most 8 bytes by one atomic; this operator's have {call.value_bytes}"
    if call.value_bytes == 8 and not capabilities.int64_atomics:
        return f"needs atomics on 64 bits, which {capabilities.name} lacks"
    return None


# Bytes of an output's values that a lane holds, and some lanes together; the most elements of an output; outputs that
# fill a device. rows: fixed_few
_HELD, _HELD_BY_LANES, _BLOCK, _MANY = 128, 12288, 8192, 1024
_REDUCE = Catalogue(FoldVariant, "reduce", Path(__file__).parent)
# An output has a part for each group; a part has at least ``items`` elements.
_THREADS = Tunable(geometries((1,), tuple(2**k for k in range(10, 19)), THREAD_GROUPS), work_item_fits)
_GROUPS = geometries(BLOCKS, (4, 8, 16, 32), (2, 4, 6, 8, 12, 16, 24, 32))

VARIANTS = (
    _REDUCE.cpu(
        "cpu_columns",
        by_rows=True,
        rank=25,
        geometry=Geometry(1, 512 * 256, 1),  # rows: cpu_columns-parts
        outputs_per_group=512,
        # rows: cpu_columns-narrow
        refuse=lambda at: first_refusal(for_cpus, columns(6), double_precision),
    ),
    _REDUCE.cpu(
        "cpu_best",
        by_rows=True,
        rank=22,
        geometry=Geometry(1, 32768, 8),  # rows: cpu_parts
        refuse=lambda at: first_refusal(for_cpus, picks_one, double_precision),
        tunable=_THREADS,
    ),
    _REDUCE.cpu(
        "cpu_chunks",
        by_rows=True,
        joins=True,
        rank=20,
        geometry=Geometry(1, 32768, 8),  # rows: cpu_parts
        refuse=lambda at: first_refusal(for_cpus, double_precision),
        tunable=_THREADS,
    ),
    *_REDUCE.gpu(
        "staged",
        rank=PerBackend(cuda=50, opencl=17),
        geometry=Geometry(128, 16),  # rows: staged
        vectors=True,
        shares_outputs=False,
        stages=True,
        refuse=lambda at: first_refusal(
            rows_together, shuffles(at.block), double_precision, group_fits(at.block), tile_fits(at)
        ),
    ),
    *_REDUCE.gpu(
        "rows",
        rank=PerBackend(cuda=40, opencl=16),
        geometry=Geometry(256, 16, 32),  # rows: rows, columns
        vectors=True,
        peels=512,  # a vector for each lane
        outputs_per_group=8,
        shares_outputs=False,
        refuse=lambda at: first_refusal(many_rows, shuffles(at.block), double_precision, group_fits(at.block)),
    ),
    *_REDUCE.gpu(
        "each",
        rank=PerBackend(cuda=30, opencl=15),
        geometry=PerBackend(cuda=Geometry(512, 16, 2), opencl=Geometry(256, 16, 4)),  # rows: each, columns
        vectors=True,
        outputs_per_group=PerBackend(cuda=512, opencl=256),
        narrows=True,
        refuse=lambda at: first_refusal(many_outputs, double_precision, group_fits(at.block), values_fit(at.block)),
    ),
    *_REDUCE.gpu(
        "warp",
        rank=PerBackend(cuda=20, opencl=12),
        geometry=PerBackend(cuda=Geometry(256, 8, 8), opencl=Geometry(256, 16, 6)),  # rows: warp
        vectors=True,
        peels=1,
        refuse=lambda at: first_refusal(shuffles(at.block), double_precision, group_fits(at.block), values_fit(16)),
        tunable=Tunable(
            _GROUPS,
            lambda at: first_refusal(
                group_fits(at.block), shuffles(at.block), whole_warps(at.block), partials_fit(at.block)
            ),
        ),
    ),
    *_REDUCE.gpu(
        "tree",
        rank=10,
        geometry=PerBackend(cuda=Geometry(256, 16, 8), opencl=Geometry(256, 16, 6)),  # rows: tree
        vectors=True,
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block), values_fit(at.block)),
        tunable=Tunable(_GROUPS, lambda at: first_refusal(group_fits(at.block), values_fit(at.block))),
    ),
    *_REDUCE.gpu(
        "atomic",
        rank=5,
        geometry=Geometry(256, 16, 8),  # rows: atomic
        vectors=True,
        accumulates=True,
        level="none",
        refuse=lambda at: first_refusal(double_precision, one_atomic, group_fits(at.block), values_fit(at.block)),
    ),
    _REDUCE.cpu(
        "cpu_fixed_columns",
        by_rows=True,
        rank=9,
        level="device",
        folds="fixed tree",
        geometry=Geometry(1, 32768, 8),  # rows: cpu_parts, cpu_fixed_columns
        outputs_per_group=256,
        # rows: cpu_columns-narrow
        refuse=lambda at: first_refusal(for_cpus, columns(6), double_precision),
    ),
    _REDUCE.cpu(
        "cpu_fixed",
        by_rows=True,
        rank=7,
        level="device",
        folds="fixed tree",
        geometry=Geometry(1, 32768, 8),  # rows: cpu_parts, cpu_fixed
        refuse=lambda at: first_refusal(for_cpus, double_precision),
    ),
    *_REDUCE.gpu(
        "fixed_few",
        rank=8,
        level="device",
        folds="fixed tree",
        geometry=Geometry(256, 16, 8),  # rows: fixed_few
        vectors=True,
        shares_outputs=False,
        refuse=lambda at: first_refusal(
            not_for_cpus, few_elements, shuffles(at.block), double_precision, group_fits(at.block)
        ),
    ),
    *_REDUCE.gpu(
        "fixed_columns",
        rank=6,
        level="device",
        folds="fixed tree",
        geometry=Geometry(512, 16, 2),  # rows: fixed_columns
        outputs_per_group=512,
        narrows=True,
        refuse=lambda at: first_refusal(columns(2), double_precision, group_fits(at.block), values_fit(at.block)),
    ),
    *_REDUCE.gpu(
        "fixed",
        rank=3,
        level="device",
        folds="fixed tree",
        geometry=Geometry(128, 128, 8),  # rows: fixed
        vectors=True,
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block), lanes_fit),
    ),
    _REDUCE.cpu(
        "cpu_exact_columns",
        by_rows=True,
        rank=2,
        level="order",
        folds="exactly",
        geometry=Geometry(1, 2048, 8),  # rows: cpu_exact
        outputs_per_group=64,
        # rows: cpu_columns-narrow
        refuse=lambda at: first_refusal(for_cpus, columns(6), adds_floats),
    ),
    _REDUCE.cpu(
        "cpu_exact",
        by_rows=True,
        rank=0,
        level="order",
        folds="exactly",
        geometry=Geometry(1, 2048, 8),  # rows: cpu_exact
        refuse=lambda at: first_refusal(for_cpus, adds_floats),
    ),
    *_REDUCE.gpu(
        "exact",
        rank=1,
        level="order",
        folds="exactly",
        geometry=Geometry(256, 16, 4),
        vectors=True,
        refuse=lambda at: first_refusal(not_for_cpus, adds_floats, group_fits(at.block), a_limb_each(at.block)),
    ),
    _REDUCE.numpy(reduce_numpy, level="device", folds="fixed tree"),
    _REDUCE.numpy(
        reduce_exactly, name="exact", rank=-2, level="order", folds="exactly", refuse=first_refusal(adds_floats)
    ),
)
