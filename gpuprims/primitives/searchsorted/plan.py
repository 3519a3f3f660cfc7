"""The launch plan of a search in a sorted array."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from gpuprims.core.arrays import native_of
from gpuprims.core.by_numpy import ByNumPy
from gpuprims.core.counters import with_scratch
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.kernel_spec import unchanged
from gpuprims.core.keywords import is_one_of
from gpuprims.core.launch_plan import LaunchPlan, Sample, in_turn, nothing
from gpuprims.core.layout import VECTOR_BYTES, Form, Layout, contiguous, is_contiguous, plan_layout
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, as_out, result_forms
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.traits import MOVES
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, ShapeError, did_you_mean, quoted
from gpuprims.primitives.chain import Chain
from gpuprims.primitives.searchsorted.by_numpy import members_by_numpy, searches_by_numpy
from gpuprims.primitives.searchsorted.spec import SearchSpec, TreeSpec
from gpuprims.primitives.searchsorted.variants import MANY, TABLE_BYTES, SearchTraits, SearchVariant
from gpuprims.primitives.searchsorted.words import prepare_words

Side = Literal["left", "right"]
_INT64 = np.dtype(np.int64)
# Bytes of a node: what a GPU reads at once. Fewest and most entries.
_NODE_BYTES, _FEWEST, _MOST = 32, 4, 16


class SearchRequest(NamedTuple):
    """The side of equal elements on which a key belongs, or the answer for keys that are elements."""

    side: Side
    member: bool | None = None


class _Tree(NamedTuple):
    """Nodes of ``fan`` entries, in ``levels`` above the array; the highest has at most ``table`` entries."""

    fan: int
    levels: int
    table: int
    entries: int  # of all levels, as many as have memory

    @classmethod
    def of(cls, size: int, itemsize: int) -> _Tree:
        """Return the tree above ``size`` elements."""
        fan, table = min(max(_NODE_BYTES // itemsize, _FEWEST), _MOST), TABLE_BYTES // itemsize
        count, levels, entries = size, 0, 0
        while count > table:
            count //= fan
            levels += 1
            entries += -(-count // fan) * fan
        return cls(fan, levels, table, entries + 2 * fan)  # the array's last node, and nodes without entries


def bind(
    arrays: tuple[Any, ...],
    side: Side = "left",
    out: Any = None,
    device: str | Device | None = None,
    variant: str | Variant | None = None,
) -> tuple[Operands, SearchRequest, Out | None, str | Variant | None]:
    """Find the device of a call, and check its arguments but the order of the array."""
    if len(arrays) != 2:
        raise ArgumentError(f"searchsorted: a sorted array and keys; got {len(arrays)} argument(s)")
    if not is_one_of(side, get_args(Side)):
        hint = did_you_mean(side, get_args(Side))
        raise ArgumentError(f"searchsorted: side= 'left' or 'right'; got {quoted(side)}{hint}")
    # Numbers keep their own dtypes, as in NumPy, whatever the array's.
    given = tuple([one if hasattr(one, "dtype") else native_of("searchsorted", one) for one in arrays])
    operands = as_operands("searchsorted", given, device)
    if operands.natives[0].ndim != 1:
        raise ShapeError(f"searchsorted: a sorted array of one dimension; got shape {operands.natives[0].shape}")
    asked = None if variant is None else asked_by_name("searchsorted", variant)
    return operands, SearchRequest(side), as_out(operands, out), asked


@keeps_calls()
def plan_call(
    request: SearchRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything about a search but its memory; kernels search in a contiguous array."""
    elements, keys = forms
    size, n, common = elements.shape[0], math.prod(keys.shape), np.result_type(elements.dtype, keys.dtype)
    result = contiguous(_INT64 if request.member is None else np.dtype(np.bool_), keys.shape, alignment)
    (target,) = result_forms("searchsorted", (result,), written)
    if not is_contiguous(elements):
        chain = Chain(device, forms, generation)
        copied, sought = chain.flat(chain.given[0]), chain.given[1]
        chain.add(plan_call, request, copied, sought, into=[(0, target)], variant=variant)
        chained = chain.plan((result,), variant, first=1)
        chained.by_numpy = _by_numpy(device, request, elements, keys.dtype)
        return chained
    dtypes = common, elements.dtype, keys.dtype
    traits = SearchTraits(dtypes, n, value_bytes=common.itemsize, elements=size, element_bytes=elements.item, **MOVES)

    def compiling(chosen: Variant) -> Launch:
        if not n:
            return nothing
        layout = plan_layout(
            (elements._replace(shape=(), strides=()), keys, target), keys.shape, range(len(keys.shape))
        )
        own = layout.accesses[:2], layout.accesses[2:], (common,), unchanged((common,))
        asked: dict[str, Any] = {"right": request.side == "right", "member": request.member, "many": size >= MANY}
        search = SearchVariant.of(chosen)
        if search.tree:
            return _by_tree(device, chosen, layout, size, own, n, asked)
        spec = SearchSpec(*own, **asked)
        if search.words:
            return prepare_words(device, search, layout, spec, n, size)
        groups = chosen.groups(-(-n // chosen.tile), device.capabilities)
        kernel = device.kernel(chosen, spec)
        return kernel.prepare(groups, layout.pack(0), n, size)

    inputs = range(2) if size else (1, 1)  # empty arrays have no memory, and kernels read no elements
    what = device, "searchsorted", traits, (result,), compiling
    return LaunchPlan(*what, asked=variant, inputs=inputs, by_numpy=_by_numpy(device, request, elements, keys.dtype))


def _by_numpy(device: Device, request: SearchRequest, elements: Form, keys: np.dtype[Any]) -> ByNumPy | None:
    """Return how NumPy searches, if it does."""
    if request.member is None:
        return searches_by_numpy(device, elements, keys, request.side)
    return members_by_numpy(elements, keys, member=request.member)


def _by_tree(
    device: Device, chosen: Variant, layout: Layout, size: int, own: tuple[Any, ...], n: int, asked: dict[str, Any]
) -> Launch:
    """Return the launches that write a tree and search in it; one for an array that local memory has room for."""
    elements, able = layout.forms[0], device.capabilities
    tree, wide = _Tree.of(size, elements.item), VECTOR_BYTES // elements.item
    aligned = elements.dtype.kind != "c" and elements.begins_at(elements.offset, VECTOR_BYTES)
    loaded = wide if aligned else 1
    spec = TreeSpec(*own, **asked, fan=tree.fan, levels=tree.levels, table=tree.table, loaded=loaded)
    kernel, packed = device.kernel(chosen, spec), layout.pack(0)
    search = kernel.prepare(chosen.groups(-(-n // chosen.tile), able), packed, n, size, 1)
    if not tree.levels:  # the kernel has a parameter for a tree, but reads none
        return lambda memories: search([*memories, memories[0]])
    build = kernel.prepare(chosen.groups(-(-size // (tree.fan * chosen.block)), able), packed, n, size, 0)
    return with_scratch(device, in_turn((build, search)), tree.entries * elements.item)


def sample(call: Sample) -> LaunchPlan:
    """Return the plan of a search for as many keys as there are elements."""
    forms = (contiguous(call.dtype, (call.size,), 16),) * 2
    return plan_call(SearchRequest("left"), forms, None, 16, call.device, None, 0)
