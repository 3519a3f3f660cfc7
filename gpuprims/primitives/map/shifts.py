"""Maps of arrays that begin between whole vectors, by vectors all the same."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Self

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.codegen.functions import layout_of, vector_addresses
from gpuprims.core.codegen.operands import index_of, load, names_of, stored
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.layout import VECTOR_BYTES, Layout
from gpuprims.core.traits import CallTraits
from gpuprims.primitives.map.spec import MapSpec
from gpuprims.primitives.map.tiles import MapTraits, MapVariant

# Bytes of the widest elements that are shifted; wider ones are read as quickly one by one (rows: shifted).
_WIDEST = 4
_NARROW_VECTOR = 8  # elements of a vector of narrow ones
_HEADER = Path(__file__).parent / "kernels" / "shifted.h"


class Shifting(NamedTuple):
    """A layout with ``first`` places before the first element, so that outputs begin at whole vectors.

    ``whole`` says which operands do.
    """

    layout: Layout
    first: int
    vector: int
    whole: tuple[bool, ...]

    @classmethod
    def of(cls, flat: Layout, inputs: int) -> Self | None:
        """Return how to read arrays by vectors that begin between these; None if they do not, or may not."""
        moving = [k for k, strides in enumerate(flat.reduced_strides) if strides and strides[-1] != 0]
        forms, rows = [flat.forms[k] for k in moving], flat.reduced[:-1]
        widest = max((form.item for form in forms), default=VECTOR_BYTES)
        vector = VECTOR_BYTES // widest
        if widest > _WIDEST or flat.vector_width() == vector or (rows and flat.reduced[-1] % vector):
            return None
        if any(flat.reduced_strides[k][-1] != 1 for k in moving):
            return None
        if any(form.lanes > 1 or form.alignment < VECTOR_BYTES for form in forms):
            return None
        first = _places_before(flat, inputs, vector)
        still = [k not in moving for k in range(len(flat.forms))]
        whole = [still[k] or _is_whole(flat, k, vector, first) for k in range(len(flat.forms))]
        # Nothing behind a row is read but in the memory of another one.
        apart = [k for k in range(inputs) if not whole[k] and min(flat.reduced_strides[k]) <= 0]
        if apart or not all(whole[inputs:]) or (rows and first):
            return None
        offsets = [at if still[k] else at - first for k, at in enumerate(flat.offsets)]
        return cls(replace(flat, offsets=tuple(offsets)), first, vector, tuple(whole))

    def prepare(self, device: Device, chosen: MapVariant, spec: MapSpec, size: int) -> Launch:
        """Return the launch of a map of ``size`` elements."""
        shifted = ShiftedSpec.of(spec, whole=self.whole[: len(spec.inputs)])
        # Two vectors a work-item of rows of narrow elements (rows: shifted).
        vectors = 2 if len(self.layout.reduced) > 1 and self.vector >= _NARROW_VECTOR else 1
        fitted = chosen.resized(items=max(chosen.items, vectors * self.vector))
        places = self.first + size
        groups = fitted.groups(-(-places // fitted.tile), device.capabilities)
        return device.kernel(fitted, shifted).prepare(groups, self.layout.pack(1), self.first, places)


def _places_before(layout: Layout, k: int, vector: int) -> int:
    """Return how many elements of an operand would lie in its first whole vector before its first element."""
    form = layout.forms[k]
    return (form.phase // form.item + layout.offsets[k]) % vector


def _is_whole(layout: Layout, k: int, vector: int, first: int) -> bool:
    """Return True if all rows of an operand begin ``first`` places behind a whole vector."""
    rows = layout.reduced_strides[k][:-1]
    return _places_before(layout, k, vector) == first and not any(stride % vector for stride in rows)


def between_vectors(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse calls whose arrays begin at whole vectors, or are not neighbours in memory."""
    if isinstance(call, MapTraits) and call.shifted:
        return None
    return "is for neighbours in memory of at most 4 bytes that begin between whole vectors; this call's do not"


@dataclass(frozen=True, eq=False, kw_only=True)
class ShiftedSpec(MapSpec):
    """The macros of a map of arrays that begin between whole vectors."""

    whole: tuple[bool, ...]  # inputs that begin at whole vectors

    def macros(self) -> dict[str, int | str]:
        """Define what is read at once."""
        shifts = any(self._shifts(k) for k in range(len(self.inputs)))
        return {
            "AHEAD": self.vector if shifts else 0,
            "MAP_SHIFTED(o, j, values)": f"gp_map_shifted({names_of('x', self.inputs)}, layout, o, j, values)",
        }

    def _shifts(self, k: int) -> bool:
        """Return True for inputs with vectors of 16 bytes between whole ones; narrower ones are read one by one."""
        return not self.whole[k] and self.inputs[k].dtype.itemsize * self.vector == VECTOR_BYTES

    def _load(self, k: int, width: int) -> list[str]:
        access = self.inputs[k]
        if width == 1 or self.whole[k]:
            return load(k, access, width)
        kind, at = stored(access.dtype), f"x{k} + gp_at_x{k}(layout, o, j)"
        if self._shifts(k):
            return [
                f"    u32 w{k}[4];",
                f"    gp_read_shifted((GLOBAL const u8 *)({at}), w{k});",
                f"    const {kind} *e{k} = (const {kind} *)w{k};",
            ]
        return [
            f"    {kind} e{k}[{width}];",
            "#pragma unroll",
            f"    for (int item = 0; item < {width}; item++) e{k}[item] = *({at} + item);",
        ]

    def text(self) -> list[str]:
        """Write MAP_SHIFTED, as MAP_VECTOR."""
        widths, elements = vector_addresses(self)
        return [
            _HEADER.read_text(),
            "DEVICE void gp_map_shifted(INPUTS, const layout_t layout, const i64 o, const i64 j, value_t *values)",
            "{",
            *(line for k, width in enumerate(widths) for line in self._load(k, width)),
            "#pragma unroll",
            f"    for (int item = 0; item < VECTOR; item++) "
            f"values[item] = gp_apply({layout_of(self)}{', '.join(elements)}, {index_of(self, 'item')});",
            "}",
        ]
