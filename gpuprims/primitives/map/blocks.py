"""Maps on CPUs of arrays of short rows, or that lie in memory along another axis than the results, by blocks."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.codegen.operands import load, names_of, stored
from gpuprims.core.codegen.rows import along_axis
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.kernel_spec import Access
from gpuprims.core.layout import Layout, contiguous
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.expressions import TypedExpr
from gpuprims.primitives.by_rows import SHORT_ROW, by_rows
from gpuprims.primitives.joined import lanes_joined, scalar_in_loops
from gpuprims.primitives.map.spec import MapSpec
from gpuprims.primitives.map.tiles import MapTraits, finest_axis, lies_across

# Rows of so few bytes are left to loops over their columns, whose strides the compiler knows; rows: cpu_blocks.
_COLUMNS = 16
# Bytes of local memory of a block, which stay in the first cache, and its elements, at most.
_BLOCK_BYTES, _MOST_ROOM = 24576, 4096


class Blocks(NamedTuple):
    """A layout whose last two axes are cut into blocks; inputs ``copied`` are copied to local memory.

    If rows are ``joined``, all elements of a block lie together in the results, and in inputs that are not copied.
    """

    layout: Layout
    copied: tuple[int, ...]
    joined: bool

    @classmethod
    def of(cls, flat: Layout, inputs: int) -> Self | None:
        """Return how to cut a map, whose axes are in the order of the results; None if it is as quick by rows."""
        lengths, strides = flat.reduced, flat.reduced_strides
        if len(lengths) < 2 or any(form.lanes > 1 for form in flat.forms):
            return None
        across = tuple([k for k in range(inputs) if lies_across(strides[k])])
        last = len(lengths) - 1
        if lengths[-1] < SHORT_ROW:
            dense = contiguous(np.dtype(np.int8), lengths, 1).strides
            if _in_columns(flat) or any(own != dense for own in strides[inputs:]):
                return None
            if any(finest_axis(strides[k]) != last - 1 for k in across):  # blocks read a few elements of each line
                return None
            return cls(flat, tuple([k for k in range(inputs) if any(strides[k]) and strides[k] != dense]), joined=True)
        if not across:
            return None
        finest = finest_axis(strides[across[0]])
        order = [*(axis for axis in range(last) if axis != finest), finest, last]
        layout = replace(
            flat,
            reduced=tuple([lengths[axis] for axis in order]),
            reduced_strides=tuple([tuple([own[axis] for axis in order]) for own in strides]),
        )
        return cls(layout, across, joined=False)

    def prepare(self, device: Device, variant: Variant, spec: MapSpec, function: TypedExpr) -> Launch:
        """Return the launch, given the spec of a map in this layout."""
        block = lanes_joined(device.capabilities) if scalar_in_loops(function) else 1
        fitted = variant.resized(block=block, items=max(variant.tile // block, 1))
        n = math.prod(self.layout.reduced)
        groups = fitted.groups(-(-n // fitted.tile), device.capabilities)
        own = BlockSpec.of(spec, copied=self.copied, joined=self.joined, alone=block == 1)
        return device.kernel(fitted, own).prepare(groups, self.layout.pack(1), n)


def _in_columns(flat: Layout) -> bool:
    """Return True for rows of few bytes whose columns lie at strides that the compiler knows."""
    if flat.reduced[-1] * max(form.item for form in flat.forms) > _COLUMNS:
        return False
    turned = by_rows(flat)
    known = all(access.reduced[-1] is not None for access in turned.accesses)
    return known and turned.reduced[-1] >= SHORT_ROW


def in_blocks(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse calls whose inputs lie in long rows in the order of the results."""
    if isinstance(call, MapTraits) and call.in_blocks:
        return None
    return "is for short rows, or arrays that lie in memory along another axis than the results; this call has neither"


@dataclass(frozen=True, eq=False, kw_only=True)
class BlockSpec(MapSpec):
    """The macros of a map by blocks; ``alone`` says that a group is one work-item."""

    copied: tuple[int, ...]
    joined: bool
    alone: bool

    def macros(self) -> dict[str, int | str]:
        """Define the local memory of a block, how kernels fill it, and how they load from it."""
        still = [k for k in self.copied if self.joined and set(self.inputs[k].reduced[:-1]) == {0}]
        copied = {k: self.inputs[k].dtype for k in self.copied}
        room = _BLOCK_BYTES // sum(dtype.itemsize for dtype in copied.values())
        arguments = ", ".join([names_of("x", self.inputs), "layout, row, j", *(f"s{k}" for k in copied), "place"])
        return {
            "JOINED": int(self.joined),
            "ROOM": min(1 << room.bit_length() - 1, _MOST_ROOM),
            "COPIES": "; ".join(f"__local {stored(dtype)} s{k}[ROOM]" for k, dtype in copied.items()),
            "COPIERS": " ".join(_copier(k, self.inputs[k], alone=self.alone) for k in copied),
            "COPY_STILL": "; ".join(f"COPY_INPUT({k})" for k in still),
            "COPY_BLOCK": "; ".join(f"COPY_INPUT({k})" for k in copied if k not in still),
            "MAP_COPIED(row, j, place)": f"gp_map_copied({arguments})",
        }

    def text(self) -> list[str]:
        """Write the function that loads an element of each input, from local or global memory, and computes a value."""
        lines: list[str] = []
        for k, access in enumerate(self.inputs):
            if k in self.copied:
                lines += [f"    {stored(access.dtype)} e{k}[1];", f"    e{k}[0] = s{k}[place];"]
            else:
                lines += load(k, access, 1, f"(row.x{k} + {along_axis(access.reduced, f'reduced_stride[{k}]')})")
        copies = [f"LOCAL const {stored(self.inputs[k].dtype)} *s{k}" for k in self.copied]
        parameters = ["INPUTS", "const layout_t layout", "const row_t row", "const i64 j", *copies, "const int place"]
        return [
            f"DEVICE value_t gp_map_copied({', '.join(parameters)})",
            "{",
            *lines,
            f"    return gp_apply({'layout, ' if self.constants else ''}{names_of('e', self.inputs)}, j);",
            "}",
        ]


def _copier(k: int, access: Access, *, alone: bool) -> str:
    """Write the function that copies a block of an input."""
    last = len(access.reduced) - 1
    down, along = (
        f"layout.reduced_stride[{k}][{axis}]" if access.reduced[axis] is None else str(access.reduced[axis])
        for axis in (last - 1, last)
    )
    if along in ("-1", "0", "1"):
        word = "COPY_ROWS"
    elif down == "1" and alone and access.dtype.kind != "c":
        word = f"TURN_{8 * access.dtype.itemsize}"
    else:
        word = "COPY_COLUMNS"
    return f"COPIER({k}, {stored(access.dtype)}, {word}, layout.reduced[{last - 1}], {down}, {along})"
