"""Sorts of segments that fit in local memory: each in a group of its own, by launches for tiles of several lengths."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.capture import keep
from gpuprims.core.contents import Contents
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.launch_plan import in_turn
from gpuprims.core.layout import Form
from gpuprims.core.operands import Operands
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant import Variant
from gpuprims.primitives.segments.offsets import Segments
from gpuprims.primitives.sort.by_numpy import Wanted
from gpuprims.primitives.sort.keys import WIDEST, Keys, word_of
from gpuprims.primitives.sort.short_rows import segments_in_groups
from gpuprims.primitives.sort.traits import SortTraits
from gpuprims.primitives.sort.variants import SortVariant
from gpuprims.primitives.sort.work import Four, Rows, Work

_INT64 = np.dtype(np.int64)
# The variant whose groups take rows of any lengths.
_NAME = "rows"
# Most groups on each compute unit of a launch whose tiles are longer than some segments need (rows: segments).
_GROUPS = 4
_SHORTEST = 5  # bits of the shortest tile's length: a warp
# Most segments that the host sorts by their lengths, which takes longer than sorts of all elements for more; most
# segments at all; and the length of the tile of a warp, which is no better for being shorter (rows: segments).
_FEW, _MOST, _SHORT = 2**13, 2**14, 512


class _Part(NamedTuple):
    """Segments of one launch: the first one's number, longest first, how many there are, and the length of a tile."""

    first: int
    many: int
    length: int


class _Parts(NamedTuple):
    """The parts, and an array on the device of the first element and the length of each segment, longest first."""

    parts: tuple[_Part, ...]
    placed: Any

    @property
    def longest(self) -> int:
        """The length of the longest tile."""
        return self.parts[0].length


class _Call(NamedTuple):
    """What to sort, and where the elements and the results begin in their memories."""

    dtype: np.dtype[Any]
    wanted: Wanted
    descending: bool
    begins: Four[int]


def sorter_in_groups(
    operands: Operands, form: Form, segments: Segments, wanted: Wanted, descending: bool, variant: str | Variant | None
) -> Callable[[Any], Any] | None:
    """Return a function from elements of a form to those of each segment in order, or to their indices.

    It is None if the variant refuses the call.
    """
    device = operands.device
    chosen = _chosen(device, variant)
    if chosen is None or form.offset % form.item or segments.count > _MOST:
        return None
    takes = partial(_takes, chosen, device, form.dtype, segments.count, wanted)
    if not takes(1):
        return None
    parts = _parts_of(device, device.driver.order, Contents(segments.on_host), operands.in_place)
    if parts is None or not takes(parts.longest):
        return None
    size, dtype = segments.size, _INT64 if wanted == "indices" else form.dtype
    launches: dict[tuple[int, int], Launch] = {}  # by where elements and results begin

    def sort(elements: Any) -> Any:
        own = operands.instead(elements)
        result = own.empty((size,), dtype)
        begins = own.form(elements).offset // form.item, own.form(result).offset // dtype.itemsize
        if (launch := launches.get(begins)) is None:
            call = _Call(form.dtype, wanted, bool(descending), Four.of(begins[:1], begins[1:]))
            launch = launches[begins] = _prepared(call, parts.parts, device, chosen, REGISTRY.generation)
        if own.in_place:
            (read,), written, placed = own.place()[1], own.memory(result), own.memory(parts.placed)
        else:
            read, written, placed = elements, result, keep(parts.placed)
        launch([read, read, written, written, placed])
        return result

    return sort


def _chosen(device: Device, variant: str | Variant | None) -> SortVariant | None:
    """Return the variant that sorts segments in groups, unless another one is asked for."""
    if isinstance(variant, Variant):
        return SortVariant.of(variant) if variant.name == _NAME else None
    if variant not in (None, _NAME):
        return None
    found = (one for one in REGISTRY.variants("sort", device.backend) if one.name == _NAME)
    return next(map(SortVariant.of, found), None)


def _takes(chosen: SortVariant, device: Device, dtype: np.dtype[Any], count: int, wanted: Wanted, longest: int) -> bool:
    """Return True if the variant does not refuse so many segments of at most so many elements."""
    if dtype.kind == "c" or dtype.itemsize > WIDEST:
        return False
    nbytes = dtype.itemsize + (0 if wanted == "keys" else 4)
    traits = SortTraits((word_of(dtype),), longest, count, value_bytes=nbytes, floats=dtype.kind == "f")
    return chosen.refuses(device.capabilities, traits) is None


@lru_cache(maxsize=8)
def _parts_of(device: Device, order: int, contents: Contents, in_place: bool) -> _Parts | None:
    """Divide segments, and copy that to the device unless kernels work on the host; None for too many long ones."""
    contents.keep()
    begins, lengths = contents.array[:-1].astype(np.int64), np.diff(contents.array).astype(np.int64)
    longest = int(lengths.max())
    if len(lengths) <= _FEW:
        bits = np.maximum(np.frexp(lengths - 1)[1], _SHORTEST)
        numbers = np.argsort(np.uint8(64) - bits.astype(np.uint8), kind="stable")
        numbers = numbers[lengths[numbers] > 0]
        begins, lengths = begins[numbers], lengths[numbers]
        parts = _divided(bits[numbers], _GROUPS * device.capabilities.compute_units)
    elif longest <= _SHORT:
        parts = (_Part(0, len(lengths), _SHORT),)
    else:
        return None
    placed = np.stack([begins, lengths], axis=1)
    return _Parts(parts, placed if in_place else device.driver.asarray(placed))


def _divided(bits: np.ndarray, most: int) -> tuple[_Part, ...]:
    """Return the launches for falling bits of lengths: shorter segments join longer ones while all are few."""
    begins = (np.flatnonzero(np.diff(bits)) + 1).tolist()
    parts, first, last = [], 0, 0  # those from `first` to `last` are of the next launch
    for end in (*begins, len(bits)):
        if first < last and end - first > most:
            parts.append(_Part(first, last - first, 1 << int(bits[first])))
            first = last
        last = end
    return (*parts, _Part(first, last - first, 1 << int(bits[first])))


@keeps_calls()
def _prepared(call: _Call, parts: tuple[_Part, ...], device: Device, variant: SortVariant, generation: int) -> Launch:
    """Return the launches."""
    keys = Keys(call.dtype, call.descending)
    carried = None if call.wanted == "keys" else np.dtype(np.uint32)

    def one(part: _Part) -> Launch:
        rows = Rows(part.many, part.length)
        return segments_in_groups(Work(device, variant, rows, keys, carried, call.wanted, call.begins), part.first)

    return in_turn([one(part) for part in parts])
